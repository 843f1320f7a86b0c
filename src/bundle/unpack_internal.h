// Decompresses zstd frames part by part, in bounded memory; private to src/bundle.
#pragma once

#include "bundle/bundle.h"

typedef struct rk_bundle_unpack {
    void *context; // owned: zstd's
    uint8_t *out;  // owned
    uint64_t raw_bytes, done_bytes;
    bool is_begun, is_ended;
} rk_bundle_unpack;
RK_HIDDEN void rk_bundle_unpack_cleanup(rk_bundle_unpack *self);

// Prepares for one frame with `raw_bytes` of content. Allocates less than 3 MiB, most of it later.
RK_HIDDEN RK_NODISCARD rk_err *rk_bundle_unpack_begin(uint64_t raw_bytes,
                                                      rk_bundle_unpack *out_self);

// Decompresses the next part of the frame and passes the content to `sink`. The first part must
// contain the frame's header (18 bytes), or the whole frame. If the bytes are not one frame with
// the declared content size, `*out_fault` says why, in a static text; else it is NULL.
RK_HIDDEN RK_NODISCARD rk_err *rk_bundle_unpack_add(rk_bundle_unpack *self, rk_span part,
                                                    rk_bundle_sink_fn sink, void *context,
                                                    const char **out_fault);
