#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sys.h"
#include "cli/place.h"
#include "cli/run_keep.h"
#include "cli/run_names.h"
#include "cli/run_view.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/verbs.h"

static void add_row(rk_table *table, const rk_run_summary *summary) {
    const rk_run_model *model = &summary->run;
    const rk_run_totals *totals = &summary->totals;
    uint64_t now = rk_realtime_ns();
    rk_run_state state = rk_run_state_of(model);
    rk_table_add(table, RK_STYLE_NONE, model->run);
    rk_table_add(table, RK_STYLE_NONE, model->job);
    rk_table_add(table, RK_STYLE_DIM,
                 model->start_ns == 0    ? "?"
                 : now > model->start_ns ? rk_text_age(now - model->start_ns).text
                                         : rk_text_age(0).text);
    rk_table_add(table, RK_STYLE_NONE, rk_text_seconds(rk_run_duration_ns(model)).text);
    rk_table_add(table, RK_STYLE_NONE, rk_text_count(totals->programs).text);
    rk_table_add(table, totals->hits > 0 ? RK_STYLE_GOOD : RK_STYLE_NONE,
                 rk_text_count(totals->hits).text);
    rk_table_add(table, totals->compiled > 0 ? RK_STYLE_NOTICE : RK_STYLE_NONE,
                 rk_text_count(totals->compiled).text);
    rk_table_add(table, state == RK_RUN_CUT_SHORT ? RK_STYLE_NOTICE : RK_STYLE_NONE,
                 rk_run_state_text(state));
}

// Adds the last `last` runs to `list`, or to `table` if `list` is NULL. Leaves out unreadable runs.
static rk_err *each_run(const rk_settings *settings, const rk_run_names *names, size_t last,
                        rk_table *table, json_t *list) {
    const char *directory = rk_settings_get(settings)->dir;
    RK_AUTO(rk_run_keeper) keeper = rk_run_keeper_start(settings);
    size_t first = last < names->count ? names->count - last : 0;
    rk_progress progress = rk_progress_start("reading runs");
    for (size_t i = first; i < names->count; i++) {
        rk_progress_step(&progress, i - first, names->count - first);
        RK_AUTO(rk_run_summary) summary = {0};
        rk_err *err = rk_run_summary_load(directory, names->items[i], &summary);
        if (err) {
            rk_progress_end(&progress);
            rk_log_warn("run %s is left out: %s", names->items[i], rk_err_message(err));
            rk_err_drop(err, "the other runs can still be shown");
            continue;
        }
        if (list)
            rk_out_append(list, rk_run_json(&summary));
        else
            add_row(table, &summary);
        rk_run_keep(&keeper, &summary);
    }
    rk_progress_end(&progress);
    return NULL;
}

static rk_err *show(const rk_settings *settings, size_t last, bool json) {
    static const rk_table_column columns[] = {
        {.title = "RUN", .least = 20},
        {.title = "JOB", .least = 8},
        {.title = "STARTED", .right = true, .optional = true}, // the run's name has it, too
        {.title = "TOOK", .right = true},
        {.title = "PROGRAMS", .right = true},
        {.title = "HITS", .right = true},
        {.title = "COMPILED", .right = true},
        {.title = "STATE"},
    };
    const char *directory = rk_settings_get(settings)->dir;
    RK_AUTO(rk_run_names) names = {0};
    RK_AUTO(rk_table) table = RK_TABLE_INIT(columns);
    RK_TRY(rk_run_names_collect(directory, &names));
    if (json) {
        json_t *object = rk_out_object(), *list = rk_out_array();
        rk_err *err = each_run(settings, &names, last, NULL, list);
        rk_out_set(object, "runs", list);
        if (err)
            json_decref(object);
        else
            rk_out_print(object);
        return err;
    }
    if (names.count == 0) {
        rk_place_print_nothing_yet(settings);
        return NULL;
    }
    RK_TRY(each_run(settings, &names, last, &table, NULL));
    rk_table_print(&table, rk_term_columns(stdout), stdout);
    return NULL;
}

static rk_err *parse_last(const char *text, size_t *out_last) {
    *out_last = SIZE_MAX;
    if (!text)
        return NULL;
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || value == 0)
        return rk_error(RK_INVALID_ARGUMENT, "--last takes a number from 1, not '%s'", text);
    *out_last = value;
    return NULL;
}

static struct {
    const char *last_text;
    size_t last; // from `last_text`
} given;

static rk_err *check(const rk_verb_call *call) {
    (void)call;
    return parse_last(given.last_text, &given.last);
}

static rk_err *run(rk_verb_call *call) {
    return show(call->settings, given.last, call->json);
}

static const rk_opt options[] = {
    RK_OPT_VALUE("last", 'n', &given.last_text, "N", "only the last N runs"),
    RK_VERB_JSON,
    RK_VERB_DIR,
};

static const rk_opt_usage usage = {
    .verb = "runs",
    .summary = "Lists all runs, newest last.",
    .details = "Cut short: a signal killed the command, or it crashed. Not known: a process left "
               "without the usual clean-up (os._exit, or killed), and `rekindle run` was not "
               "there to see why.\n",
    .options = options,
    .option_count = RK_ARRAY_LEN(options),
};

const rk_verb rk_verb_runs = {
    .brief = "list all runs",
    .usage = &usage,
    .settings = RK_VERB_SETTINGS_OF_RUNS,
    .check = check,
    .run = run,
};
