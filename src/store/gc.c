#include "store/gc.h"

#include "base/alloc.h"
#include "base/tree.h"
#include "store/evict_internal.h"
#include "store/gc_lock_internal.h"
#include "store/gc_other_internal.h"
#include "store/lease.h"
#include "store/loads.h"

enum { WAIT_MS = 30000, FOLDERS = 256 };

// One collection.
typedef struct collection {
    const rk_gc_options *options;
    rk_survey survey;
    rk_usage_state *state; // owned
    rk_usage_table *gone;  // owned
    rk_gc_report *report;
} collection;

static void collection_cleanup(collection *self) {
    rk_survey_cleanup(&self->survey);
    rk_usage_state_free(self->state);
    rk_free(self->gone);
}

static void add(rk_gc_total *total, uint64_t bytes) {
    total->files++;
    total->bytes += bytes;
}

static rk_gc_total total_of(const rk_usage_state *state) {
    rk_usage_count sum = rk_usage_sum(state);
    return (rk_gc_total){(uint64_t)sum.files, (uint64_t)sum.bytes};
}

static void note_removed(void *context, const rk_evict_candidate *one) {
    collection *self = context;
    bool program = one->kind == RK_ENTRY_PROGRAM;
    add(program ? &self->report->programs : &self->report->executables, one->bytes);
    self->report->lost_compile_ns += program ? 0 : one->compile_ns;
    const rk_gc_removal removal = {
        .what = program ? "program" : "executable",
        .name = one->hex,
        .bytes = one->bytes,
        .age_ns = one->age_ns,
        .compile_ns = one->compile_ns,
        .worth = one->worth,
    };
    if (self->options->removed)
        self->options->removed(self->options->context, &removal);
}

static rk_err *remove_marked(collection *self) {
    return rk_survey_remove_marked(&self->survey, self->gone, note_removed, self);
}

static rk_err *remove_old(collection *self) {
    rk_survey *survey = &self->survey;
    for (size_t i = 0; i < survey->count; i++) {
        rk_evict_candidate *one = &survey->items[i];
        if (!one->belongs || one->age_ns < self->options->older_than_ns)
            continue;
        if (one->pinned)
            add(&self->report->pinned, one->bytes);
        else
            one->marked = true;
    }
    return remove_marked(self);
}

// Returns the bytes that count towards max_bytes: of the whole store, or with a filter, of the
// entries that the filter accepts.
static uint64_t measured_bytes(const collection *self) {
    uint64_t bytes = 0;
    if (!self->options->belongs) {
        int64_t gone = 0;
        for (unsigned place = 0; place < RK_PLACE_COUNT; place++)
            gone += self->gone->places[place].bytes;
        return (uint64_t)rk_usage_sum(self->state).bytes - (uint64_t)-gone;
    }
    for (size_t i = 0; i < self->survey.count; i++) {
        const rk_evict_candidate *one = &self->survey.items[i];
        bytes += one->belongs && !one->gone ? one->bytes : 0;
    }
    return bytes;
}

static rk_err *remove_least(collection *self) {
    rk_survey *survey = &self->survey;
    uint64_t bytes = measured_bytes(self);
    rk_survey_sort(survey);
    for (size_t i = 0; i < survey->count && bytes > self->options->max_bytes; i++) {
        rk_evict_candidate *one = &survey->items[i];
        if (!one->belongs || one->gone)
            continue;
        if (one->pinned)
            add(&self->report->pinned, one->bytes);
        else if (one->recent && !self->options->recent_too)
            add(&self->report->recent, one->bytes);
        else
            one->marked = true;
        bytes -= one->marked ? one->bytes : 0;
    }
    return remove_marked(self);
}

static rk_err *visit_all(collection *self) {
    for (unsigned i = 0; i < FOLDERS; i++) {
        if (self->options->progress)
            self->options->progress(self->options->context, i, FOLDERS);
        RK_TRY(rk_survey_folder(&self->survey, i, &self->state->table));
    }
    return NULL;
}

static void report_leftovers(collection *self) {
    const rk_usage_count *left = &self->survey.leftovers;
    self->report->leftovers = (rk_gc_total){(uint64_t)left->files, (uint64_t)left->bytes};
    const rk_gc_removal removal = {
        .what = "leftover", .name = "of dead writers", .bytes = (uint64_t)left->bytes};
    if (left->files && self->options->removed)
        self->options->removed(self->options->context, &removal);
}

