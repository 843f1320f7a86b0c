// Compresses contents with zstd; private to src/bundle.
#pragma once

#include "bundle/bundle.h"

enum { RK_BUNDLE_CHUNK_BYTES = 1 << 20 }; // contents are read and compressed in chunks of this size

typedef struct rk_bundle_pack {
    void *context; // owned: zstd's; NULL until the first use
    uint8_t *out;  // owned; enough for one chunk
    size_t capacity;
} rk_bundle_pack;
RK_HIDDEN void rk_bundle_pack_cleanup(rk_bundle_pack *self);

// Compresses at most RK_BUNDLE_CHUNK_BYTES into one frame. `out_packed` is borrowed until the next
// call.
RK_HIDDEN RK_NODISCARD rk_err *rk_bundle_pack_chunk(rk_bundle_pack *self, rk_span raw,
                                                    rk_span *out_packed);

// Begins a frame for a content of `raw_bytes`, which rk_bundle_pack_add then receives in parts.
RK_HIDDEN RK_NODISCARD rk_err *rk_bundle_pack_begin(rk_bundle_pack *self, uint64_t raw_bytes);
RK_HIDDEN RK_NODISCARD rk_err *rk_bundle_pack_add(rk_bundle_pack *self, rk_span raw, bool is_last,
                                                  rk_bundle_sink_fn sink, void *context);
