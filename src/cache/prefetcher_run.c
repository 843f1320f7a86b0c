// The prefetch threads, and the order in which they load.
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

// True if the budget allows the job. A single job may use the whole budget.
static bool fits(const rk_prefetcher *prefetch, const rk_prefetcher_job *job) {
    if (prefetch->held == 0)
        return job->what.bytes <= prefetch->options.max_bytes;
    return prefetch->held < prefetch->options.max_held &&
           prefetch->held_bytes + job->what.bytes <= prefetch->options.max_bytes;
}

static bool is_due(const rk_prefetcher *prefetch, const rk_prefetcher_job *job, uint64_t now_ns) {
    return job->what.wanted_ns <= now_ns + prefetch->options.early_ns;
}

// The queued job to load next; none: `job` is NULL.
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

// All threads but the second take the first job in order. The second takes quick jobs; without a
// quick one it takes others, but on few processors (`gentle`) only while a request waits, so that
// it takes no processor from the job.
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

// The next time at which a job expires or becomes due; no signal marks these times. UINT64_MAX:
// none.
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

// Records the end of a load, and discards the list if it shows that further loads are useless.
// Called with the mutex held; may unlock it meanwhile. The job and the list may be gone afterwards.
static void settle(rk_prefetcher *prefetch, rk_prefetcher_list *list, rk_prefetcher_job *job) {
    const void *owner = list->owner;
    rk_miss miss = job->answer.miss;
    bool short_of_memory = rk_err_code(job->answer.problem) == RK_RESOURCE_EXHAUSTED;
    // If other executables were loaded, the plugin can load: only this one needs something that the
    // framework has not registered yet.
    bool cannot_load = miss == RK_MISS_UNIMPLEMENTED && list->total.loaded == 0;
    if (miss == RK_MISS_NONE) {
        uint64_t now_ns = rk_steady_ns();
        job->state = RK_PREFETCHER_READY;
        job->until_ns = (job->what.wanted_ns > now_ns ? job->what.wanted_ns : now_ns) +
                        prefetch->options.keep_ns;
        list->total.loaded++;
        list->total.load_ns += job->load_ns;
        if (job->discarded && !job->awaited)
            rk_prefetcher_waste(prefetch, list, job);
        return;
    }
    prefetch->held--;
    prefetch->held_bytes -= job->what.bytes;
    list->total.failed++;
    job->state = RK_PREFETCHER_FAILED;
    list->total.relieved |= short_of_memory;
    if (!job->awaited && (!job->answer.quarantined || job->discarded)) {
        rk_prefetcher_unlink(prefetch, list, job);
        rk_prefetcher_free_job(prefetch, job);
    }
    if (cannot_load || short_of_memory)
        (void)rk_prefetcher_forget(prefetch, owner);
}

// Loads one job. Called with the mutex held; unlocks it meanwhile.
static void load(rk_prefetcher *prefetch, rk_prefetcher_list *list, rk_prefetcher_job *job) {
    uint64_t expected_bytes = job->what.bytes, bytes = 0;
    job->state = RK_PREFETCHER_LOADING;
    prefetch->held++;
    prefetch->held_bytes += expected_bytes;
    prefetch->loading++;
    (void)pthread_mutex_unlock(&prefetch->mutex);
    uint64_t start_ns = rk_steady_ns();
    rk_answer answer = {0};
    prefetch->actions.load(job->what.context, &answer, &bytes);
    uint64_t load_ns = rk_steady_ns() - start_ns;
    (void)pthread_mutex_lock(&prefetch->mutex);
    prefetch->loading--;
    prefetch->load_ends++;
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
    // The array is complete: all threads were started with the mutex held.
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