static rk_err *collect(collection *self, rk_store *store) {
    const rk_gc_options *options = self->options;
    RK_TRY(rk_usage_read(store, &self->state));
    RK_TRY(rk_survey_begin(store, options->dry_run, &self->survey));
    self->survey.removal = RK_REMOVAL_COLLECTED;
    (void)rk_usage_find_finished(self->state, self->survey.clock.now_ns);
    RK_TRY(visit_all(self));
    report_leftovers(self);
    rk_usage_table *table = &self->state->table;
    for (unsigned place = RK_PLACE_QUARANTINE; place < RK_PLACE_COUNT; place++)
        RK_TRY(rk_usage_count_place(store, place, &table->places[place]));
    self->report->before = total_of(self->state);
    if (!options->belongs) // with a filter, max_bytes is not the cap of the store
        RK_TRY(rk_others_collect(&self->survey, options->max_bytes, options, table, self->report));
    bool by_age = options->older_than_ns != UINT64_MAX;
    bool by_size = options->max_bytes != UINT64_MAX &&
                   (options->belongs || measured_bytes(self) > options->max_bytes);
    if (by_age || by_size)
        RK_TRY(rk_survey_judge(&self->survey, true, options));
    rk_err *err = by_age ? remove_old(self) : NULL;
    if (!err && by_size)
        err = remove_least(self);
    return err;
}

// Subtracts the removed files and publishes the account, also after a collection that failed.
static rk_err *publish(collection *self, rk_store *store) {
    for (unsigned place = 0; place < RK_PLACE_COUNT; place++) {
        self->state->table.places[place].files += self->gone->places[place].files;
        self->state->table.places[place].bytes += self->gone->places[place].bytes;
    }
    self->report->after = total_of(self->state);
    if (self->options->dry_run)
        return NULL;
    bool published = false;
    RK_TRY(rk_usage_publish_if_space(store, self->state, &published));
    if (!published)
        rk_err_drop(rk_usage_note_table(store, self->gone), "a later collection counts again");
    return NULL;
}

// Removes leftovers of dead processes in folders without entries. A visit to a folder of entries
// removes the leftovers there.
static void sweep(rk_store *store) {
    static const char *const folders[] = {"", "usage", "plugins", "pins", RK_LOADS_FOLDER};
    for (size_t i = 0; i < RK_ARRAY_LEN(folders); i++)
        rk_err_drop(rk_tree_sweep(store->directory, folders[i], 0, NULL),
                    "it is not there, or swept another time");
    rk_err_drop(rk_lease_sweep(store, NULL), "they are swept by the next process that takes one");
    rk_err_drop(rk_loads_judge(store, NULL, RK_DEATH_UNKNOWN, 0), "the next start judges them");
}

rk_err *rk_store_gc(rk_store *store, const rk_gc_options *options, rk_gc_report *out_report) {
    *out_report = (rk_gc_report){0};
    RK_AUTO(rk_gc_lock) lock = {0};
    if (!options->dry_run) {
        if (store->readonly)
            return rk_error(RK_PERMISSION_DENIED, "the store %s is open for reading only",
                            store->directory);
        RK_TRY(rk_gc_lock_wait(store, WAIT_MS, &lock));
        if (!lock.store)
            return rk_error(RK_UNAVAILABLE,
                            "another process is removing entries from %s and has not finished "
                            "within %d seconds: try again later",
                            store->directory, WAIT_MS / 1000);
        rk_last_use_trim_clock(store);
        sweep(store);
    }
    RK_AUTO(collection)
    self = {.options = options, .report = out_report, .gone = rk_calloc(1, sizeof *self.gone)};
    if (!self.gone)
        return rk_err_no_memory();
    rk_err *err = collect(&self, store);
    // After an error, places that were not visited keep their old counts. So the account can be
    // published only if it was known before.
    bool countable = self.state && (self.state->known || !err);
    rk_err *publish_err = countable ? publish(&self, store) : NULL;
    if (err) {
        rk_err_drop(publish_err, "the first error says more");
        return err;
    }
    return publish_err;
}
