// Reads what a child process writes, for a limited time.
#pragma once

#include <stdint.h>

#include "base/buf.h"

// Appends what comes from the pipe until the other end is closed. Returns false after `end_ns`
// (rk_monotonic_ns).
RK_NODISCARD bool rk_pipe_read(int fd, uint64_t end_ns, rk_buf *out);
