// Programs that both of two runs requested: under other keys, or compiled a second time. And
// programs of one name that cannot be compared.
#include "base/alloc.h"
#include "diagnose/diff/components.h"
#include "diagnose/diff/program_index.h"
#include "diagnose/diff/runs_internal.h"

const char *rk_run_identity(const rk_run_compile *request) {
    return request->program[0] ? request->program : request->name;
}

rk_err *rk_run_add_only(rk_run_only_list *list, const rk_corpus *corpus,
                        const rk_run_compile *request) {
    rk_run_only *items = rk_realloc(list->items, (list->count + 1) * sizeof *items);
    if (!items)
        return rk_err_no_memory();
    list->items = items;
    list->items[list->count++] =
        (rk_run_only){.request = request,
                      .program = request->key[0] ? rk_corpus_find(corpus, request->key) : NULL};
    return NULL;
}

// If both programs are in the store, compares all options and the environments by name.
static rk_err *compare_stored(const rk_corpus *corpus, const rk_run_compile *before,
                              const rk_run_compile *after, rk_program_diff *diff) {
    RK_AUTO(rk_loaded) earlier = {0};
    RK_AUTO(rk_loaded) later = {0};
    RK_AUTO(rk_differences) settings = {0};
    const rk_known *a = before->key[0] ? rk_corpus_find(corpus, before->key) : NULL;
    const rk_known *b = after->key[0] ? rk_corpus_find(corpus, after->key) : NULL;
    if (!a || !b)
        return NULL;
    RK_TRY(rk_corpus_open(corpus, a, &earlier));
    RK_TRY(rk_corpus_open(corpus, b, &later));
    if (!earlier.components || !later.components)
        return NULL;
    RK_TRY(rk_diff_toolchains(earlier.toolchain, later.toolchain, &settings));
    RK_TRY(rk_diff_components(earlier.components, later.components, &settings));
    return rk_join_components(diff, &settings);
}

static rk_run_only *last_of(rk_run_only_list *list) {
    return &list->items[list->count - 1];
}

rk_err *rk_run_add_settings(const rk_corpus *corpus, rk_recorded before, rk_recorded after,
                            rk_run_diff *diff) {
    RK_AUTO(rk_program_diff) settings = {0};
    RK_TRY(compare_stored(corpus, before.request, after.request, &settings));
    if (settings.cause == RK_CAUSE_FIRST)
        RK_TRY(rk_diff_recorded(corpus, before, after, &settings));
    rk_run_only_list *list =
        settings.cause == RK_CAUSE_OPTIONS ? &diff->other_options : &diff->other_environment;
    RK_TRY(rk_run_add_only(list, corpus, after.request));
    rk_run_only *item = last_of(list);
    item->nearest = before.request;
    item->similarity = 1;
    item->diff = settings;
    settings = (rk_program_diff){0};
    return NULL;
}

static bool same_key(const rk_run_hex a, const rk_run_hex b) {
    return *a && strcmp(a, b) == 0;
}

// Returns whether the run had the executable in the store: it loaded it, or stored it.
static bool had_executable(rk_recorded of) {
    if (of.request->outcome == RK_OUTCOME_HIT)
        return true;
    for (size_t i = 0; i < of.run->stored_count; i++)
        if (same_key(of.run->stored[i].key, of.request->key) && of.run->stored[i].stored)
            return true;
    return false;
}

// Why the later run compiled a program again that did not change.
static const char *find_reason(const rk_buf *removals, rk_recorded before, rk_recorded after,
                               rk_run_only *item) {
    item->diff.cause = RK_CAUSE_UNCACHEABLE;
    if (before.request->outcome == RK_OUTCOME_BYPASS || after.request->outcome == RK_OUTCOME_BYPASS)
        return "not stored, because it cannot be stored";
    if (strcmp(after.request->reason, "refresh") == 0) {
        item->diff.cause = RK_CAUSE_ENVIRONMENT;
        return "ignored (REKINDLE_MODE=refresh)";
    }
    if (!had_executable(before))
        return "not stored by run A";
    if (strcmp(after.request->reason, "absent") != 0) {
        item->diff.cause = RK_CAUSE_DAMAGED;
        return "unusable";
    }
    rk_removal removal = rk_removals_find(removals, after.request->key, before.request->time_ns,
                                          after.request->time_ns);
    item->diff.cause = rk_removal_cause(removal);
    return rk_removal_text(removal);
}

static rk_err *add_again(const rk_corpus *corpus, const rk_buf *removals, rk_recorded before,
                         rk_recorded after, rk_run_diff *diff) {
    RK_TRY(rk_run_add_only(&diff->again, corpus, after.request));
    rk_run_only *item = last_of(&diff->again);
    item->nearest = before.request;
    item->similarity = 1;
    const rk_difference plain = {.kind = RK_DIFFERENCE_ATTRIBUTE};
    const char *reason = find_reason(removals, before, after, item);
    const rk_difference_words words = {.op = rk_span_text("program"),
                                       .attribute = rk_span_text("executable"),
                                       .before = rk_span_text("stored"),
                                       .after = rk_span_text(reason)};
    return rk_differences_note(&item->diff.list, &plain, &words, &(rk_source){0});
}

// Returns the request of the run that had the program under this key; NULL if there is none.
static const rk_run_compile *find_sound(const rk_run_model *run, const rk_run_hex key) {
    for (size_t i = 0; i < run->compile_count; i++)
        if (same_key(run->compiles[i].key, key) && !run->compiles[i].failed)
            return &run->compiles[i];
    return NULL;
}

rk_err *rk_run_add_again(const rk_corpus *corpus, const rk_buf *removals, rk_recorded before,
                         rk_recorded after, rk_run_diff *diff) {
    const char *identity = rk_run_identity(after.request);
    if (before.run->start_ns > after.run->start_ns)
        return NULL;
    for (size_t i = 0; i < after.run->compile_count; i++) {
        const rk_run_compile *one = &after.run->compiles[i];
        const rk_run_compile *other = NULL;
        if (one->compiled && !one->failed && strcmp(rk_run_identity(one), identity) == 0)
            other = find_sound(before.run, one->key);
        if (other)
            return add_again(corpus, removals, (rk_recorded){before.run, other},
                             (rk_recorded){after.run, one}, diff);
    }
    return NULL;
}

static bool share_name(const rk_run_compile *a, const rk_run_compile *b) {
    return *a->name && rk_span_equal(rk_program_index_bare_name(rk_span_text(a->name)),
                                     rk_program_index_bare_name(rk_span_text(b->name)));
}

// Returns the first program of run A with this name that is no counterpart yet.
static rk_run_only *find_partner(rk_run_only_list *before, const rk_run_only *of) {
    for (size_t i = 0; i < before->count; i++) {
        rk_run_only *one = &before->items[i];
        if (share_name(one->request, of->request) && !one->unread_with &&
            (!one->program || !of->program))
            return one;
    }
    return NULL;
}

rk_err *rk_run_add_unread(const rk_buf *removals, rk_run_diff *diff) {
    for (size_t i = 0; i < diff->only_after.count; i++) {
        rk_run_only *item = &diff->only_after.items[i];
        rk_run_only *other = item->nearest ? NULL : find_partner(&diff->only_before, item);
        if (!other)
            continue;
        const rk_run_only *gone = other->program ? item : other;
        item->unread_with = other->request;
        item->unread_is_kept = other->program != NULL;
        other->unread_with = item->request;
        item->removal =
            rk_removals_find(removals, gone->request->key, gone->request->time_ns, UINT64_MAX);
    }
    return NULL;
}
