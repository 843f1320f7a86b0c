// Verifies hits in the background: compiles some of the loaded programs once more and compares the
// results, one at a time on one thread. Which hits are verified is random. If the queue is full, a
// hit is not verified. No call waits for a job that has not begun.
//
// Independent of the plugin: all work is done by callbacks. The first step, `describe`, is short
// and reads the loaded executable; later steps do not need it. The hooks call rk_verifier_release
// before the executable is destroyed: `describe` is then over. After rk_verifier_drain has returned
// true, no thread of the verifier is inside the plugin for that owner.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct rk_verifier rk_verifier; // thread-safe

typedef struct rk_verifier_options {
    uint32_t share_ppm;    // share of hits to verify, in millionths; 1000000: all
    uint64_t seed;         // of the random choice
    size_t max_jobs;       // limit for jobs in the queue, including the running one
    size_t max_held_bytes; // limit for the sum of `held_bytes` of these jobs
} rk_verifier_options;

// One hit to verify. `held_bytes` is the memory that `context` holds. `context` belongs to the
// caller; `done` frees it.
typedef struct rk_verify_job {
    size_t held_bytes;
    uint64_t expected_ns; // expected duration of `verify`; 0: unknown
    const void *handle;   // for rk_verifier_release; only compared
    const void *owner;    // a client, for rk_verifier_drain; only compared
    void *context;
    // Reads the loaded executable and releases it. Called on the verifier's thread, or on that of
    // rk_verifier_release.
    void (*describe)(void *context);
    // Compiles and compares. Called after `describe` on the verifier's thread. Begins no further
    // step once `cancelled` is true.
    void (*verify)(void *context, const atomic_bool *cancelled);
    // Ends the job; called once. If a job is cancelled while it waits, `verify` is not called, and
    // `done` is called on the thread that cancels it. If `describe` was not called either, `done`
    // must release the executable. Must not call the verifier.
    void (*done)(void *context);
} rk_verify_job;

// The thread starts with the first job. Owned: rk_verifier_free.
RK_NODISCARD rk_err *rk_verifier_new(const rk_verifier_options *options,
                                     rk_verifier **out_verifier);

// Cancels waiting jobs, waits for the running one without limit, and frees. For tests; a process
// that exits calls rk_verifier_close and rk_verifier_finish. NULL is fine.
void rk_verifier_free(rk_verifier *verifier);

// Returns true for a random `share_ppm` of the calls: the next hit is to be verified.
RK_NODISCARD bool rk_verifier_chooses(rk_verifier *verifier);

// Returns the sum of `held_bytes` of all jobs.
size_t rk_verifier_held_bytes(rk_verifier *verifier);

// Queues a job. False: the queue is full or closed, or memory or the thread is missing; then no
// callback is called.
RK_NODISCARD bool rk_verifier_submit(rk_verifier *verifier, const rk_verify_job *job);

// Returns once no job needs `handle` any more. Calls `describe` itself for a job that has not
// begun. Costs a load and a branch if no job needs a handle.
void rk_verifier_release(rk_verifier *verifier, const void *handle);

// Cancels the waiting jobs of `owner` (NULL: all jobs), and waits for the running one, at most
// `timeout_ns`. False: the running job is still inside the plugin; the next call does not wait for
// it again.
RK_NODISCARD bool rk_verifier_drain(rk_verifier *verifier, const void *owner, uint64_t timeout_ns);

// Called when the process ends: cancels all jobs and accepts no more. Does not wait.
void rk_verifier_close(rk_verifier *verifier);

// Waits for the running job, because a process that exits during a compilation crashes. Waits at
// most `timeout_ns` plus 5 s plus five times the job's expected duration (at most one hour). False:
// the job still runs.
RK_NODISCARD bool rk_verifier_finish(rk_verifier *verifier, uint64_t timeout_ns);
