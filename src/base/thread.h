// rekindle's own threads inside a host process, and condition variables with a deadline.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"

// Starts a thread that blocks all signals except faults such as SIGSEGV, which the kernel delivers
// to the thread that caused them. Returns 0 or an errno.
RK_NODISCARD int rk_thread_start(void *(*run)(void *argument), void *argument,
                                 pthread_t *out_thread);

// Returns CLOCK_MONOTONIC, the clock of rk_cond_wait_until. Tests do not replace it.
uint64_t rk_steady_ns(void);

// Initializes a condition variable for rk_cond_wait_until.
void rk_cond_init(pthread_cond_t *cond);

// As pthread_cond_wait, but returns false when `deadline_ns` (of rk_steady_ns) has passed.
bool rk_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t deadline_ns);
