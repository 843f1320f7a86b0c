#include "cli/diff_runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/diff_view.h"
#include "cli/fail.h"
#include "cli/place.h"
#include "cli/run_names.h"
#include "cli/run_view.h"
#include "cli/term.h"
#include "cli/text.h"
#include "diagnose/diff/runs.h"

enum { SHOWN = 4, DIFFERENCES_SHOWN = 3, ENVIRONMENT_SHOWN = 8 };

static bool is_no_key(const char *text) {
    return text[strspn(text, "0123456789abcdef")] != '\0';
}

// The name of a run begins with its date.
static bool may_be_run(const char *text) {
    enum { DAY_CHARS = 8 };
    size_t digits = strspn(text, "0123456789");
    return digits > 0 && digits <= DAY_CHARS && text[digits] == '\0';
}

bool rk_diff_names_run(const char *text, const char *other) {
    return is_no_key(text) || (may_be_run(text) && is_no_key(other));
}

// Loads one of the two runs, with its events.
static rk_err *read_side(const char *directory, const char *prefix, rk_run_summary *side) {
    rk_autofree char *run = NULL;
    RK_AUTO(rk_run_model) model = {0};
    RK_TRY(rk_run_names_find(directory, prefix, &run));
    RK_TRY(rk_run_load(directory, run, &model));
    return rk_run_summary_of(&model, side);
}

static const char *name_of(const rk_run_only *item) {
    const char *name = item->request->name;
    return *name || !item->program || !item->program->has_sketch ? name
                                                                 : item->program->sketch.module;
}

// JSON.

static json_t *nearest_json(const rk_run_only *item) {
    if (!item->nearest)
        return json_null();
    json_t *object = rk_out_object();
    rk_out_set(object, "program", rk_out_string(item->nearest->program));
    rk_out_set(object, "key", rk_out_string(item->nearest->key));
    rk_out_set(object, "similarity", json_real(round(item->similarity * 1000) / 1000));
    return object;
}

static json_t *only_json(const rk_run_only *item, bool compared, bool stacks) {
    json_t *object = rk_out_object();
    rk_out_set(object, "program", rk_out_string(item->request->program));
    rk_out_set(object, "key", rk_out_string(item->request->key));
    rk_out_set(object, "name", rk_out_text(rk_span_text(name_of(item))));
    rk_out_set(object, "compiled", rk_out_bool(item->request->compiled));
    rk_out_set(object, "seconds", rk_out_seconds(item->request->compile_ns));
    if (!compared)
        return object;
    json_t *differences = rk_out_array();
    rk_diff_view_add_json(differences, &item->diff.list, stacks);
    rk_out_set(object, "cause", rk_out_string(rk_cause_name(item->diff.cause)));
    rk_out_set(object, "nearest", nearest_json(item));
    rk_out_set(object, "differences", differences);
    return object;
}

static json_t *list_json(const rk_run_only_list *list, bool compared, bool stacks) {
    json_t *array = rk_out_array();
    for (size_t i = 0; i < list->count; i++)
        rk_out_append(array, only_json(&list->items[i], compared, stacks));
    return array;
}

static void print_json(const rk_run_summary *a, const rk_run_summary *b, const rk_run_diff *diff,
                       bool stacks) {
    json_t *object = rk_out_object(), *programs = rk_out_object(), *environment = rk_out_array();
    rk_out_set(object, "a", rk_run_json(a));
    rk_out_set(object, "b", rk_run_json(b));
    rk_diff_view_add_json(environment, &diff->environment, stacks);
    rk_out_set(object, "environment", environment);
    rk_out_set(programs, "in_both", rk_out_uint(diff->in_both));
    rk_out_set(programs, "under_other_keys", rk_out_uint(diff->under_other_keys));
    rk_out_set(programs, "other_options", list_json(&diff->other_options, true, stacks));
    rk_out_set(programs, "only_a", list_json(&diff->only_before, false, stacks));
    rk_out_set(programs, "only_b", list_json(&diff->only_after, true, stacks));
    rk_out_set(object, "programs", programs);
    rk_out_print(object);
}

// Text.

static void print_side(const char *label, const rk_run_summary *s) {
    RK_AUTO(rk_buf) line = {0};
    rk_text_add_printable(&line, rk_span_text(s->run.run));
    rk_buf_add_text(&line, " of ");
    rk_text_add_printable(&line, rk_span_text(s->run.job));
    uint64_t requests = s->totals.hits + s->totals.misses + s->totals.bypassed;
    rk_buf_add_format(&line, ": %s request%s, %s compiled", rk_text_count(requests).text,
                      rk_text_plural(requests), rk_text_count(s->totals.compiled).text);
    if (s->totals.compiled)
        rk_buf_add_format(&line, " in %s", rk_text_seconds(s->totals.compile_ns).text);
    (void)printf("%s  ", label);
    rk_term_wrap(rk_need_text(&line), 3, 3, rk_term_columns(stdout), stdout);
}

static bool is_compared(const rk_run_only *item) {
    return item->nearest && item->diff.cause != RK_CAUSE_FIRST;
}

static void print_only(const rk_run_only *item, const rk_diff_how *how) {
    RK_AUTO(rk_buf) line = {0};
    rk_text_add_printable(&line, rk_span_text(name_of(item)));
    rk_buf_add_format(&line, "  %.12s", item->request->program);
    if (item->request->compiled)
        rk_buf_add_format(&line, "  compiled in %s",
                          rk_text_seconds(item->request->compile_ns).text);
    if (is_compared(item))
        rk_buf_add_format(&line, "  %s, compared with %.12s of A", rk_cause_name(item->diff.cause),
                          item->nearest->program);
    (void)printf("  ");
    rk_term_wrap(rk_need_text(&line), 2, 6, rk_term_columns(stdout), stdout);
    rk_diff_view_print_list(&item->diff.list, 6, how->all ? SIZE_MAX : DIFFERENCES_SHOWN,
                            how->stacks, stdout);
}

