#include "diagnose/diff/runs.h"

#include "base/alloc.h"
#include "diagnose/diff/components.h"
#include "diagnose/diff/counterparts.h"
#include "diagnose/diff/known.h"
#include "diagnose/diff/runs_internal.h"

static void only_cleanup(rk_run_only_list *list) {
    for (size_t i = 0; i < list->count; i++)
        rk_program_diff_cleanup(&list->items[i].diff);
    rk_free(list->items);
}

void rk_run_diff_cleanup(rk_run_diff *diff) {
    rk_differences_cleanup(&diff->environment);
    only_cleanup(&diff->other_options);
    only_cleanup(&diff->other_environment);
    only_cleanup(&diff->again);
    only_cleanup(&diff->only_before);
    only_cleanup(&diff->only_after);
    *diff = (rk_run_diff){0};
}

// The distinct programs of a run, each with its first request, sorted by identity.
typedef struct programs {
    const rk_run_compile **items; // owned
    size_t count;
} programs;

static void programs_cleanup(programs *list) {
    rk_free(list->items);
}

static int by_identity(const void *a, const void *b) {
    const rk_run_compile *x = *(const rk_run_compile *const *)a;
    const rk_run_compile *y = *(const rk_run_compile *const *)b;
    int order = strcmp(rk_run_identity(x), rk_run_identity(y));
    return order ? order : x < y ? -1 : x > y; // requests are in order of time
}

static rk_err *collect(const rk_run_model *run, programs *out_list) {
    out_list->items = rk_calloc(run->compile_count + 1, sizeof(rk_run_compile *));
    if (!out_list->items)
        return rk_err_no_memory();
    for (size_t i = 0; i < run->compile_count; i++)
        out_list->items[i] = &run->compiles[i];
    qsort(out_list->items, run->compile_count, sizeof(rk_run_compile *), by_identity);
    for (size_t i = 0; i < run->compile_count; i++)
        if (i == 0 || strcmp(rk_run_identity(out_list->items[out_list->count - 1]),
                             rk_run_identity(out_list->items[i])) != 0)
            out_list->items[out_list->count++] = out_list->items[i];
    return NULL;
}

static bool has_key(const rk_run_model *run, const char *key) {
    for (size_t i = 0; i < run->compile_count; i++)
        if (strcmp(run->compiles[i].key, key) == 0)
            return true;
    return false;
}

// Returns whether the run requested this program under a key that the other run has, too.
static bool shares_key(const rk_run_model *run, const rk_run_compile *program,
                       const rk_run_model *other) {
    for (size_t i = 0; i < run->compile_count; i++)
        if (strcmp(rk_run_identity(&run->compiles[i]), rk_run_identity(program)) == 0 &&
            has_key(other, run->compiles[i].key))
            return true;
    return false;
}

static int by_time(const void *a, const void *b) {
    const rk_run_compile *x = ((const rk_run_only *)a)->request;
    const rk_run_compile *y = ((const rk_run_only *)b)->request;
    return x < y ? -1 : x > y;
}

static void sort_by_time(rk_run_only_list *list) {
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, by_time);
}

static rk_err *add_to_both(const rk_corpus *corpus, const rk_buf *removals, rk_recorded before,
                           rk_recorded after, rk_run_diff *diff) {
    bool shared = shares_key(before.run, before.request, after.run);
    diff->in_both++;
    diff->under_other_keys += !shared;
    return shared ? rk_run_add_again(corpus, removals, before, after, diff)
                  : rk_run_add_settings(corpus, before, after, diff);
}

static rk_err *split(const rk_run_model *before, const rk_run_model *after, const rk_corpus *corpus,
                     const rk_buf *removals, rk_run_diff *diff) {
    __attribute__((cleanup(programs_cleanup))) programs a = {0};
    __attribute__((cleanup(programs_cleanup))) programs b = {0};
    RK_TRY(collect(before, &a));
    RK_TRY(collect(after, &b));
    for (size_t i = 0, j = 0; i < a.count || j < b.count;) {
        int order = i == a.count ? 1
                    : j == b.count
                        ? -1
                        : strcmp(rk_run_identity(a.items[i]), rk_run_identity(b.items[j]));
        if (order < 0)
            RK_TRY(rk_run_add_only(&diff->only_before, corpus, a.items[i]));
        else if (order > 0)
            RK_TRY(rk_run_add_only(&diff->only_after, corpus, b.items[j]));
        else
            RK_TRY(add_to_both(corpus, removals, (rk_recorded){before, a.items[i]},
                               (rk_recorded){after, b.items[j]}, diff));
        i += order <= 0;
        j += order >= 0;
    }
    sort_by_time(&diff->other_options);
    sort_by_time(&diff->other_environment);
    sort_by_time(&diff->again);
    sort_by_time(&diff->only_before);
    sort_by_time(&diff->only_after);
    return NULL;
}

// Returns whether a program before it in the list shows the same change.
static bool is_known_change(const void *context, const rk_difference *difference) {
    const rk_run_only_list *list = context;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].nearest && rk_has_change(&list->items[i].diff.list, difference))
            return true;
    return false;
}

static bool is_better(const rk_known_diff *a, const rk_known_diff *b) {
    return a->elsewhere != b->elsewhere ? b->elsewhere : a->changes < b->changes;
}

