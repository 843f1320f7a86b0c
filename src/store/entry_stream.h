// Checks an entry that arrives in parts, in memory that does not depend on the size of its payload.
// The result is that of rk_entry_decode with RK_WANT_HEAD.
//
//     rk_entry_stream_begin(file_bytes, false, &stream);
//     for each part: rk_entry_stream_add(&stream, part);
//     rk_entry_stream_end(&stream, &view, &fault);
//     rk_entry_stream_cleanup(&stream);
#pragma once

#include "base/digest.h"
#include "store/entry.h"

// Limit for head, components and metadata, as stored, and for the components when decompressed. An
// entry that exceeds it counts as damaged here.
enum { RK_ENTRY_START_MAX_BYTES = 64 << 20 };

// The digest of an unsigned entry, taken from a hash over the whole file: its content is the
// beginning of the file.
typedef struct rk_entry_tap {
    uint8_t head[RK_ENTRY_HEADER_BYTES];
    uint64_t seen_bytes, content_bytes; // `content_bytes` is 0 until it is known
    rk_digest digest;
    bool has_digest;
} rk_entry_tap;

typedef struct rk_entry_stream {
    uint64_t file_bytes, seen_bytes;
    uint64_t start_bytes;   // head, components and metadata
    uint64_t content_bytes; // the digest is over these
    rk_buf kept;            // owned; the start, then the digest and the signature
    rk_hasher hasher;
    rk_entry_fault fault;
    bool is_tapped, is_hashed; // where the digest comes from
    rk_entry_tap tap;
} rk_entry_stream;

// Begins an entry whose file has `file_bytes`. `is_tapped`: rk_entry_stream_tap will receive all
// parts too, which saves a hash if the entry is unsigned. `out_stream` is owned:
// rk_entry_stream_cleanup.
void rk_entry_stream_begin(uint64_t file_bytes, bool is_tapped, rk_entry_stream *out_stream);
void rk_entry_stream_cleanup(rk_entry_stream *stream);

// Receives the next part. `stream` is an rk_entry_stream, so that this can be a consumer of
// base/relay.h.
void rk_entry_stream_add(void *stream, rk_span part);

// Receives the next part with a hash over all parts before it, from the beginning of the file. May
// run on another thread than rk_entry_stream_add.
void rk_entry_stream_tap(void *stream, rk_span part, const rk_hasher *before);

// Ends the entry. `out_view` borrows from `stream`; owned: rk_entry_view_cleanup. A fault is no
// error. Fails only with RK_RESOURCE_EXHAUSTED.
RK_NODISCARD rk_err *rk_entry_stream_end(rk_entry_stream *stream, rk_entry_view *out_view,
                                         rk_entry_fault *out_fault);

// The bytes that rk_entry_peek needs of a file of `file_bytes`. `head` is its first
// RK_ENTRY_HEADER_BYTES, or the whole of a shorter file.
RK_NODISCARD rk_entry_fault rk_entry_start_bytes(rk_span head, uint64_t file_bytes,
                                                 size_t *out_bytes);

// Decodes the start of an entry without checking any digest or signature, to decide something that
// is decided again when the whole entry has been checked. Otherwise as rk_entry_decode.
RK_NODISCARD rk_err *rk_entry_peek(rk_span start, uint64_t file_bytes, rk_entry_view *out_view,
                                   rk_entry_fault *out_fault);
