#include "bundle/pack_internal.h"

#include "bundle/limits.h"
#include "bundle/zstd_memory_internal.h"

#include <zstd_errors.h>

enum { LEVEL = 3, WINDOW_LOG = 21 };
_Static_assert(1 << WINDOW_LOG == RK_BUNDLE_WINDOW_MAX_BYTES, "the limit of the reader");

void rk_bundle_pack_cleanup(rk_bundle_pack *self) {
    (void)ZSTD_freeCCtx(self->context);
    rk_free(self->out);
    *self = (rk_bundle_pack){0};
}

static rk_err *fail(size_t result) {
    if (ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation)
        return rk_err_no_memory();
    return rk_error(RK_INTERNAL, "zstd cannot compress: %s", ZSTD_getErrorName(result));
}

static rk_err *prepare(rk_bundle_pack *self) {
    if (self->context)
        return NULL;
    self->capacity = ZSTD_compressBound(RK_BUNDLE_CHUNK_BYTES);
    self->out = self->out ? self->out : rk_malloc(self->capacity);
    self->context = ZSTD_createCCtx_advanced(rk_bundle_zstd_memory());
    if (!self->out || !self->context)
        return rk_err_no_memory();
    size_t result = ZSTD_CCtx_setParameter(self->context, ZSTD_c_compressionLevel, LEVEL);
    if (!ZSTD_isError(result))
        result = ZSTD_CCtx_setParameter(self->context, ZSTD_c_windowLog, WINDOW_LOG);
    return ZSTD_isError(result) ? fail(result) : NULL;
}

rk_err *rk_bundle_pack_chunk(rk_bundle_pack *self, rk_span raw, rk_span *out_packed) {
    RK_TRY(prepare(self));
    size_t result = ZSTD_compress2(self->context, self->out, self->capacity, raw.data, raw.len);
    if (ZSTD_isError(result))
        return fail(result);
    *out_packed = rk_span_of(self->out, result);
    return NULL;
}

rk_err *rk_bundle_pack_begin(rk_bundle_pack *self, uint64_t raw_bytes) {
    RK_TRY(prepare(self));
    size_t result = ZSTD_CCtx_reset(self->context, ZSTD_reset_session_only);
    if (!ZSTD_isError(result))
        result = ZSTD_CCtx_setPledgedSrcSize(self->context, raw_bytes);
    return ZSTD_isError(result) ? fail(result) : NULL;
}

rk_err *rk_bundle_pack_add(rk_bundle_pack *self, rk_span raw, bool is_last, rk_bundle_sink_fn sink,
                           void *context) {
    ZSTD_inBuffer in = {raw.data, raw.len, 0};
    size_t left;
    do {
        ZSTD_outBuffer out = {self->out, self->capacity, 0};
        left =
            ZSTD_compressStream2(self->context, &out, &in, is_last ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left))
            return fail(left);
        if (out.pos)
            RK_TRY(sink(context, rk_span_of(self->out, out.pos)));
    } while (in.pos < in.size || (is_last && left));
    return NULL;
}
