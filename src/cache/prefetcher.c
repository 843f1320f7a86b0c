#include "cache/prefetcher.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "cache/prefetcher_internal.h"

// After so many requests in a row for unlisted keys, the run differs from the last one.
enum { UNLISTED_MAX = 16 };

rk_err *rk_prefetcher_new(const rk_prefetcher_options *options,
                          const rk_prefetcher_actions *actions, rk_prefetcher **out_prefetch) {
    rk_prefetcher *prefetch = rk_calloc(1, sizeof *prefetch);
    if (!prefetch)
        return rk_err_no_memory();
    prefetch->options = *options;
    prefetch->actions = *actions;
    (void)pthread_mutex_init(&prefetch->mutex, NULL);
    rk_cond_init(&prefetch->changed);
    *out_prefetch = prefetch;
    return NULL;
}

void rk_prefetcher_free(rk_prefetcher *prefetch) {
    if (!prefetch)
        return;
    (void)pthread_mutex_lock(&prefetch->mutex);
    for (rk_prefetcher_list *list = prefetch->lists; list; list = list->next)
        list->gave_up = false;
    (void)pthread_mutex_unlock(&prefetch->mutex);
    bool out = rk_prefetcher_close(prefetch, UINT64_MAX / 4);
    (void)out; // always true: there was no limit
    (void)pthread_cond_destroy(&prefetch->changed);
    (void)pthread_mutex_destroy(&prefetch->mutex);
    rk_free(prefetch);
}

// Adding a list.

static rk_err *start_threads(rk_prefetcher *prefetch) {
    unsigned target = prefetch->options.threads;
    if (target > RK_PREFETCHER_MAX_THREADS)
        target = RK_PREFETCHER_MAX_THREADS;
    while (prefetch->thread_count < target) {
        int error_number = rk_thread_start(rk_prefetcher_run, prefetch,
                                           &prefetch->threads[prefetch->thread_count]);
        if (error_number && prefetch->thread_count == 0)
            return rk_error_errno(error_number, "cannot start a thread to load executables");
        if (error_number)
            break; // fewer threads do all the work
        prefetch->thread_count++;
    }
    return NULL;
}

static int compare_digests(const void *a, const void *b) {
    return memcmp(a, b, sizeof(rk_digest));
}

// Fills the list with sorted jobs. After an error, the caller frees the list.
static rk_err *make_jobs(const rk_prefetcher_item *items, size_t count, rk_prefetcher_list *list) {
    rk_prefetcher_job *last = NULL;
    for (size_t i = 0; i < count; i++) {
        rk_prefetcher_job *job = rk_calloc(1, sizeof *job);
        if (!job)
            return rk_err_no_memory();
        job->what = items[i];
        // Items nearly always come in order; then the job is appended without a search.
        rk_prefetcher_job **link = last ? &last->next : &list->jobs;
        if (last && rk_prefetcher_comes_before(&items[i], &last->what))
            for (link = &list->jobs; !rk_prefetcher_comes_before(&items[i], &(*link)->what);)
                link = &(*link)->next;
        job->next = *link;
        *link = job;
        last = job->next ? last : job;
    }
    list->known = rk_calloc(count, sizeof *list->known);
    if (!list->known)
        return rk_err_no_memory();
    for (size_t i = 0; i < count; i++)
        list->known[i] = items[i].key.digest;
    qsort(list->known, count, sizeof *list->known, compare_digests);
    list->total.listed = count;
    return NULL;
}

static void free_list(rk_prefetcher_list *list) {
    for (rk_prefetcher_job *job = list->jobs, *next; job; job = next) {
        next = job->next;
        rk_free(job);
    }
    rk_free(list->known);
    rk_free(list);
}

static rk_err *insert_list(rk_prefetcher *prefetch, rk_prefetcher_list *list) {
    if (prefetch->closed || rk_prefetcher_find_list(prefetch, list->owner))
        return rk_error(RK_FAILED_PRECONDITION,
                        "the prefetcher is closed, or the owner has a list already");
    RK_TRY(start_threads(prefetch));
    list->next = prefetch->lists;
    prefetch->lists = list;
    atomic_fetch_add(&prefetch->list_count, 1);
    (void)pthread_cond_broadcast(&prefetch->changed);
    return NULL;
}

