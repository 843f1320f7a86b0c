// CPU time of a test, which other load on the machine does not change.
#pragma once

#include <stdint.h>
#include <time.h>

// CPU time of this process in nanoseconds.
static inline uint64_t rk_test_work_ns(void) {
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