// Compares a program with one of the other run, and keeps the comparison with the fewest changes.
static rk_err *try_counterpart(const rk_corpus *corpus, const rk_counterpart *counterpart,
                               const rk_loaded *later, rk_known_changes changes, rk_run_only *item,
                               rk_known_diff *best) {
    RK_AUTO(rk_known_diff) trial = {0};
    RK_TRY(rk_diff_known(corpus, counterpart->known, item->program, later, changes, &trial));
    if (trial.diff.cause == RK_CAUSE_FIRST ||
        (item->nearest && (counterpart->failed || !is_better(&trial, best))))
        return NULL;
    item->nearest = counterpart->request;
    item->similarity = counterpart->similarity;
    const rk_known_diff replaced = *best;
    *best = trial;
    trial = replaced;
    return NULL;
}

static bool has_program(const rk_run_model *run, const rk_run_compile *program) {
    for (size_t i = 0; i < run->compile_count; i++)
        if (strcmp(rk_run_identity(&run->compiles[i]), rk_run_identity(program)) == 0)
            return true;
    return false;
}

// Returns whether the program only reads a number, and was compared with a program that both runs
// have: it was added, and replaces nothing.
static bool is_new_read(const rk_run_model *after, const rk_run_only *item) {
    return item->nearest && rk_sketch_is_read(&item->program->sketch) &&
           has_program(after, item->nearest);
}

// Jobs run the framework's own operations for many shapes: none is a version of another one.
static void forgive(const rk_run_model *after, rk_run_only *item) {
    bool by_program = item->diff.cause >= RK_CAUSE_SHAPE && item->diff.cause <= RK_CAUSE_SHARDING;
    if (!by_program || !item->program->has_sketch ||
        !(rk_sketch_is_eager(&item->program->sketch) || is_new_read(after, item)))
        return;
    rk_program_diff_cleanup(&item->diff);
    item->nearest = NULL;
    item->similarity = 0;
}

// Compares with the programs of the other run, also with those that both runs requested. The items
// of the list before this one are compared already.
static rk_err *compare(const rk_corpus *corpus, const rk_start *before, const rk_start *after,
                       rk_run_only_list *list, size_t index) {
    rk_run_only *item = &list->items[index];
    RK_AUTO(rk_loaded) later = {0};
    RK_AUTO(rk_known_diff) best = {0};
    const rk_known_changes changes = {is_known_change, list};
    rk_counterparts found;
    rk_counterparts_find(before, after, (size_t)(item->request - after->run->compiles), &found);
    if (found.count)
        RK_TRY(rk_corpus_open(corpus, item->program, &later));
    for (size_t i = 0; i < found.count && (!item->nearest || best.changes > 1 || best.elsewhere);
         i++)
        RK_TRY(try_counterpart(corpus, &found.items[i], &later, changes, item, &best));
    item->diff = best.diff;
    best.diff = (rk_program_diff){0};
    forgive(after->run, item);
    return NULL;
}

static json_t *components_of(const rk_run_model *run) {
    for (size_t i = 0; i < run->client_count; i++)
        if (run->clients[i].components_json[0])
            return json_loads(run->clients[i].components_json, 0, NULL);
    return NULL;
}

// The framework's versions, which are stored with the programs. Owned; NULL if no program of the
// run was kept.
static rk_err *find_toolchain(const rk_run_model *run, const rk_corpus *corpus,
                              json_t **out_toolchain) {
    for (size_t i = 0; i < run->compile_count && !*out_toolchain; i++) {
        RK_AUTO(rk_loaded) loaded = {0};
        const char *key = run->compiles[i].key;
        const rk_known *known = *key ? rk_corpus_find(corpus, key) : NULL;
        // A program that another run compiled first has the versions of that run.
        if (!known || strcmp(known->run, run->run) != 0)
            continue;
        RK_TRY(rk_corpus_open(corpus, known, &loaded));
        *out_toolchain = json_incref(loaded.toolchain);
    }
    return NULL;
}

static rk_err *compare_environments(const rk_run_model *before, const rk_run_model *after,
                                    const rk_corpus *corpus, rk_differences *list) {
    json_t *a = components_of(before), *b = components_of(after), *x = NULL, *y = NULL;
    rk_err *err = find_toolchain(before, corpus, &x);
    if (!err)
        err = find_toolchain(after, corpus, &y);
    if (!err)
        err = rk_diff_toolchains(x, y, list);
    if (!err && a && b)
        err = rk_diff_components(a, b, list);
    json_decref(a);
    json_decref(b);
    json_decref(x);
    json_decref(y);
    return err;
}

rk_err *rk_diff_runs(const rk_run_model *before, const rk_run_model *after, const rk_corpus *corpus,
                     rk_run_diff *out_diff) {
    *out_diff = (rk_run_diff){0};
    RK_AUTO(rk_buf) removals = {0};
    RK_AUTO(rk_start) a = {0};
    RK_AUTO(rk_start) b = {0};
    RK_TRY(compare_environments(before, after, corpus, &out_diff->environment));
    if (corpus->store)
        RK_TRY(rk_removals_read(corpus->store, &removals));
    RK_TRY(split(before, after, corpus, &removals, out_diff));
    RK_TRY(rk_start_make(before, corpus, &a));
    RK_TRY(rk_start_make(after, corpus, &b));
    for (size_t i = 0; i < out_diff->only_after.count; i++)
        RK_TRY(compare(corpus, &a, &b, &out_diff->only_after, i));
    return rk_run_add_unread(&removals, out_diff);
}
