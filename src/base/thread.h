// Threads of our own inside somebody else's process, and waiting with a deadline.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"

// Starts a thread that takes none of the job's signals, but for faults, which hit the thread that
// made them. 0, or an errno.
RK_NODISCARD int rk_thread_start(void *(*run)(void *argument), void *argument,
                                 pthread_t *out_thread);

// CLOCK_MONOTONIC itself, by which rk_cond_wait_until measures; tests do not replace it.
uint64_t rk_steady_ns(void);

// A condition variable for rk_cond_wait_until.
void rk_cond_init(pthread_cond_t *cond);

// As pthread_cond_wait, until `deadline_ns` of rk_steady_ns at most; false when that has passed.
bool rk_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t deadline_ns);
