// System calls that have no function in glibc 2.17, the oldest one that rekindle is built for
// (scripts/wheel). getrandom() came with 2.25, gettid() with 2.30.
#pragma once

#include <linux/random.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

// As getrandom(2): `flags` is 0 or GRND_NONBLOCK. Returns the number of bytes, or -1 with errno.
static inline ssize_t rk_getrandom(void *out, size_t len, unsigned flags) {
    return (ssize_t)syscall(SYS_getrandom, out, len, flags);
}

// As gettid(2).
static inline pid_t rk_gettid(void) {
    return (pid_t)syscall(SYS_gettid);
}
