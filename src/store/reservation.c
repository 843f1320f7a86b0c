#include "store/reservation_internal.h"

#include "base/alloc.h"
#include "base/older_libc.h"
#include "base/tree.h"
#include "store/evict_internal.h"
#include "store/gc_lock_internal.h"
#include "store/gc_other_internal.h"

enum {
    MANY_LOGS = 16, // with more logs, finished ones are folded
    WAIT_MS = 10000,
    POLL_MS = 20,
    FOLDERS = 256,
    SAMPLE_ENTRIES = 4096, // a store with at most so many files is visited in one batch
    FEWEST_FOLDERS = 16,
    // Once 1/n of the folders are visited, up to SAMPLE_SHARE/n of the goal is removed.
    SAMPLE_SHARE = 4,
    SLACK_DIVISOR = 20, // frees a further 1/20 of the limit, so that not every put evicts
};

// One eviction.
typedef struct eviction {
    rk_store *store;
    rk_survey survey;
    rk_usage_state *state; // owned
    rk_usage_table *gone;  // owned; files removed in the current batch
    uint64_t need_bytes;   // must be freed
    uint64_t goal_bytes;   // should be freed
    uint64_t freed_bytes;
    double worth; // of the new entry
} eviction;

static void eviction_cleanup(eviction *self) {
    rk_survey_cleanup(&self->survey);
    rk_usage_state_free(self->state);
    rk_free(self->gone);
}

static uint64_t sum_bytes(const rk_usage_state *state) {
    return (uint64_t)rk_usage_sum(state).bytes;
}

// Reads the usage account. Counts the store if it was never counted or its base is damaged.
static rk_err *read_known(const rk_store *store, rk_usage_state **out_state) {
    RK_TRY(rk_usage_read(store, out_state));
    if ((*out_state)->known)
        return NULL;
    rk_err *err = rk_usage_count_all(store, &(*out_state)->table);
    (*out_state)->known = true;
    return err ? err : rk_usage_publish_if_space(store, *out_state, NULL);
}

static void note_freed(void *context, const rk_evict_candidate *one) {
    eviction *self = context;
    self->freed_bytes += one->bytes;
}

static rk_err *remove_marked(eviction *self) {
    return rk_survey_remove_marked(&self->survey, self->gone, note_freed, self);
}

// Removes the candidates that are worth least, until `until_bytes` are freed. Skips recent ones.
static rk_err *remove_least(eviction *self, uint64_t until_bytes) {
    rk_survey *survey = &self->survey;
    uint64_t bytes = self->freed_bytes;
    rk_survey_sort(survey);
    for (size_t i = 0; i < survey->count && bytes < until_bytes; i++) {
        rk_evict_candidate *one = &survey->items[i];
        if (one->recent)
            break;
        one->marked = !one->pinned && !one->gone;
        bytes += one->marked ? one->bytes : 0;
    }
    return remove_marked(self);
}

// Removes entries that were used in the last hour, but only those that are worth less than the new
// entry, and only if that frees enough space.
static rk_err *remove_recent(eviction *self) {
    rk_survey *survey = &self->survey;
    RK_TRY(rk_survey_judge(survey, true, NULL));
    rk_survey_sort(survey);
    uint64_t bytes = self->freed_bytes;
    for (size_t i = 0; i < survey->count && bytes < self->need_bytes; i++) {
        rk_evict_candidate *one = &survey->items[i];
        one->marked = !one->pinned && !one->gone && one->worth < self->worth;
        bytes += one->marked ? one->bytes : 0;
    }
    if (bytes >= self->need_bytes)
        return remove_marked(self);
    for (size_t i = 0; i < survey->count; i++)
        survey->items[i].marked = false;
    return NULL;
}

// Ends a batch. The state has the counts of the folders before the removals. So it is published
// first, and the removals are recorded after it.
static rk_err *settle(eviction *self) {
    RK_TRY(rk_usage_publish_if_space(self->store, self->state, NULL));
    rk_err *err = rk_usage_note_table(self->store, self->gone);
    *self->gone = (rk_usage_table){0};
    return err;
}

