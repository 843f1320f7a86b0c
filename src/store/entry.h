// Encodes and decodes entries. Two kinds of entry share one format: an executable (.rkx), and a
// program with its compile options (.rkp). docs/format.md describes the format byte by byte.
//
// Decoding accepts any bytes and gives an entry or a fault. Before it has checked the digest over
// the whole entry, it uses only magic, version and sizes.
#pragma once

#include "base/buf.h"
#include "base/sign.h"
#include "identity/key.h"

typedef enum rk_entry_kind { RK_ENTRY_EXECUTABLE = 1, RK_ENTRY_PROGRAM = 2 } rk_entry_kind;

// The content of an entry. All spans are borrowed from the code that fills the struct.
typedef struct rk_entry {
    rk_entry_kind kind;
    uint32_t flags; // RK_ENTRY_FLAG_…
    rk_key key;
    uint64_t created_ns; // realtime clock, since 1970
    uint64_t compile_ns; // how long the compiler took
    rk_span components;  // JSON: options and environment, by name (identity/components.h)
    rk_span metadata;    // JSON: name, platform, plugin, toolchain, sizes
    rk_span payload;     // executable: the plugin's bytes; program: the program's bytes
    rk_span options;     // program: the compile options as the framework sent them; executable: the
                         // optimized program, or nothing (pjrt/optimized.h)
} rk_entry;

enum { RK_ENTRY_FLAG_AOT = 1u << 0 };

// Why bytes are not a usable entry.
typedef enum rk_entry_fault {
    RK_ENTRY_OK = 0,
    RK_ENTRY_TRUNCATED,       // shorter than its head says, or shorter than a head
    RK_ENTRY_NOT_AN_ENTRY,    // no magic
    RK_ENTRY_UNKNOWN_VERSION, // another format version: a miss, but no damage
    RK_ENTRY_DAMAGED,         // digest or signature does not match, or a field is invalid
    RK_ENTRY_OTHER_KEY,       // sound, but filed under another key or kind
} rk_entry_fault;
const char *rk_entry_fault_text(rk_entry_fault fault); // static

enum {
    RK_ENTRY_VERSION = 1,
    RK_ENTRY_HEADER_BYTES = 256,    // size of the fixed head
    RK_ENTRY_SIGNATURE_BYTES = 128, // size of a signature, which follows the digest
};
#define RK_ENTRY_MAX_BYTES ((size_t)4 << 30) // of the file, and of each decompressed section

// Appends the encoded entry to `out_data`. Compresses components, payload and options with zstd;
// stores a section uncompressed if compression does not make it smaller. RK_INVALID_ARGUMENT:
// unknown kind or flag. RK_OUT_OF_RANGE: larger than RK_ENTRY_MAX_BYTES.
RK_NODISCARD rk_err *rk_entry_encode(const rk_entry *entry, rk_buf *out_data);

// Adds a signature to the one encoded entry in `data`, or replaces its signature. Changes nothing
// else in the entry. RK_INVALID_ARGUMENT if `data` is no sound entry.
RK_NODISCARD rk_err *rk_entry_sign(const rk_sign_secret *secret, const rk_sign_public *public_key,
                                   rk_buf *data);

typedef struct rk_entry_view {
    rk_entry entry;             // borrows from the decoded `data`, and from these buffers:
    rk_buf components;          // owned; empty unless the section is compressed
    rk_buf payload;             // as above
    rk_buf options;             // as above
    uint64_t stored_bytes;      // size of the whole file
    bool is_signed;             // the signature is valid
    rk_sign_public signer;      // valid if signed; the caller decides about trust (store/trust.h)
    uint64_t payload_raw_bytes; // decompressed size of the payload, also with RK_WANT_HEAD
} rk_entry_view;
void rk_entry_view_cleanup(rk_entry_view *view);

typedef enum rk_entry_want {
    RK_WANT_HEAD,    // head, components and metadata; checks the digest too
    RK_WANT_PAYLOAD, // payload and options too, decompressed
} rk_entry_want;

// Decodes an entry. A fault is no error: `*out_fault` is RK_ENTRY_OK if `out_view` is filled.
// `out_view` is owned: rk_entry_view_cleanup. `data` must outlive `out_view`. If `expected` is not
// NULL and the entry has another key, the fault is RK_ENTRY_OTHER_KEY. Fails only with
// RK_RESOURCE_EXHAUSTED.
RK_NODISCARD rk_err *rk_entry_decode(rk_span data, const rk_key *expected, rk_entry_want want,
                                     rk_entry_view *out_view, rk_entry_fault *out_fault);
