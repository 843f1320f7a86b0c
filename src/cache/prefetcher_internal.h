// What prefetch*.c share. Inside src/cache only.
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "cache/prefetcher.h"

enum { RK_PREFETCHER_MAX_THREADS = 8 };

typedef enum rk_prefetcher_state {
    RK_PREFETCHER_QUEUED,
    RK_PREFETCHER_LOADING,
    RK_PREFETCHER_READY,      // loaded
    RK_PREFETCHER_FAILED,     // something speaks against the entry, and the request is to be told
    RK_PREFETCHER_DESTROYING, // by a thread that has let go of the mutex
} rk_prefetcher_state;

typedef struct rk_prefetcher_list rk_prefetcher_list;

typedef struct rk_prefetcher_job {
    rk_prefetcher_item what;
    rk_prefetcher_state state;
    bool awaited;      // a request waits for it, and takes it
    bool forgotten;    // while it was being loaded: it goes when that is over
    rk_answer answer;  // once loaded or failed
    uint64_t load_ns;  // it took
    uint64_t until_ns; // it is kept, if nobody waits
    struct rk_prefetcher_job *next;
} rk_prefetcher_job;

struct rk_prefetcher_list {
    const void *owner;
    rk_prefetcher_total total;
    uint64_t strangers; // requests in a row for what was never on the list
    rk_digest *known;   // of all keys that were; owned, sorted
    bool closing;
    bool gave_up;            // a drain has waited for it in vain
    rk_prefetcher_job *jobs; // owned; by when they are wanted, stale ones last
    rk_prefetcher_list *next;
};

struct rk_prefetcher {
    rk_prefetcher_options options;
    rk_prefetcher_actions actions;
    pthread_mutex_t mutex;  // for all below
    pthread_cond_t changed; // something to do, or done
    rk_prefetcher_list *lists;
    uint64_t held_bytes; // of jobs that are being loaded, or are
    size_t held;
    size_t waiting; // requests, for what is being loaded
    bool closed;
    pthread_t threads[RK_PREFETCHER_MAX_THREADS];
    unsigned thread_count;
    atomic_size_t list_count; // so that a request without any costs a load and a branch
};

// Which of two is to be loaded first.
RK_HIDDEN bool rk_prefetcher_comes_before(const rk_prefetcher_item *a, const rk_prefetcher_item *b);

// A job that is on no list any more, and has nothing loaded.
RK_HIDDEN void rk_prefetcher_free_job(const rk_prefetcher *prefetch, rk_prefetcher_job *job);

// Takes a job off its list, which goes with its last one. Called with the mutex held.
RK_HIDDEN void rk_prefetcher_unlink(rk_prefetcher *prefetch, rk_prefetcher_list *list,
                                    rk_prefetcher_job *job);

// Destroys what a job has loaded for nothing, and the job; lets go of the mutex meanwhile.
RK_HIDDEN void rk_prefetcher_waste(rk_prefetcher *prefetch, rk_prefetcher_list *list,
                                   rk_prefetcher_job *job);

// The same for all that is ready of one list, and what is queued is dropped. What is being loaded
// goes when that is over. How many were destroyed. The list may be gone afterwards.
RK_HIDDEN size_t rk_prefetcher_forget(rk_prefetcher *prefetch, const void *owner);

// A thread: `argument` is the prefetch.
RK_HIDDEN void *rk_prefetcher_run(void *argument);
