#include "cli/diff_runs.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/diff_runs_internal.h"
#include "cli/place.h"
#include "cli/run_command.h"
#include "cli/run_names.h"
#include "cli/run_view.h"

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

static void run_cleanup(rk_diff_run *run) {
    rk_run_summary_cleanup(&run->summary);
    rk_buf_cleanup(&run->command);
    rk_buf_cleanup(&run->number);
}

// Loads one of the two runs, with its events.
static rk_err *read_side(const char *directory, const char *prefix, const rk_run_names *names,
                         rk_diff_run *side) {
    rk_autofree char *run = NULL;
    RK_AUTO(rk_run_model) model = {0};
    RK_TRY(rk_run_names_find(directory, prefix, &run));
    RK_TRY(rk_run_load(directory, run, &model));
    rk_run_command_add(directory, &model, &side->command);
    rk_run_names_refer(names, run, &side->number);
    return rk_run_summary_of(&model, &side->summary);
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
    rk_out_set(object, "name", rk_out_text(rk_span_text(rk_diff_runs_name(item))));
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

static json_t *programs_json(const rk_run_diff *diff, bool stacks) {
    json_t *programs = rk_out_object();
    rk_out_set(programs, "in_both", rk_out_uint(diff->in_both));
    rk_out_set(programs, "under_other_keys", rk_out_uint(diff->under_other_keys));
    rk_out_set(programs, "other_options", list_json(&diff->other_options, true, stacks));
    rk_out_set(programs, "other_environment", list_json(&diff->other_environment, true, stacks));
    rk_out_set(programs, "again", list_json(&diff->again, true, stacks));
    rk_out_set(programs, "only_a", list_json(&diff->only_before, false, stacks));
    rk_out_set(programs, "only_b", list_json(&diff->only_after, true, stacks));
    return programs;
}

static json_t *side_json(const rk_diff_run *side) {
    json_t *object = rk_run_json(&side->summary);
    rk_out_set(object, "command",
               side->command.len ? rk_out_text(rk_buf_span(&side->command)) : json_null());
    return object;
}

static void print_json(const rk_diff_run *a, const rk_diff_run *b, const rk_run_diff *diff,
                       bool stacks) {
    json_t *object = rk_out_object(), *environment = rk_out_array();
    rk_out_set(object, "a", side_json(a));
    rk_out_set(object, "b", side_json(b));
    rk_diff_view_add_json(environment, &diff->environment, stacks);
    rk_out_set(object, "environment", environment);
    rk_out_set(object, "programs", programs_json(diff, stacks));
    rk_out_print(object);
}

rk_err *rk_diff_print_runs(const rk_settings *settings, const char *before, const char *after,
                           const rk_diff_how *how, bool json) {
    const char *directory = rk_settings_get(settings)->dir;
    RK_AUTO_STORE store = NULL;
    RK_AUTO(rk_run_names) names = {0};
    __attribute__((cleanup(run_cleanup))) rk_diff_run a = {0};
    __attribute__((cleanup(run_cleanup))) rk_diff_run b = {0};
    RK_AUTO(rk_corpus) corpus = {0};
    RK_AUTO(rk_run_diff) diff = {0};
    RK_TRY(rk_run_names_collect(directory, &names));
    RK_TRY(read_side(directory, before, &names, &a));
    RK_TRY(read_side(directory, after, &names, &b));
    RK_TRY(rk_place_open_store(settings, true, &store));
    if (store)
        RK_TRY(rk_corpus_load(store, (rk_corpus_watch){0}, &corpus));
    RK_TRY(rk_diff_runs(&a.summary.run, &b.summary.run, &corpus, &diff));
    if (!json)
        return rk_diff_runs_print(&a, &b, &diff, how);
    print_json(&a, &b, &diff, how->stacks);
    return NULL;
}
