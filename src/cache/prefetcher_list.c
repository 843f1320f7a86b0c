// The lists of a prefetcher, and the jobs on them.
#include "base/alloc.h"
#include "cache/prefetcher_internal.h"

bool rk_prefetcher_comes_before(const rk_prefetcher_item *a, const rk_prefetcher_item *b) {
    if (a->stale != b->stale)
        return b->stale;
    return a->wanted_ns < b->wanted_ns;
}

bool rk_prefetcher_matches_owner(const rk_prefetcher_list *list, const void *owner) {
    return !owner || list->owner == owner;
}

rk_prefetcher_list *rk_prefetcher_find_list(const rk_prefetcher *prefetch, const void *owner) {
    for (rk_prefetcher_list *list = prefetch->lists; list; list = list->next)
        if (list->owner == owner)
            return list;
    return NULL;
}

static void remove_list(rk_prefetcher *prefetch, rk_prefetcher_list *list) {
    rk_prefetcher_list **link = &prefetch->lists;
    while (*link != list)
        link = &(*link)->next;
    *link = list->next;
    atomic_fetch_sub(&prefetch->list_count, 1);
    if (prefetch->options.settled)
        prefetch->options.settled(&list->total);
    rk_free(list->known);
    rk_free(list);
}

void rk_prefetcher_unlink(rk_prefetcher *prefetch, rk_prefetcher_list *list,
                          rk_prefetcher_job *job) {
    rk_prefetcher_job **link = &list->jobs;
    while (*link != job)
        link = &(*link)->next;
    *link = job->next;
    if (!list->jobs)
        remove_list(prefetch, list);
    (void)pthread_cond_broadcast(&prefetch->changed);
}

void rk_prefetcher_free_job(const rk_prefetcher *prefetch, rk_prefetcher_job *job) {
    rk_answer_cleanup(&job->answer);
    prefetch->actions.release(job->what.context);
    rk_free(job);
}

void rk_prefetcher_waste(rk_prefetcher *prefetch, rk_prefetcher_list *list,
                         rk_prefetcher_job *job) {
    job->state = RK_PREFETCHER_DESTROYING;
    list->total.wasted++;
    list->total.wasted_load_ns += job->load_ns;
    (void)pthread_mutex_unlock(&prefetch->mutex);
    prefetch->actions.destroy(job->what.context, RK_TAKE(job->answer.handle));
    (void)pthread_mutex_lock(&prefetch->mutex);
    prefetch->held--;
    prefetch->held_bytes -= job->what.bytes;
    rk_prefetcher_unlink(prefetch, list, job);
    rk_prefetcher_free_job(prefetch, job); // no plugin call, so it may run with the mutex held
}