rk_err *rk_prefetcher_add(rk_prefetcher *prefetch, const void *owner, uint64_t number,
                          const rk_prefetcher_item *items, size_t count) {
    if (count == 0)
        return NULL;
    rk_prefetcher_list *list = rk_calloc(1, sizeof *list);
    rk_err *err = list ? make_jobs(items, count, list) : rk_err_no_memory();
    if (!err) {
        list->owner = owner;
        list->total.number = number;
        (void)pthread_mutex_lock(&prefetch->mutex);
        err = insert_list(prefetch, list);
        (void)pthread_mutex_unlock(&prefetch->mutex);
    }
    if (!err)
        return NULL;
    if (list)
        free_list(list);
    for (size_t i = 0; i < count; i++)
        prefetch->actions.release(items[i].context);
    return err;
}

// Requests.

// Of several jobs with one key, the one in the latest state.
static rk_prefetcher_job *find_job(const rk_prefetcher_list *list, const rk_key *key) {
    rk_prefetcher_job *best = NULL;
    for (rk_prefetcher_job *job = list->jobs; job; job = job->next)
        if (!job->awaited && !job->discarded && job->state <= RK_PREFETCHER_FAILED &&
            rk_key_equal(&job->what.key, key) && (!best || job->state > best->state))
            best = job;
    return best;
}

// Fills the claim from a job that is loaded or failed; consumes the job. Called with the mutex
// held.
static void hand_over(rk_prefetcher *prefetch, rk_prefetcher_list *list, rk_prefetcher_job *job,
                      rk_prefetcher_claim *out_claim) {
    out_claim->answer = job->answer;
    out_claim->context = job->what.context;
    out_claim->bytes = job->what.bytes;
    out_claim->load_ns = job->load_ns;
    if (job->state == RK_PREFETCHER_READY) {
        list->total.claimed++;
        prefetch->held--;
        prefetch->held_bytes -= job->what.bytes;
    }
    rk_prefetcher_unlink(prefetch, list, job);
    rk_free(job);
}

// Waits for a job that is being loaded. True if it was loaded, or if its entry was quarantined: the
// request must get that answer too.
static bool await(rk_prefetcher *prefetch, rk_prefetcher_list *list, rk_prefetcher_job *job,
                  uint64_t *out_waited_ns) {
    uint64_t start_ns = rk_steady_ns();
    job->awaited = true;
    prefetch->waiting++;
    (void)pthread_cond_broadcast(&prefetch->changed);
    while (job->state == RK_PREFETCHER_LOADING)
        (void)pthread_cond_wait(&prefetch->changed, &prefetch->mutex);
    prefetch->waiting--;
    *out_waited_ns = rk_steady_ns() - start_ns;
    list->total.waited += job->state == RK_PREFETCHER_READY;
    return job->state == RK_PREFETCHER_READY || job->answer.quarantined;
}

static bool take(rk_prefetcher *prefetch, rk_prefetcher_list *list, const rk_key *key,
                 rk_prefetcher_claim *out_claim) {
    rk_prefetcher_job *job = find_job(list, key);
    if (!job)
        return false;
    list->unlisted_in_a_row = 0;
    if (job->state == RK_PREFETCHER_LOADING && !await(prefetch, list, job, &out_claim->waited_ns)) {
        rk_prefetcher_unlink(prefetch, list, job);
        rk_prefetcher_free_job(prefetch, job);
        return false;
    }
    if (job->state == RK_PREFETCHER_QUEUED) {
        list->total.taken++;
        rk_prefetcher_unlink(prefetch, list, job);
        rk_prefetcher_free_job(prefetch, job);
        return false;
    }
    hand_over(prefetch, list, job, out_claim);
    return true;
}

bool rk_prefetcher_take(rk_prefetcher *prefetch, const void *owner, const rk_key *key,
                        rk_prefetcher_claim *out_claim) {
    *out_claim = (rk_prefetcher_claim){0};
    if (atomic_load_explicit(&prefetch->list_count, memory_order_relaxed) == 0)
        return false;
    (void)pthread_mutex_lock(&prefetch->mutex);
    rk_prefetcher_list *list = rk_prefetcher_find_list(prefetch, owner);
    bool taken = list && take(prefetch, list, key, out_claim);
    (void)pthread_mutex_unlock(&prefetch->mutex);
    return taken;
}

