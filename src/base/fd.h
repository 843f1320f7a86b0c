// Functions for file descriptors: opening and syncing that repeat after EINTR, closing at the end
// of a scope, complete reads and writes.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"

// Closes a descriptor at the end of its scope, unless it is negative.
void rk_autofd_cleanup(int *fd);
#define rk_autofd __attribute__((cleanup(rk_autofd_cleanup))) int

// openat(2) with O_CLOEXEC. Returns -1 and sets errno on failure.
int rk_fd_open(int dir_fd, const char *name, int flags, mode_t mode);

// fsync(2). Returns false and sets errno on failure.
RK_NODISCARD bool rk_fd_sync(int fd);

// Reads `len` bytes at `offset`, fewer only at the end of the file. Returns false and sets errno on
// failure.
RK_NODISCARD bool rk_fd_read_at(int fd, uint64_t offset, void *out, size_t len, size_t *out_got);

// Asks the kernel to write a range to the disk now, without waiting, so that a later fsync(2) has
// less to wait for. A hint: it cannot fail.
void rk_fd_write_behind(int fd, uint64_t offset, uint64_t len);

// Writes all bytes at `offset`, as rk_fd_write_all.
RK_NODISCARD rk_err *rk_fd_write_at(int fd, uint64_t offset, const void *data, size_t len);

// Writes all bytes to `fd`. Continues after a short write and after EINTR.
RK_NODISCARD rk_err *rk_fd_write_all(int fd, const void *data, size_t len);
