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

void rk_fd_write_behind(int fd, uint64_t offset, uint64_t len) {
    int saved = errno;
    if (len) // a length of 0 would mean the rest of the file
        (void)sync_file_range(fd, (off_t)offset, (off_t)len, SYNC_FILE_RANGE_WRITE);
    errno = saved;
}

rk_err *rk_fd_write_all(int fd, const void *data, size_t len) {
    const uint8_t *next = data;
    while (len) {
        ssize_t written = rk_sys()->write_fn(fd, next, len);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return rk_error_errno(errno, "cannot write");
        if (written == 0)
            return rk_error(RK_DATA_LOSS, "write(2) wrote no bytes");
        next += written;
        len -= (size_t)written;
    }
    return NULL;
}
