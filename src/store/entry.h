// One file of the store, as bytes: encode and decode. Two kinds share the format: an executable
// (.rkx) and the program with its options (.rkp). The format, byte by byte: docs/format.md.
//
// Decoding is total: any bytes give an entry or a reason, and nothing is believed before the digest
// over everything has been checked.
#pragma once

#include "base/buf.h"
#include "base/sign.h"
#include "identity/key.h"

typedef enum rk_entry_kind { RK_ENTRY_EXECUTABLE = 1, RK_ENTRY_PROGRAM = 2 } rk_entry_kind;

// What an entry says; all spans are borrowed from whoever made it.
typedef struct rk_entry {
    rk_entry_kind kind;
    uint32_t flags; // RK_ENTRY_FLAG_…
    rk_key key;
    uint64_t created_ns; // realtime clock, since 1970
    uint64_t compile_ns; // what the compiler took
    rk_span components;  // JSON: options and environment, by name (identity/components.h)
    rk_span metadata;    // JSON: name, platform, plugin, toolchain, sizes
    rk_span payload;     // executable: the plugin's bytes; program: the program's bytes
    rk_span options;     // program: the compile options as they came; executable: what the loader
                         // keeps beside it, if anything (pjrt/optimized.h)
} rk_entry;

enum { RK_ENTRY_FLAG_AOT = 1u << 0 };

// Why bytes are not a usable entry.
typedef enum rk_entry_fault {
    RK_ENTRY_OK = 0,
    RK_ENTRY_TRUNCATED,       // shorter than its header says, or no header at all
    RK_ENTRY_NOT_AN_ENTRY,    // no magic
    RK_ENTRY_UNKNOWN_VERSION, // another format version: a miss, but no damage
    RK_ENTRY_DAMAGED,         // digest or signature do not match, or sizes contradict each other
    RK_ENTRY_OTHER_KEY,       // sound, but filed under another key
} rk_entry_fault;
const char *rk_entry_fault_text(rk_entry_fault fault); // static

enum {
    RK_ENTRY_VERSION = 1,
    RK_ENTRY_HEADER_BYTES = 256,    // the fixed head of every entry, of every version
    RK_ENTRY_SIGNATURE_BYTES = 128, // what a signature adds
};
#define RK_ENTRY_MAX_BYTES ((size_t)4 << 30) // of the file, and of each decompressed section

// Appends the encoded entry (payload and options compressed with zstd) to `out_data`.
RK_NODISCARD rk_err *rk_entry_encode(const rk_entry *entry, rk_buf *out_data);

// Signs one encoded entry, which is all of `data`, or signs it anew. RK_INVALID_ARGUMENT if it is
// no sound entry. Nothing else of it changes.
RK_NODISCARD rk_err *rk_entry_sign(const rk_sign_secret *secret, const rk_sign_public *public_key,
                                   rk_buf *data);

typedef struct rk_entry_view {
    rk_entry entry; // metadata is borrowed from `data`; components, payload and options
                    // too, or from these where they had to be decompressed
    rk_buf components;
    rk_buf payload; // or from these where they had to be decompressed
    rk_buf options;
    uint64_t stored_bytes;      // size of the whole file
    bool is_signed;             // by whoever has the secret of `signer`; whether that one is to be
    rk_sign_public signer;      // trusted, the caller must know (store/trust.h)
    uint64_t payload_raw_bytes; // decompressed size of the payload, also where it was not asked for
} rk_entry_view;
void rk_entry_view_cleanup(rk_entry_view *view);

typedef enum rk_entry_want {
    RK_WANT_HEAD,    // header, components, metadata; digest still checked; payload left empty
    RK_WANT_PAYLOAD, // and the payload (and options), decompressed
} rk_entry_want;

// Decodes. A fault is a value: `*out_fault` is RK_ENTRY_OK when `out_view` is filled. `data` must
// outlive the view. Fails only with RK_RESOURCE_EXHAUSTED. `expected` may be NULL: no key is
// demanded.
RK_NODISCARD rk_err *rk_entry_decode(rk_span data, const rk_key *expected, rk_entry_want want,
                                     rk_entry_view *out_view, rk_entry_fault *out_fault);
