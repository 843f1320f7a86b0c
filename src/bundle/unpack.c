#include "bundle/unpack_internal.h"

#include "bundle/limits.h"
#include "bundle/zstd_memory_internal.h"

#include <zstd_errors.h>

enum { OUT_BYTES = 256 << 10, WINDOW_LOG = 21 };
_Static_assert(1 << WINDOW_LOG == RK_BUNDLE_WINDOW_MAX_BYTES, "the same limit");

void rk_bundle_unpack_cleanup(rk_bundle_unpack *self) {
    (void)ZSTD_freeDCtx(self->context);
    rk_free(self->out);
    *self = (rk_bundle_unpack){0};
}

rk_err *rk_bundle_unpack_begin(uint64_t raw_bytes, rk_bundle_unpack *out_self) {
    *out_self = (rk_bundle_unpack){.raw_bytes = raw_bytes};
    out_self->context = ZSTD_createDCtx_advanced(rk_bundle_zstd_memory());
    out_self->out = rk_malloc(OUT_BYTES);
    if (!out_self->context || !out_self->out ||
        ZSTD_isError(ZSTD_DCtx_setParameter(out_self->context, ZSTD_d_windowLogMax, WINDOW_LOG))) {
        rk_bundle_unpack_cleanup(out_self);
        return rk_err_no_memory();
    }
    return NULL;
}

// Checks the frame's header before anything is decompressed.
static const char *header_fault(const rk_bundle_unpack *self, rk_span part) {
    ZSTD_frameHeader header;
    if (ZSTD_getFrameHeader(&header, part.data, part.len) != 0 || header.frameType != ZSTD_frame)
        return "is not a zstd frame";
    if (header.frameContentSize != self->raw_bytes)
        return "states another size than the index";
    if (header.windowSize > RK_BUNDLE_WINDOW_MAX_BYTES)
        return "needs a window of more than 2 MiB";
    return header.dictID ? "needs a dictionary" : NULL;
}

// Decompresses once, and passes what came out to `sink`.
static rk_err *step(rk_bundle_unpack *self, ZSTD_inBuffer *in, rk_bundle_sink_fn sink,
                    void *context, const char **out_fault) {
    // One byte more than declared shows a content that is too long.
    uint64_t left = self->raw_bytes - self->done_bytes + 1;
    ZSTD_outBuffer out = {self->out, left < OUT_BYTES ? (size_t)left : OUT_BYTES, 0};
    size_t result = ZSTD_decompressStream(self->context, &out, in);
    if (ZSTD_isError(result)) {
        if (ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation)
            return rk_err_no_memory();
        *out_fault = "cannot be decompressed";
        return NULL;
    }
    self->done_bytes += out.pos;
    self->is_ended = result == 0;
    if (self->done_bytes > self->raw_bytes ||
        (self->is_ended && (in->pos < in->size || self->done_bytes < self->raw_bytes))) {
        *out_fault = "has another size than the index states";
        return NULL;
    }
    return out.pos ? sink(context, rk_span_of(self->out, out.pos)) : NULL;
}

rk_err *rk_bundle_unpack_add(rk_bundle_unpack *self, rk_span part, rk_bundle_sink_fn sink,
                             void *context, const char **out_fault) {
    *out_fault = self->is_begun ? NULL : header_fault(self, part);
    self->is_begun = true;
    ZSTD_inBuffer in = {part.data, part.len, 0};
    bool may_hold_more = true; // zstd may hold content that did not fit into the output
    while (!*out_fault && !self->is_ended && (in.pos < in.size || may_hold_more)) {
        uint64_t before = self->done_bytes;
        RK_TRY(step(self, &in, sink, context, out_fault));
        may_hold_more = self->done_bytes - before == OUT_BYTES;
    }
    if (!*out_fault && in.pos < in.size)
        *out_fault = "has bytes after its end";
    return NULL;
}
