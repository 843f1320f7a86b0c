// Runs one function for many items on several threads. The calling thread is one of them.
//
//     const rk_parallel_work work = {.context = &copy, .count = n, .run = copy_file};
//     RK_TRY(rk_parallel_run(&work, rk_parallel_threads()));
//
// Each thread takes the next item when it has finished one. So threads seldom wait for each other,
// also on a busy machine.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

enum { RK_PARALLEL_THREADS_MAX = 4 };

typedef struct rk_parallel_work {
    void *context;
    size_t count; // of the items
    // Called for one item at a time, in order, before `run`. May be NULL.
    rk_err *(*begin)(void *context, size_t index);
    // Called for several items at the same time.
    rk_err *(*run)(void *context, size_t index);
    // Called for one item at a time, in order, after `run`: not while `begin` runs. May be NULL.
    rk_err *(*end)(void *context, size_t index);
} rk_parallel_work;

// Two for each processor that this thread may use, because one of them often waits for the disk. At
// most RK_PARALLEL_THREADS_MAX.
size_t rk_parallel_threads(void);

// Calls the functions for all items, and returns when all threads have ended. After an error no
// more items are begun; the error of the first item in order is returned. If the system has no
// thread left, fewer run. Fails itself only with RK_RESOURCE_EXHAUSTED.
RK_NODISCARD rk_err *rk_parallel_run(const rk_parallel_work *work, size_t threads);

// True if an item is so large, compared with all that is left to do, that the other threads will
// have nothing to do before it is finished. Then hashing it on a thread of its own pays
// (base/relay.h). `left_bytes` counts the item too.
bool rk_parallel_is_large(size_t threads, uint64_t item_bytes, uint64_t left_bytes);
