// The threads that load ahead, and in which order.
#include "base/alloc.h"
#include "base/heap_reserve.h"
#include "base/thread.h"
#include "cache/prefetcher_internal.h"

typedef struct choice {
    rk_prefetcher_list *list;
    rk_prefetcher_job *job;
} choice;

static bool is_quick(const rk_prefetcher *prefetch, const rk_prefetcher_job *job) {
    return job->what.load_ns <= prefetch->options.quick_ns;
}

// One alone may take all there is.
static bool fits(const rk_prefetcher *prefetch, const rk_prefetcher_job *job) {
    if (prefetch->held == 0)
        return job->what.bytes <= prefetch->options.max_bytes;
    return prefetch->held < prefetch->options.max_held &&
           prefetch->held_bytes + job->what.bytes <= prefetch->options.max_bytes;
}

static bool is_due(const rk_prefetcher *prefetch, const rk_prefetcher_job *job, uint64_t now_ns) {
    return job->what.wanted_ns <= now_ns + prefetch->options.early_ns;
}

// What to begin now.
static choice choose(const rk_prefetcher *prefetch, bool quick_only, uint64_t now_ns) {
    choice best = {0};
    if (prefetch->closed)
        return best;
    for (rk_prefetcher_list *list = prefetch->lists; list; list = list->next)
        for (rk_prefetcher_job *job = list->jobs; job; job = job->next)
            if (job->state == RK_PREFETCHER_QUEUED && (!quick_only || is_quick(prefetch, job)) &&
                is_due(prefetch, job, now_ns) && fits(prefetch, job) &&
                (!best.job || rk_prefetcher_comes_before(&job->what, &best.job->what)))
                best = (choice){list, job};
    return best;
}

// The first thread takes whatever is wanted first; the second what is quick, and other things only
// while there is nothing quick to begin, and if that takes no processor from who is to ask.
static choice choose_for(const rk_prefetcher *prefetch, bool for_quick, uint64_t now_ns) {
    choice best = choose(prefetch, for_quick, now_ns);
    bool done = best.job || !for_quick || (prefetch->options.gentle && prefetch->waiting == 0);
    return done ? best : choose(prefetch, false, now_ns);
}

static choice find_expired(const rk_prefetcher *prefetch, uint64_t now_ns) {
    for (rk_prefetcher_list *list = prefetch->lists; list; list = list->next)
        for (rk_prefetcher_job *job = list->jobs; job; job = job->next)
            if (job->state == RK_PREFETCHER_READY && !job->awaited && job->until_ns <= now_ns)
                return (choice){list, job};
    return (choice){0};
}

// When there may be something to do that nobody will tell of.
static uint64_t next_ns(const rk_prefetcher *prefetch, uint64_t now_ns) {
    uint64_t next = UINT64_MAX;
    for (const rk_prefetcher_list *list = prefetch->lists; list; list = list->next) {
        for (const rk_prefetcher_job *job = list->jobs; job; job = job->next) {
            uint64_t at_ns = UINT64_MAX;
            if (job->state == RK_PREFETCHER_READY)
                at_ns = job->until_ns;
            else if (job->state == RK_PREFETCHER_QUEUED && !is_due(prefetch, job, now_ns))
                at_ns = job->what.wanted_ns - prefetch->options.early_ns;
            next = at_ns < next ? at_ns : next;
        }
    }
    return next;
}

// What the answer means for the rest of the list; with the mutex held. The job may be gone.
static void settle(rk_prefetcher *prefetch, rk_prefetcher_list *list, rk_prefetcher_job *job) {
    const void *owner = list->owner;
    rk_miss miss = job->answer.miss;
    bool short_of_memory = rk_err_code(job->answer.problem) == RK_RESOURCE_EXHAUSTED;
    // Where others were loaded, this one alone wants what the framework is yet to register.
    bool cannot_load = miss == RK_MISS_UNIMPLEMENTED && list->total.loaded == 0;
    if (miss == RK_MISS_NONE) {
        uint64_t now_ns = rk_steady_ns();
        job->state = RK_PREFETCHER_READY;
        job->until_ns = (job->what.wanted_ns > now_ns ? job->what.wanted_ns : now_ns) +
                        prefetch->options.keep_ns;
        list->total.loaded++;
        list->total.load_ns += job->load_ns;
        if (job->forgotten && !job->awaited)
            rk_prefetcher_waste(prefetch, list, job);
        return;
    }
    prefetch->held--;
    prefetch->held_bytes -= job->what.bytes;
    list->total.failed++;
    job->state = RK_PREFETCHER_FAILED;
    list->total.relieved |= short_of_memory;
    if (!job->awaited && (!job->answer.quarantined || job->forgotten)) {
        rk_prefetcher_unlink(prefetch, list, job);
        rk_prefetcher_free_job(prefetch, job);
    }
    if (cannot_load || short_of_memory)
        (void)rk_prefetcher_forget(prefetch, owner);
}

// With the mutex held, which is let go of meanwhile.
static void load(rk_prefetcher *prefetch, rk_prefetcher_list *list, rk_prefetcher_job *job) {
    uint64_t expected_bytes = job->what.bytes, bytes = 0;
    job->state = RK_PREFETCHER_LOADING;
    prefetch->held++;
    prefetch->held_bytes += expected_bytes;
    (void)pthread_mutex_unlock(&prefetch->mutex);
    uint64_t start_ns = rk_steady_ns();
    rk_answer answer = {0};
    prefetch->actions.load(job->what.context, &answer, &bytes);
    uint64_t load_ns = rk_steady_ns() - start_ns;
    (void)pthread_mutex_lock(&prefetch->mutex);
    job->answer = answer;
    job->load_ns = load_ns;
    if (bytes) {
        prefetch->held_bytes += bytes - expected_bytes;
        job->what.bytes = bytes;
    }
    settle(prefetch, list, job);
    (void)pthread_cond_broadcast(&prefetch->changed);
}

void *rk_prefetcher_run(void *argument) {
    rk_prefetcher *prefetch = argument;
    rk_heap_claim();
    (void)pthread_mutex_lock(&prefetch->mutex);
    // They were all started with the mutex held.
    bool for_quick =
        prefetch->thread_count > 1 && pthread_equal(prefetch->threads[1], pthread_self());
    while (!prefetch->closed || prefetch->lists) {
        uint64_t now_ns = rk_steady_ns();
        choice expired = find_expired(prefetch, now_ns);
        if (expired.job) {
            rk_prefetcher_waste(prefetch, expired.list, expired.job);
            continue;
        }
        choice best = choose_for(prefetch, for_quick, now_ns);
        if (best.job) {
            load(prefetch, best.list, best.job);
            continue;
        }
        uint64_t until_ns = next_ns(prefetch, now_ns);
        if (until_ns == UINT64_MAX)
            (void)pthread_cond_wait(&prefetch->changed, &prefetch->mutex);
        else
            (void)rk_cond_wait_until(&prefetch->changed, &prefetch->mutex, until_ns);
    }
    (void)pthread_mutex_unlock(&prefetch->mutex);
    return NULL;
}