// Items to print.
typedef struct choice {
    const rk_run_only **items; // owned; the items are borrowed
    size_t count;
} choice;

static void choice_cleanup(choice *chosen) {
    rk_free(chosen->items);
}

static rk_err *choice_init(choice *chosen, size_t most) {
    chosen->items = rk_calloc(most + 1, sizeof(rk_run_only *));
    return chosen->items ? NULL : rk_err_no_memory();
}

static void add(choice *chosen, const rk_run_only *item) {
    chosen->items[chosen->count++] = item;
}

static int by_cost(const void *a, const void *b) {
    const rk_run_only *x = *(const rk_run_only *const *)a, *y = *(const rk_run_only *const *)b;
    if (x->request->compile_ns != y->request->compile_ns)
        return x->request->compile_ns < y->request->compile_ns ? 1 : -1;
    return x < y ? -1 : x > y; // the items of a list are in the order of their requests
}

// Prints the costliest items first.
static void print_choice(const char *title, choice *list, const rk_diff_how *how) {
    size_t most = how->all ? SIZE_MAX : SHOWN;
    if (!list->count)
        return;
    qsort(list->items, list->count, sizeof *list->items, by_cost);
    (void)printf("\n%s%s%s  %zu program%s\n", rk_style(RK_STYLE_BOLD, stdout), title,
                 rk_style(RK_STYLE_NONE, stdout), list->count, rk_text_plural(list->count));
    for (size_t i = 0; i < list->count && i < most; i++)
        print_only(list->items[i], how);
    if (list->count > most)
        (void)printf("  and %zu more: --all shows them\n", list->count - most);
}

static rk_err *print_other_options(const rk_run_only_list *list, const rk_diff_how *how) {
    __attribute__((cleanup(choice_cleanup))) choice all = {0};
    RK_TRY(choice_init(&all, list->count));
    for (size_t i = 0; i < list->count; i++)
        add(&all, &list->items[i]);
    print_choice("with other options", &all, how);
    return NULL;
}

// Returns whether a program of run B is compared with this one of run A.
static bool is_counterpart(const rk_run_only *item, const choice *changed) {
    for (size_t i = 0; i < changed->count; i++)
        if (strcmp(changed->items[i]->nearest->program, item->request->program) == 0)
            return true;
    return false;
}

static rk_err *print_one_sided(const rk_run_only_list *before, const rk_run_only_list *after,
                               const rk_diff_how *how) {
    __attribute__((cleanup(choice_cleanup))) choice changed = {0};
    __attribute__((cleanup(choice_cleanup))) choice gone = {0};
    __attribute__((cleanup(choice_cleanup))) choice added = {0};
    RK_TRY(choice_init(&changed, after->count));
    RK_TRY(choice_init(&added, after->count));
    RK_TRY(choice_init(&gone, before->count));
    for (size_t i = 0; i < after->count; i++)
        add(is_compared(&after->items[i]) ? &changed : &added, &after->items[i]);
    for (size_t i = 0; i < before->count; i++)
        if (!is_counterpart(&before->items[i], &changed))
            add(&gone, &before->items[i]);
    print_choice("changed from A", &changed, how);
    print_choice("only in A", &gone, how);
    print_choice("only in B", &added, how);
    return NULL;
}

static rk_err *print_text(const rk_run_summary *a, const rk_run_summary *b, const rk_run_diff *diff,
                          const rk_diff_how *how) {
    print_side("A", a);
    print_side("B", b);
    (void)printf("\n%zu program%s in both", diff->in_both, diff->in_both == 1 ? " is" : "s are");
    if (diff->under_other_keys)
        (void)printf(", %zu of them with other options or in another environment",
                     diff->under_other_keys);
    (void)printf(".\n");
    if (diff->environment.count) {
        (void)printf("\n%senvironment%s\n", rk_style(RK_STYLE_BOLD, stdout),
                     rk_style(RK_STYLE_NONE, stdout));
        rk_diff_view_print_list(&diff->environment, 2, how->all ? SIZE_MAX : ENVIRONMENT_SHOWN,
                                how->stacks, stdout);
    }
    RK_TRY(print_other_options(&diff->other_options, how));
    RK_TRY(print_one_sided(&diff->only_before, &diff->only_after, how));
    if (!diff->environment.count && !diff->under_other_keys && !diff->only_before.count &&
        !diff->only_after.count)
        (void)printf("Nothing differs in what the two runs requested, or where they ran.\n");
    return NULL;
}

rk_err *rk_diff_print_runs(const rk_settings *settings, const char *before, const char *after,
                           const rk_diff_how *how, bool json) {
    const char *directory = rk_settings_get(settings)->dir;
    RK_AUTO_STORE store = NULL;
    RK_AUTO(rk_run_summary) a = {0};
    RK_AUTO(rk_run_summary) b = {0};
    RK_AUTO(rk_corpus) corpus = {0};
    RK_AUTO(rk_run_diff) diff = {0};
    RK_TRY(read_side(directory, before, &a));
    RK_TRY(read_side(directory, after, &b));
    RK_TRY(rk_place_open_store(settings, true, &store));
    if (store)
        RK_TRY(rk_corpus_load(store, (rk_corpus_watch){0}, &corpus));
    RK_TRY(rk_diff_runs(&a.run, &b.run, &corpus, &diff));
    if (!json)
        return print_text(&a, &b, &diff, how);
    print_json(&a, &b, &diff, how->stacks);
    return NULL;
}