static unsigned batch_folders(const rk_usage_state *state) {
    int64_t files = rk_usage_sum(state).files;
    if (files <= SAMPLE_ENTRIES)
        return FOLDERS;
    int64_t folders = (int64_t)FOLDERS * SAMPLE_ENTRIES / files;
    return folders < FEWEST_FOLDERS ? FEWEST_FOLDERS : (unsigned)folders;
}

// Visits folders in batches, beginning at a random one. After each batch, removes the candidates
// that are worth least among all visited so far.
static rk_err *visit(eviction *self) {
    enum { ODD_STEP = 167 };
    uint8_t first = 0;
    if (rk_getrandom(&first, sizeof first, GRND_NONBLOCK) != (ssize_t)sizeof first)
        first = (uint8_t)(rk_monotonic_ns() >> 10);
    unsigned batch = batch_folders(self->state);
    for (unsigned done = 0; done < FOLDERS && self->freed_bytes < self->goal_bytes;) {
        for (unsigned i = 0; i < batch && done < FOLDERS; i++, done++)
            RK_TRY(rk_survey_folder(&self->survey, (first + done * ODD_STEP) % FOLDERS,
                                    &self->state->table));
        RK_TRY(rk_survey_judge(&self->survey, false, NULL));
        unsigned share = SAMPLE_SHARE * done < FOLDERS ? SAMPLE_SHARE * done : FOLDERS;
        RK_TRY(remove_least(self, self->goal_bytes / FOLDERS * share + share));
        if (done == FOLDERS && self->freed_bytes < self->need_bytes)
            RK_TRY(remove_recent(self));
        RK_TRY(settle(self));
    }
    return NULL;
}

static rk_err *evict_locked(eviction *self, uint64_t limit) {
    rk_store *store = self->store;
    RK_TRY(read_known(store, &self->state));
    RK_TRY(rk_survey_begin(store, false, &self->survey));
    (void)rk_usage_find_finished(self->state, self->survey.clock.now_ns);
    RK_TRY(rk_others_collect(&self->survey, limit, NULL, &self->state->table, NULL));
    uint64_t sum = sum_bytes(self->state);
    if (sum <= limit)
        return rk_usage_publish(store, self->state);
    self->gone = rk_calloc(1, sizeof *self->gone);
    if (!self->gone)
        return rk_err_no_memory();
    self->need_bytes = sum - limit;
    self->goal_bytes = self->need_bytes + limit / SLACK_DIVISOR;
    rk_last_use_trim_clock(store);
    return visit(self);
}

// Evicts, or waits while another process evicts. `*out_fits`: the sum is within the limit now.
// After WAIT_MS without the lock, evicts without the lock.
static rk_err *evict(rk_store *store, uint64_t limit, double worth, bool *out_fits) {
    RK_AUTO(rk_gc_lock) lock = {0};
    for (unsigned waited_ms = 0;; waited_ms += POLL_MS) {
        RK_TRY(rk_gc_lock_try(store, &lock));
        RK_AUTO_USAGE state = NULL;
        RK_TRY(read_known(store, &state));
        *out_fits = sum_bytes(state) <= limit;
        if (lock.store || *out_fits || waited_ms >= WAIT_MS)
            break;
        rk_gc_lock_pause(POLL_MS);
    }
    if (*out_fits)
        return NULL;
    RK_AUTO(eviction) self = {.store = store, .worth = worth};
    RK_TRY(evict_locked(&self, limit));
    RK_AUTO_USAGE state = NULL;
    RK_TRY(read_known(store, &state));
    *out_fits = sum_bytes(state) <= limit;
    return NULL;
}

// Folds finished logs into the base, so that reading the sum takes only a few small files.
static rk_err *tidy(rk_store *store) {
    RK_AUTO(rk_gc_lock) lock = {0};
    RK_TRY(rk_gc_lock_try(store, &lock));
    if (!lock.store)
        return NULL;
    RK_AUTO_USAGE state = NULL;
    RK_TRY(read_known(store, &state));
    if (rk_usage_find_finished(state, rk_realtime_ns()) < MANY_LOGS / 2)
        return NULL;
    return rk_usage_publish(store, state);
}

