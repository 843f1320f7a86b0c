// One-shot zstd with rekindle's allocator and limits; private to src/store.
#pragma once

#include "base/buf.h"

// Compresses `raw` into `out`, with level 3, on the calling thread. `*out_bytes` is 0 if the result
// does not fit into `capacity`. Fails with RK_RESOURCE_EXHAUSTED or RK_INTERNAL.
RK_HIDDEN RK_NODISCARD rk_err *rk_zstd_pack(rk_span raw, uint8_t *out, size_t capacity,
                                            size_t *out_bytes);

// Decompresses one frame into the empty `out_raw`, which the caller owns also on failure.
// `*out_sound` is false unless the frame states a size of `raw_bytes` and decompresses to exactly
// that size. Allocates `raw_bytes` + 1 and zstd's own working memory, about 160 KiB. Fails with
// RK_RESOURCE_EXHAUSTED.
RK_HIDDEN RK_NODISCARD rk_err *rk_zstd_unpack(rk_span packed, size_t raw_bytes, rk_buf *out_raw,
                                              bool *out_sound);
