// Discards jobs of a prefetcher, and waits until their memory is free.
#include "base/thread.h"
#include "cache/prefetcher_internal.h"

// `key` NULL: every job matches.
static bool is_of(const rk_prefetcher_job *job, const rk_key *key) {
    return !key || rk_key_equal(&job->what.key, key);
}

// Drops queued and failed jobs, and marks jobs that are being loaded as discarded. Keeps the mutex
// locked, so that no load begins before the loaded executables are destroyed. The list may be gone
// afterwards.
static void discard_unloaded(rk_prefetcher *prefetch, rk_prefetcher_list *list, const rk_key *key) {
    for (rk_prefetcher_job *job = list->jobs, *next; job; job = next) {
        next = job->next;
        if (!is_of(job, key))
            continue;
        job->discarded |= job->state == RK_PREFETCHER_LOADING && !job->awaited;
        bool queued = job->state == RK_PREFETCHER_QUEUED;
        if (!queued && (job->state != RK_PREFETCHER_FAILED || job->awaited))
            continue;
        list->total.dropped += queued;
        rk_prefetcher_unlink(prefetch, list, job); // frees the list after the last job
        rk_prefetcher_free_job(prefetch, job);
    }
}

static rk_prefetcher_job *find_ready(const rk_prefetcher_list *list, const rk_key *key) {
    for (rk_prefetcher_job *job = list->jobs; job; job = job->next)
        if (job->state == RK_PREFETCHER_READY && !job->awaited && is_of(job, key))
            return job;
    return NULL;
}

size_t rk_prefetcher_forget(rk_prefetcher *prefetch, const void *owner) {
    size_t destroyed = 0;
    rk_prefetcher_list *list = rk_prefetcher_find_list(prefetch, owner);
    if (list)
        discard_unloaded(prefetch, list, NULL);
    while ((list = rk_prefetcher_find_list(prefetch, owner)) !=
           NULL) { // it may be freed while unlocked
        rk_prefetcher_job *job = find_ready(list, NULL);
        if (!job)
            break;
        rk_prefetcher_waste(prefetch, list, job);
        destroyed++;
    }
    return destroyed;
}

static size_t discard_lists(rk_prefetcher *prefetch, const void *owner, const rk_key *key,
                            rk_prefetcher_reason why) {
    size_t destroyed = 0;
    if (atomic_load_explicit(&prefetch->list_count, memory_order_relaxed) == 0)
        return 0;
    (void)pthread_mutex_lock(&prefetch->mutex);
    for (rk_prefetcher_list *list = prefetch->lists, *next; list; list = next) {
        next = list->next;
        if (!rk_prefetcher_matches_owner(list, owner))
            continue;
        list->total.relieved |= why == RK_PREFETCHER_MEMORY_SHORT;
        list->total.measured |= why == RK_PREFETCHER_MEMORY_MEASURED;
        discard_unloaded(prefetch, list, key);
    }
    for (rk_prefetcher_list *list = prefetch->lists; list;) {
        rk_prefetcher_job *job =
            rk_prefetcher_matches_owner(list, owner) ? find_ready(list, key) : NULL;
        if (job) {
            rk_prefetcher_waste(prefetch, list, job);
            destroyed++;
        }
        list = job ? prefetch->lists : list->next; // the mutex was unlocked: start again
    }
    (void)pthread_mutex_unlock(&prefetch->mutex);
    return destroyed;
}

size_t rk_prefetcher_discard(rk_prefetcher *prefetch, const void *owner, rk_prefetcher_reason why) {
    return discard_lists(prefetch, owner, NULL, why);
}

void rk_prefetcher_discard_key(rk_prefetcher *prefetch, const rk_key *key) {
    (void)discard_lists(prefetch, NULL, key, RK_PREFETCHER_NOT_NEEDED);
}

// True if discarded executables still use memory: they are being destroyed or loaded.
static bool is_freeing_memory(const rk_prefetcher *prefetch) {
    for (const rk_prefetcher_list *list = prefetch->lists; list; list = list->next)
        for (const rk_prefetcher_job *job = list->jobs; job; job = job->next)
            if (job->state == RK_PREFETCHER_DESTROYING ||
                (job->state == RK_PREFETCHER_LOADING && job->discarded))
                return true;
    return false;
}

void rk_prefetcher_await_discards(rk_prefetcher *prefetch, uint64_t timeout_ns) {
    if (atomic_load_explicit(&prefetch->list_count, memory_order_relaxed) == 0)
        return;
    uint64_t deadline_ns = rk_steady_ns() + timeout_ns;
    (void)pthread_mutex_lock(&prefetch->mutex);
    while (is_freeing_memory(prefetch))
        if (!rk_cond_wait_until(&prefetch->changed, &prefetch->mutex, deadline_ns))
            break;
    (void)pthread_mutex_unlock(&prefetch->mutex);
}