static rk_err *refuse(const rk_store *store, uint64_t bytes, uint64_t limit) {
    return rk_error(RK_OUT_OF_RANGE,
                    "the store %s is full: of its %llu MB not enough can be evicted for a new "
                    "entry of %llu KB, since the entries in the store are pinned, were used in the "
                    "last hour, or save more compile time for their size; raise REKINDLE_MAX_SIZE",
                    store->directory, (unsigned long long)(limit / 1000000),
                    (unsigned long long)(bytes / 1000));
}

static rk_err *make_space(rk_store *store, uint64_t limit, uint64_t bytes, double worth) {
    if (rk_usage_has_space(store, bytes))
        return NULL;
    RK_AUTO_USAGE state = NULL;
    RK_TRY(read_known(store, &state));
    rk_usage_note_sum(store, sum_bytes(state));
    if (state->log_count > MANY_LOGS)
        rk_err_drop(tidy(store), "a later put tries again");
    if (sum_bytes(state) <= limit)
        return NULL;
    if (rk_usage_refuses(store, worth))
        return refuse(store, bytes, limit);
    bool fits = false;
    RK_TRY(evict(store, limit, worth, &fits));
    if (fits)
        return NULL;
    rk_usage_refuse(store, worth);
    return refuse(store, bytes, limit);
}

// Returns the change that storing the entry makes. Replacing an entry frees its old size.
static rk_usage_count change_of(const rk_store *store, rk_entry_kind kind, const char *hex,
                                uint64_t bytes) {
    RK_AUTO(rk_buf) path = {0};
    struct stat info;
    rk_store_add_path(store, kind, hex, &path);
    rk_err *err = rk_buf_status(&path);
    if (!err)
        err = rk_tree_stat(store->directory, rk_store_below(store, &path), &info);
    bool replaces = !err && S_ISREG(info.st_mode);
    rk_err_drop(err, "nothing is replaced, or the next count finds it");
    if (!replaces)
        return (rk_usage_count){1, (int64_t)bytes};
    return (rk_usage_count){0, (int64_t)bytes - (int64_t)info.st_size};
}

rk_err *rk_reservation_take(rk_store *store, const rk_entry *entry, const char *hex, uint64_t bytes,
                            rk_reservation *out_reservation) {
    *out_reservation = (rk_reservation){.pending = {1, (int64_t)bytes}};
    if (!store->usage)
        return NULL;
    uint64_t limit = rk_usage_limit(store);
    if (bytes > limit)
        return refuse(store, bytes, limit);
    RK_TRY(rk_usage_note(store, RK_PLACE_PENDING, out_reservation->pending));
    double worth = rk_evict_worth(entry->kind, bytes, entry->compile_ns, 0);
    rk_err *err = make_space(store, limit, bytes, worth);
    out_reservation->taken = true;
    out_reservation->change = change_of(store, entry->kind, hex, bytes);
    if (err) {
        rk_reservation_settle(store, out_reservation, entry->kind, hex, false);
        out_reservation->taken = false;
    }
    return err;
}

void rk_reservation_settle(rk_store *store, const rk_reservation *reservation, rk_entry_kind kind,
                           const char *hex, bool stored) {
    if (!reservation->taken)
        return;
    const rk_usage_count nothing = {0};
    if (!stored) // if only the last sync failed, the file is in place
        stored = change_of(store, kind, hex, (uint64_t)reservation->pending.bytes).bytes == 0;
    rk_err_drop(rk_usage_note_end(store, reservation->pending, rk_place_of(kind, hex),
                                  stored ? reservation->change : nothing),
                "it counts as pending until this process ends, and is found when it is counted");
    if (stored)
        rk_last_use_sample_clock(store, kind, hex);
}
