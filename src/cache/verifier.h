// Verification in the background: some of what was loaded is compiled once more and compared,
// on one thread, one at a time. Which, chance decides; a job that
// finds the queue full is not verified, and nobody waits for one that was not begun.
//
// Knows no plugin: what there is to do are callbacks. A loaded executable is described first, which
// is short; then nothing of it is held any more. rk_verifier_release makes sure of that before it
// is destroyed, and no thread of ours is inside the plugin once rk_verifier_drain has returned
// true.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct rk_verifier rk_verifier; // thread-safe

typedef struct rk_verifier_options {
    uint32_t share_ppm;    // of what is asked about, in millionths; 1000000: all
    uint64_t seed;         // of the chances
    size_t max_jobs;       // in the queue, the one at work included
    size_t max_held_bytes; // of those together
} rk_verifier_options;

// `context` is the caller's, and is over with `done`.
typedef struct rk_verify_job {
    size_t held_bytes;
    uint64_t expected_ns; // how long verify takes, as far as that is known
    const void *handle;   // what rk_verifier_release names; compared, never followed
    const void *owner;    // what rk_verifier_drain names (a client); compared, never followed
    void *context;
    // Looks at what was loaded and lets go of it: on the verifier's thread, or on one that
    // releases.
    void (*describe)(void *context);
    // Compiles and compares; after describe, on the verifier's thread. Once `cancelled`, it does
    // not begin anything further.
    void (*verify)(void *context, const atomic_bool *cancelled);
    // The end, called once: after verify, or alone for a job that was cancelled, on the canceller's
    // thread; then it has to let go of what describe would have. Must not call the verifier.
    void (*done)(void *context);
} rk_verify_job;

// Its thread starts with the first job. Owned: rk_verifier_free.
RK_NODISCARD rk_err *rk_verifier_new(const rk_verifier_options *options,
                                     rk_verifier **out_verifier);

// Cancels what was not begun, waits without limit for what was, frees. For tests; a process that
// exits closes. NULL is fine.
void rk_verifier_free(rk_verifier *verifier);

// Whether chance has it that the next one is verified.
RK_NODISCARD bool rk_verifier_chooses(rk_verifier *verifier);

// Bytes that the jobs hold.
size_t rk_verifier_held_bytes(rk_verifier *verifier);

// Queues a job. False, and nothing else: the queue is full or closed, or there is no thread.
RK_NODISCARD bool rk_verifier_submit(rk_verifier *verifier, const rk_verify_job *job);

// Returns once no job needs `handle` any more: one not described yet is described here. A load and
// a branch when there is none.
void rk_verifier_release(rk_verifier *verifier, const void *handle);

// Cancels the jobs of `owner` that were not begun, at once, and waits for one that was, at most
// `timeout_ns`. False if that one is still inside the plugin then; the next call does not wait for
// it again.
RK_NODISCARD bool rk_verifier_drain(rk_verifier *verifier, const void *owner, uint64_t timeout_ns);

// The process ends: cancels what was not begun and takes nothing more. Does not wait.
void rk_verifier_close(rk_verifier *verifier);

// Waits for the one that was begun: a process that ends under a compiler crashes. At most
// `timeout_ns`, and 5 s, and five times what it is expected to take. False past that.
RK_NODISCARD bool rk_verifier_finish(rk_verifier *verifier, uint64_t timeout_ns);
