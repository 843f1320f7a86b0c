#include "journal/read_lines_internal.h"

#include <errno.h>
#include <fcntl.h>

#include "base/fs.h"

typedef struct reader {
    rk_buf pending; // beginning of a line whose end has not been read yet
    bool too_long;  // the line exceeds the maximum; its bytes are dropped
    rk_line_fn each;
    void *context;
} reader;

static rk_err *finish_line(reader *self, rk_line_kind kind) {
    rk_err *err = self->too_long ? self->each(self->context, rk_span_of(NULL, 0), RK_LINE_TOO_LONG)
                                 : self->each(self->context, rk_buf_span(&self->pending), kind);
    rk_buf_clear(&self->pending);
    self->too_long = false;
    return err;
}

static rk_err *take_part(reader *self, rk_span part) {
    if (self->pending.len + part.len > RK_READ_LINE_MAX_BYTES) {
        self->too_long = true;
        rk_buf_clear(&self->pending);
    }
    if (self->too_long)
        return NULL;
    rk_buf_add_span(&self->pending, part);
    return rk_buf_status(&self->pending);
}

static rk_err *take_chunk(reader *self, rk_span chunk) {
    while (chunk.len) {
        const uint8_t *end = memchr(chunk.data, '\n', chunk.len);
        size_t len = end ? (size_t)(end - chunk.data) : chunk.len;
        RK_TRY(take_part(self, rk_span_of(chunk.data, len)));
        if (end)
            RK_TRY(finish_line(self, RK_LINE_WHOLE));
        size_t taken = end ? len + 1 : len;
        chunk = rk_span_of(chunk.data + taken, chunk.len - taken);
    }
    return NULL;
}

static rk_err *read_all(reader *self, int fd, const char *path) {
    enum { CHUNK_BYTES = 64 << 10 };
    RK_AUTO(rk_buf) chunk = {0};
    rk_buf_reserve(&chunk, CHUNK_BYTES);
    RK_TRY(rk_buf_status(&chunk));
    for (;;) {
        ssize_t got = rk_sys()->read_fn(fd, chunk.data, CHUNK_BYTES);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return rk_error_errno(errno, "cannot read %s", path);
        if (got == 0)
            break;
        RK_TRY(take_chunk(self, rk_span_of(chunk.data, (size_t)got)));
    }
    bool rest = self->pending.len > 0 || self->too_long;
    return rest ? finish_line(self, RK_LINE_UNENDED) : NULL;
}

rk_err *rk_lines_read(const char *path, rk_line_fn each, void *context, struct stat *out_info) {
    rk_autofd fd = rk_sys()->open_fn(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0)
        return rk_error_errno(errno, "cannot open %s", path);
    if (rk_sys()->fstat_fn(fd, out_info) != 0)
        return rk_error_errno(errno, "cannot stat %s", path);
    if (!S_ISREG(out_info->st_mode))
        return rk_error(RK_OUT_OF_RANGE, "%s is not a regular file", path);
    reader self = {.each = each, .context = context};
    rk_err *err = read_all(&self, fd, path);
    rk_buf_cleanup(&self.pending);
    return err;
}
