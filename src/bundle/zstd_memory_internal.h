// Lets zstd allocate through base/alloc.h; private to src/bundle.
#pragma once

#define ZSTD_STATIC_LINKING_ONLY // ZSTD_customMem, ZSTD_getFrameHeader
#include <zstd.h>

#include "base/alloc.h"

static inline void *rk_bundle_zstd_alloc(void *opaque, size_t size_bytes) {
    (void)opaque;
    return rk_malloc(size_bytes);
}

static inline void rk_bundle_zstd_free(void *opaque, void *ptr) {
    (void)opaque;
    rk_free(ptr);
}

static inline ZSTD_customMem rk_bundle_zstd_memory(void) {
    return (ZSTD_customMem){rk_bundle_zstd_alloc, rk_bundle_zstd_free, NULL};
}
