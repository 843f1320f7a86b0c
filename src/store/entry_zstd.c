#include "store/entry_zstd_internal.h"

#define ZSTD_STATIC_LINKING_ONLY // ZSTD_customMem: so that zstd allocates through base/alloc.h
#include <zstd.h>
#include <zstd_errors.h>

#include "base/alloc.h"

enum { LEVEL = 3 };

static void *zstd_alloc(void *opaque, size_t size_bytes) {
    (void)opaque;
    return rk_malloc(size_bytes);
}

static void zstd_free(void *opaque, void *ptr) {
    (void)opaque;
    rk_free(ptr);
}

static const ZSTD_customMem memory = {zstd_alloc, zstd_free, NULL};

rk_err *rk_zstd_pack(rk_span raw, uint8_t *out, size_t capacity, size_t *out_bytes) {
    *out_bytes = 0;
    ZSTD_CCtx *context = ZSTD_createCCtx_advanced(memory);
    if (!context)
        return rk_err_no_memory();
    size_t result = ZSTD_compressCCtx(context, out, capacity, raw.data, raw.len, LEVEL);
    (void)ZSTD_freeCCtx(context);
    if (!ZSTD_isError(result)) {
        *out_bytes = result;
        return NULL;
    }
    switch (ZSTD_getErrorCode(result)) {
    case ZSTD_error_dstSize_tooSmall:
        return NULL;
    case ZSTD_error_memory_allocation:
        return rk_err_no_memory();
    default:
        return rk_error(RK_INTERNAL, "zstd cannot compress: %s", ZSTD_getErrorName(result));
    }
}

rk_err *rk_zstd_unpack(rk_span packed, size_t raw_bytes, rk_buf *out_raw, bool *out_sound) {
    *out_sound = false;
    if (ZSTD_getFrameContentSize(packed.data, packed.len) != raw_bytes ||
        ZSTD_findFrameCompressedSize(packed.data, packed.len) != packed.len)
        return NULL;
    // Not rk_buf_reserve, which may allocate up to twice the required size.
    uint8_t *data = rk_malloc(raw_bytes + 1);
    if (!data)
        return rk_err_no_memory();
    *out_raw = (rk_buf){.data = data, .capacity = raw_bytes + 1, .max = out_raw->max};
    ZSTD_DCtx *context = ZSTD_createDCtx_advanced(memory);
    if (!context)
        return rk_err_no_memory();
    size_t result = ZSTD_decompressDCtx(context, data, raw_bytes, packed.data, packed.len);
    (void)ZSTD_freeDCtx(context);
    if (ZSTD_isError(result) && ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation)
        return rk_err_no_memory();
    if (ZSTD_isError(result) || result != raw_bytes)
        return NULL;
    out_raw->len = raw_bytes;
    data[raw_bytes] = 0;
    *out_sound = true;
    return NULL;
}
