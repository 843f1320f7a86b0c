// Reads bundles. A bundle is one file that holds modules, each a list of items: named blobs with
// attributes. docs/format.md describes the file byte by byte, bundle/limits.h has the limits.
//
// Opening checks everything except the content of the blobs: preface, header, index, footer, and
// where each blob lies. Reading an item checks its content. The reader gives the content of a file
// as it was written, or an error; it does not decide whether the signature's key is trusted.
//
// Errors of all functions name the file, the part and the remedy:
// RK_DATA_LOSS: the file is truncated or damaged.
// RK_INVALID_ARGUMENT: not a bundle, or a bundle that breaks a rule, such as an item named "../x".
// RK_OUT_OF_RANGE: a limit is exceeded.
// RK_UNIMPLEMENTED: another format version.
// RK_RESOURCE_EXHAUSTED, or the code for the errno of a system call.
//
// A reader can be used by several threads at the same time. Functions may block on the file system.
#pragma once

#include "base/buf.h"
#include "base/digest.h"
#include "base/sign.h"

#define RK_BUNDLE_MEDIA_TYPE "application/vnd.rekindle.bundle.v1"

enum { RK_BUNDLE_VERSION = 1 };

typedef struct rk_bundle rk_bundle;

// A name with its value. Both are UTF-8 without NUL, the name is not empty.
typedef struct rk_bundle_pair {
    rk_span name, value;
} rk_bundle_pair;

typedef struct rk_bundle_pairs {
    const rk_bundle_pair *items;
    size_t count;
} rk_bundle_pairs;

// What the file says about itself.
typedef struct rk_bundle_head {
    uint64_t created_ns;         // realtime clock, since 1970
    rk_bundle_pairs made_with;   // versions, devices: "jax" → "0.10.2"
    rk_bundle_pairs annotations; // for people and registries
} rk_bundle_head;

// The attributes of an item or a module, sorted by name; read them with rk_bundle_attribute_next or
// rk_bundle_attribute_find.
typedef struct rk_bundle_attributes {
    const uint8_t *encoded;
    size_t count;
} rk_bundle_attributes;

typedef struct rk_bundle_item {
    rk_span name; // a relative path without "." and "..", separated by slashes; UTF-8
    rk_bundle_attributes attributes;
    uint32_t blob;
    bool is_executable; // the file gets execute permission
} rk_bundle_item;

typedef struct rk_bundle_module {
    rk_span name;
    rk_bundle_attributes attributes;
    const rk_bundle_item *items; // in the writer's order
    size_t item_count;
    uint64_t
        raw_bytes; // of all items. Items share blobs, so this may be more than the file's size.
} rk_bundle_module;

typedef struct rk_bundle_blob {
    uint64_t offset;       // in the file
    uint64_t stored_bytes; // in the file
    uint64_t raw_bytes;    // of the content
    bool is_compressed;
    rk_digest digest;        // of the content
    rk_digest stored_digest; // of the stored bytes
} rk_bundle_blob;

// Opens a bundle. Follows symbolic links in `path`. `out_bundle` is owned: rk_bundle_free.
RK_NODISCARD rk_err *rk_bundle_open(const char *path, rk_bundle **out_bundle);

// As rk_bundle_open, for an open regular file. `fd` is borrowed until the bundle is freed. `shown`
// is the name for error messages.
RK_NODISCARD rk_err *rk_bundle_open_fd(int fd, const char *shown, rk_bundle **out_bundle);
void rk_bundle_free(rk_bundle *bundle); // NULL is fine
void rk_bundle_cleanup(rk_bundle **bundle);
#define rk_autobundle __attribute__((cleanup(rk_bundle_cleanup))) rk_bundle *

