#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>

#include "base/sys.h"

void rk_autofd_cleanup(int *fd) {
    if (*fd >= 0) {
        int saved = errno;
        (void)rk_sys()->close_fn(*fd);
        errno = saved;
    }
}

int rk_fd_open(int dir_fd, const char *name, int flags, mode_t mode) {
    int fd;
    do
        fd = rk_sys()->openat_fn(dir_fd, name, flags | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

bool rk_fd_sync(int fd) {
    int status;
    do
        status = rk_sys()->fsync_fn(fd);
    while (status != 0 && errno == EINTR);
    return status == 0;
}

bool rk_fd_read_at(int fd, uint64_t offset, void *out, size_t len, size_t *out_got) {
    *out_got = 0;
    while (*out_got < len) {
        ssize_t got = rk_sys()->pread_fn(fd, (uint8_t *)out + *out_got, len - *out_got,
                                         (off_t)(offset + *out_got));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0;
        *out_got += (size_t)got;
    }
    return true;
}

void rk_fd_write_behind(int fd, uint64_t offset, uint64_t len) {
    int saved = errno;
    if (len) // a length of 0 would mean the rest of the file
        (void)sync_file_range(fd, (off_t)offset, (off_t)len, SYNC_FILE_RANGE_WRITE);
    errno = saved;
}

// Returns an error unless a write may be repeated. `*out_written`: 0 then.
static rk_err *judge_write(ssize_t written, size_t *out_written) {
    *out_written = written < 0 ? 0 : (size_t)written;
    if (written < 0 && errno != EINTR)
        return rk_error_errno(errno, "cannot write");
    return written == 0 ? rk_error(RK_DATA_LOSS, "write(2) wrote no bytes") : NULL;
}

rk_err *rk_fd_write_all(int fd, const void *data, size_t len) {
    const uint8_t *next = data;
    for (size_t written; len; next += written, len -= written)
        RK_TRY(judge_write(rk_sys()->write_fn(fd, next, len), &written));
    return NULL;
}

rk_err *rk_fd_write_at(int fd, uint64_t offset, const void *data, size_t len) {
    const uint8_t *next = data;
    for (size_t written; len; next += written, len -= written, offset += written)
        RK_TRY(judge_write(rk_sys()->pwrite_fn(fd, next, len, (off_t)offset), &written));
    return NULL;
}
