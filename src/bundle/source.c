#include "bundle/source_internal.h"

#include <errno.h>

#include "base/fd.h"
#include "bundle/pack_internal.h"

// Reads at most `len` bytes, less only at the end of the file.
static rk_err *read_file(int fd, uint8_t *out, size_t len, uint64_t offset, size_t *out_got) {
    return rk_fd_read_at(fd, offset, out, len, out_got)
               ? NULL
               : rk_error_errno(errno, "cannot read the content");
}

rk_err *rk_bundle_source_chunk(const rk_bundle_source *source, uint64_t offset,
                               rk_span *out_chunk) {
    uint64_t left = source->len - offset;
    size_t most = source->chunk_bytes ? source->chunk_bytes : RK_BUNDLE_CHUNK_BYTES;
    bool is_last = left <= most;
    size_t len = is_last ? (size_t)left : most, got = 0, beyond = 0;
    if (source->fd < 0) {
        *out_chunk = len ? rk_span_of(source->span.data + offset, len) : (rk_span){0};
        return NULL;
    }
    uint8_t next;
    RK_TRY(read_file(source->fd, source->buffer, len, offset, &got));
    if (is_last)
        RK_TRY(read_file(source->fd, &next, 1, source->len, &beyond));
    if (got < len || beyond)
        return rk_error(RK_ABORTED, "the file has not %llu bytes: it changed while it was read",
                        (unsigned long long)source->len);
    *out_chunk = rk_span_of(source->buffer, len);
    return NULL;
}

rk_err *rk_bundle_source_digest(const rk_bundle_source *source, rk_digest *out_digest) {
    rk_hasher hasher;
    rk_hasher_init(&hasher);
    uint64_t offset = 0;
    do { // once also for an empty file, to check its length
        rk_span chunk = {0};
        RK_TRY(rk_bundle_source_chunk(source, offset, &chunk));
        rk_hasher_add(&hasher, chunk.data, chunk.len);
        offset += chunk.len;
    } while (offset < source->len);
    rk_hasher_finish(&hasher, out_digest);
    return NULL;
}
