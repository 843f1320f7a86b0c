#include "cli/pipe_read.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/sys.h"

bool rk_pipe_read(int fd, uint64_t end_ns, rk_buf *out) {
    for (;;) {
        uint64_t now_ns = rk_monotonic_ns();
        if (now_ns >= end_ns)
            return false;
        struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
        int ready = poll(&poll_fd, 1, (int)((end_ns - now_ns) / 1000000 + 1));
        if (ready <= 0)
            continue;
        uint8_t bytes[4096];
        ssize_t got = read(fd, bytes, sizeof bytes);
        if (got == 0 || (got < 0 && errno != EINTR))
            return true;
        if (got > 0)
            rk_buf_add(out, bytes, (size_t)got);
    }
}
