// Bundles for tests: some through the writer, others byte by byte, so that they can break any rule.
#pragma once

#include "bundle/bundle.h"
#include "bundle/limits.h"
#include "bundle/writer.h"
#include "support/expect.h"

// Offsets and sizes from docs/format.md, deliberately not from the code under test.
enum {
    PREFACE = 64,
    FOOTER = 256,
    ROW = 96,
    INDEX_HEAD = 16,
    // in the footer
    AT_INDEX_OFFSET = 16,
    AT_INDEX_BYTES = 24,
    AT_HEAD_DIGEST = 32,
    AT_INDEX_DIGEST = 64,
    AT_FILE_BYTES = 96,
    AT_SIGNATURE_TYPE = 104,
    AT_KEY = 112,
    AT_SIGNATURE = 144,
    AT_CHECK = 208,
    AT_RESERVED = 240,
};

#define FIXTURE_HEADER                                                                             \
    "{\"media_type\":\"application/vnd.rekindle.bundle.v1\",\"made_with\":{\"jax\":\"0.10.2\"},"   \
    "\"annotations\":{}}"

// The head that FIXTURE_HEADER has; static.
const rk_bundle_head *fixture_head(void);

// An item without attributes. `name` is borrowed.
rk_bundle_new_item fixture_item(const char *name);

// A signing key made from a text.
void fixture_key(const char *from, rk_sign_secret *out_secret, rk_sign_public *out_public);

// Joins `directory` and `name`; free().
char *fixture_path(const char *directory, const char *name);
void fixture_save(const char *path, rk_span data); // writes a file
rk_buf fixture_load(const char *path);             // reads a file

// A bundle of two modules: small and large, compressed, stored, empty and repeated contents. Signed
// by fixture_key(signer) unless `signer` is NULL.
void fixture_write(const char *path, const char *signer);

// Content number `which` of that bundle.
rk_buf fixture_content(unsigned which);

// Bytes that look random; the same for the same seed.
void fixture_add_noise(rk_buf *out, size_t len, unsigned seed);

// A bundle that is made byte by byte: begin, blobs, index, end.
typedef struct maker {
    rk_buf file;
    rk_buf rows; // of the index: one for each blob
    rk_buf rest; // of the index: the modules
    uint32_t blobs, modules, items;
} maker;
void maker_cleanup(maker *self);

maker maker_begin(const char *header);
// Appends stored bytes with their padding, and a row that fits. `raw` is the content if it is
// compressed; {0}: stored as it is.
void maker_add_blob(maker *self, rk_span stored, rk_span raw);
void maker_add_module(maker *self, const char *name, uint32_t items); // without attributes
void maker_add_item(maker *self, rk_span name, uint32_t blob);        // without attributes
// Appends index and footer, with the right digests; no signature.
void maker_end(maker *self);

// As maker_end, with this index.
void maker_end_with(maker *self, rk_span index);

// Corrects the digests and the check of a whole bundle's footer.
void fixture_seal(rk_buf *file);

void put_u32(uint8_t *data, uint32_t value);
void put_u64(uint8_t *data, uint64_t value);

// Opens the bytes as a bundle from a file in memory. `out_bundle` is owned.
rk_err *fixture_open(rk_span data, rk_bundle **out_bundle);

// Opens the bytes and checks all blobs. Returns the error; NULL if there is none.
rk_err *fixture_check(rk_span data);

// Fails the test unless the error has this code, and its message contains the words. Frees it.
void fixture_expect(rk_err *err, rk_code code, const char *words);
