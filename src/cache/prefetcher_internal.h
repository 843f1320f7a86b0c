// Types and functions shared by prefetcher*.c. Inside src/cache only.
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "cache/prefetcher.h"

enum { RK_PREFETCHER_MAX_THREADS = 8 };

typedef enum rk_prefetcher_state {
    RK_PREFETCHER_QUEUED,
    RK_PREFETCHER_LOADING,
    RK_PREFETCHER_READY,      // loaded
    RK_PREFETCHER_FAILED,     // not loaded; stays on the list if a request must get the answer
    RK_PREFETCHER_DESTROYING, // by a thread that has unlocked the mutex
} rk_prefetcher_state;

typedef struct rk_prefetcher_list rk_prefetcher_list;

typedef struct rk_prefetcher_job {
    rk_prefetcher_item what;
    rk_prefetcher_state state;
    bool awaited;      // a request waits for the job and takes it
    bool discarded;    // during its load: destroyed when the load is over
    rk_answer answer;  // once loaded or failed
    uint64_t load_ns;  // how long the load took
    uint64_t until_ns; // destroyed at this time, unless a request waits
    struct rk_prefetcher_job *next;
} rk_prefetcher_job;

struct rk_prefetcher_list {
    const void *owner;
    rk_prefetcher_total total;
    uint64_t unlisted_in_a_row; // latest requests for keys that were never on the list
    rk_digest *known;           // of all keys that were ever on the list; owned, sorted
    bool closing;
    bool gave_up;            // a drain has reached its timeout
    rk_prefetcher_job *jobs; // owned; by expected request time, stale ones last
    rk_prefetcher_list *next;
};

struct rk_prefetcher {
    rk_prefetcher_options options;
    rk_prefetcher_actions actions;
    pthread_mutex_t mutex;  // guards all members below
    pthread_cond_t changed; // a job was added, or changed its state
    rk_prefetcher_list *lists;
    uint64_t held_bytes; // of jobs that are loaded or being loaded
    size_t held;         // their number
    size_t waiting;      // requests that wait for a load
    size_t loading;      // jobs that are being loaded
    uint64_t load_ends;  // loads that are over, also failed ones
    bool closed;
    pthread_t threads[RK_PREFETCHER_MAX_THREADS];
    unsigned thread_count;
    atomic_size_t list_count; // read without the mutex: a request costs little if there is no list
};

// True if `a` is to be loaded before `b`.
RK_HIDDEN bool rk_prefetcher_comes_before(const rk_prefetcher_item *a, const rk_prefetcher_item *b);

// True if `list` belongs to `owner`, or if `owner` is NULL.
RK_HIDDEN bool rk_prefetcher_matches_owner(const rk_prefetcher_list *list, const void *owner);

// Returns the list of `owner`; NULL if there is none. Called with the mutex held.
RK_HIDDEN rk_prefetcher_list *rk_prefetcher_find_list(const rk_prefetcher *prefetch,
                                                      const void *owner);

// Frees a job that is on no list and has nothing loaded.
RK_HIDDEN void rk_prefetcher_free_job(const rk_prefetcher *prefetch, rk_prefetcher_job *job);

// Removes a job from its list. Removes and frees the list after its last job. Called with the mutex
// held.
RK_HIDDEN void rk_prefetcher_unlink(rk_prefetcher *prefetch, rk_prefetcher_list *list,
                                    rk_prefetcher_job *job);

// Destroys the executable of a job that no request claimed, and frees the job. Called with the
// mutex held; unlocks it meanwhile.
RK_HIDDEN void rk_prefetcher_waste(rk_prefetcher *prefetch, rk_prefetcher_list *list,
                                   rk_prefetcher_job *job);

// Discards the list of `owner`: destroys loaded executables, drops queued jobs, and marks those
// that are being loaded as discarded. Returns how many executables were destroyed. Called with the
// mutex held; unlocks it meanwhile. The list may be gone afterwards.
RK_HIDDEN size_t rk_prefetcher_forget(rk_prefetcher *prefetch, const void *owner);

// The function of the threads; `argument` is the prefetcher.
RK_HIDDEN void *rk_prefetcher_run(void *argument);