// All results are borrowed until the bundle is freed.
const rk_bundle_head *rk_bundle_head_of(const rk_bundle *bundle);
const rk_bundle_module *rk_bundle_modules(const rk_bundle *bundle, size_t *out_count);
// Returns the module of that name, or NULL.
const rk_bundle_module *rk_bundle_module_find(const rk_bundle *bundle, const char *name);
uint64_t rk_bundle_file_bytes(const rk_bundle *bundle);
size_t rk_bundle_blob_count(const rk_bundle *bundle);
rk_bundle_blob rk_bundle_blob_of(const rk_bundle *bundle, const rk_bundle_item *item);

// Moves the first attribute to `out_pair`. False if there is none left.
RK_NODISCARD bool rk_bundle_attribute_next(rk_bundle_attributes *attributes,
                                           rk_bundle_pair *out_pair);
RK_NODISCARD bool rk_bundle_attribute_find(rk_bundle_attributes attributes, const char *name,
                                           rk_span *out_value);

typedef struct rk_bundle_signature {
    bool is_present;
    bool is_valid;      // the owner of `key` signed this header and this index, hence these blobs
    rk_sign_public key; // zeros if there is no signature
} rk_bundle_signature;
rk_bundle_signature rk_bundle_signature_of(const rk_bundle *bundle);

// Receives the next bytes of a content. An error ends the reading.
typedef rk_err *(*rk_bundle_sink_fn)(void *context, rk_span part);

// Passes the content of an item to `sink`, part by part, in at most RK_BUNDLE_READ_MEMORY_MAX_BYTES
// of memory. The content is checked at its end: on an error, discard what `sink` received.
RK_NODISCARD rk_err *rk_bundle_read(const rk_bundle *bundle, const rk_bundle_module *module,
                                    const rk_bundle_item *item, rk_bundle_sink_fn sink,
                                    void *context);

// Receives the stored bytes of a content too. Both functions receive all parts in order; they may
// run on different threads at the same time.
typedef struct rk_bundle_watcher {
    void *context;
    void (*add)(void *context, rk_span part);
    void (*tap)(void *context, rk_span part, const rk_hasher *before); // with the hash of all parts
                                                                       // before this one
    bool is_threaded; // hash and watch on threads of their own, while the caller reads and writes
} rk_bundle_watcher;

// As rk_bundle_read, with a watcher.
RK_NODISCARD rk_err *rk_bundle_read_watched(const rk_bundle *bundle, const rk_bundle_module *module,
                                            const rk_bundle_item *item,
                                            const rk_bundle_watcher *watcher,
                                            rk_bundle_sink_fn sink, void *context);

// Appends `len` stored bytes of an item from `offset`, or fewer at their end, without any check. To
// decide something that is decided again when the whole item has been read.
RK_NODISCARD rk_err *rk_bundle_peek(const rk_bundle *bundle, const rk_bundle_item *item,
                                    uint64_t offset, size_t len, rk_buf *out_data);

// Writes the content of an item to an open file. On an error, the file may hold a part of it.
RK_NODISCARD rk_err *rk_bundle_read_to_fd(const rk_bundle *bundle, const rk_bundle_module *module,
                                          const rk_bundle_item *item, int fd);

// Appends the content of an item to `out_data`, which is unchanged on an error. RK_OUT_OF_RANGE if
// the content has more than `max_bytes`.
RK_NODISCARD rk_err *rk_bundle_read_whole(const rk_bundle *bundle, const rk_bundle_module *module,
                                          const rk_bundle_item *item, size_t max_bytes,
                                          rk_buf *out_data);

// Reads each blob once and checks it; then every byte of the file has been checked. Calls
// `progress`, unless it is NULL, with the bytes of content done so far and in total, after each
// blob. An error from `progress` ends the check.
typedef rk_err *(*rk_bundle_progress_fn)(void *context, uint64_t done_bytes, uint64_t total_bytes);
RK_NODISCARD rk_err *rk_bundle_check(const rk_bundle *bundle, rk_bundle_progress_fn progress,
                                     void *context);