void rk_prefetcher_await_load(rk_prefetcher *prefetch, uint64_t timeout_ns) {
    if (atomic_load_explicit(&prefetch->list_count, memory_order_relaxed) == 0)
        return;
    uint64_t deadline_ns = rk_steady_ns() + timeout_ns;
    (void)pthread_mutex_lock(&prefetch->mutex);
    uint64_t ends = prefetch->load_ends;
    while (prefetch->loading > 0 && prefetch->load_ends == ends)
        if (!rk_cond_wait_until(&prefetch->changed, &prefetch->mutex, deadline_ns))
            break;
    (void)pthread_mutex_unlock(&prefetch->mutex);
}

static void meet(rk_prefetcher *prefetch, rk_prefetcher_list *list, const rk_key *key) {
    // A key that was ever on the list counts as listed, also if it is requested again or could not
    // be loaded.
    if (bsearch(&key->digest, list->known, list->total.listed, sizeof key->digest, compare_digests))
        list->unlisted_in_a_row = 0;
    else if (++list->unlisted_in_a_row >= UNLISTED_MAX && !list->total.departed) {
        list->total.departed = true;
        (void)rk_prefetcher_forget(prefetch, list->owner);
    }
}

void rk_prefetcher_note_request(rk_prefetcher *prefetch, const void *owner, const rk_key *key) {
    if (atomic_load_explicit(&prefetch->list_count, memory_order_relaxed) == 0)
        return;
    (void)pthread_mutex_lock(&prefetch->mutex);
    rk_prefetcher_list *list = rk_prefetcher_find_list(prefetch, owner);
    if (list)
        meet(prefetch, list, key);
    (void)pthread_mutex_unlock(&prefetch->mutex);
}

// The end of an owner or of the process.

// True if the owner (NULL: every owner) has no list left; then no thread is inside the plugin for
// it.
static bool is_out(const rk_prefetcher *prefetch, const void *owner) {
    return owner ? !rk_prefetcher_find_list(prefetch, owner) : !prefetch->lists;
}

// False if every list of the owner has already reached a timeout: no second wait.
static bool is_worth_waiting(const rk_prefetcher *prefetch, const void *owner) {
    for (const rk_prefetcher_list *list = prefetch->lists; list; list = list->next)
        if (rk_prefetcher_matches_owner(list, owner) && !list->gave_up)
            return true;
    return false;
}

static bool wait_until_out(rk_prefetcher *prefetch, const void *owner, uint64_t timeout_ns) {
    uint64_t deadline_ns = rk_steady_ns() + timeout_ns;
    while (is_worth_waiting(prefetch, owner))
        if (!rk_cond_wait_until(&prefetch->changed, &prefetch->mutex, deadline_ns))
            break;
    for (rk_prefetcher_list *list = prefetch->lists; list; list = list->next)
        list->gave_up |= rk_prefetcher_matches_owner(list, owner);
    return is_out(prefetch, owner);
}

// True on a thread of the prefetcher: the plugin called back from a load.
static bool is_own_thread(const rk_prefetcher *prefetch) {
    for (unsigned i = 0; i < prefetch->thread_count; i++)
        if (pthread_equal(prefetch->threads[i], pthread_self()))
            return true;
    return false;
}

bool rk_prefetcher_drain(rk_prefetcher *prefetch, const void *owner, uint64_t timeout_ns) {
    (void)pthread_mutex_lock(&prefetch->mutex);
    (void)rk_prefetcher_forget(prefetch, owner);
    bool out = wait_until_out(prefetch, owner, timeout_ns);
    (void)pthread_mutex_unlock(&prefetch->mutex);
    return out;
}

bool rk_prefetcher_close(rk_prefetcher *prefetch, uint64_t timeout_ns) {
    (void)pthread_mutex_lock(&prefetch->mutex);
    prefetch->closed = true;
    (void)pthread_cond_broadcast(&prefetch->changed);
    if (is_own_thread(prefetch)) { // exit() during a load: a wait would be for this thread
        (void)pthread_mutex_unlock(&prefetch->mutex);
        return true;
    }
    for (rk_prefetcher_list *list = prefetch->lists; list;) {
        bool is_new = !list->closing;
        list->closing = true;
        if (is_new)
            (void)rk_prefetcher_forget(prefetch, list->owner);
        list = is_new ? prefetch->lists : list->next; // the mutex was unlocked: start again
    }
    bool out = wait_until_out(prefetch, NULL, timeout_ns);
    unsigned count = out ? prefetch->thread_count : 0;
    prefetch->thread_count -= count;
    (void)pthread_mutex_unlock(&prefetch->mutex);
    for (unsigned i = 0; i < count; i++)
        (void)pthread_join(prefetch->threads[i], NULL);
    return out;
}
