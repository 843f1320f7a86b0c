// Functions for open file descriptors: closing at the end of a scope, complete writes.
#pragma once

#include <stdint.h>

#include "base/status.h"

// Closes a descriptor at the end of its scope, unless it is negative.
void rk_autofd_cleanup(int *fd);
#define rk_autofd __attribute__((cleanup(rk_autofd_cleanup))) int

// Asks the kernel to write a range to the disk now, without waiting, so that a later fsync(2) has
// less to wait for. A hint: it cannot fail.
void rk_fd_write_behind(int fd, uint64_t offset, uint64_t len);

// Writes all bytes to `fd`. Continues after a short write and after EINTR.
RK_NODISCARD rk_err *rk_fd_write_all(int fd, const void *data, size_t len);
