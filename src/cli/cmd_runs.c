#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sys.h"
#include "cli/fail.h"
#include "cli/place.h"
#include "cli/run_command.h"
#include "cli/run_keep.h"
#include "cli/run_names.h"
#include "cli/run_view.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/verbs.h"

// What a row needs besides the run.
typedef struct view {
    const char *directory;
    rk_run_names names;
    const char **sorted; // owned; the names by bytes
    bool on_terminal;    // names are cut, as far as they stay different
    bool is_narrow;      // a terminal without space for all columns
    bool all;            // --all was given
    size_t ran_bytes;    // how much of a command line is shown
} view;

static int by_bytes(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void sort_names(view *v) {
    v->sorted = rk_need(rk_calloc(v->names.count + 1, sizeof *v->sorted));
    for (size_t i = 0; i < v->names.count; i++)
        v->sorted[i] = v->names.items[i];
    qsort(v->sorted, v->names.count, sizeof *v->sorted, by_bytes);
}

static size_t common_bytes(const char *a, const char *b) {
    size_t len = 0;
    while (a[len] && a[len] == b[len])
        len++;
    return len;
}

// The length of the beginning of a name that is shown: the date and time, and what makes it
// different from all others. `--run` takes it.
static size_t shown_bytes(const view *v, const char *name) {
    enum { DATE_BYTES = 16 }; // 20261121T130235Z
    size_t len = strlen(name), needed = DATE_BYTES;
    const char **at = bsearch(&name, v->sorted, v->names.count, sizeof *v->sorted, by_bytes);
    if (!at || !v->on_terminal)
        return len;
    size_t i = (size_t)(at - v->sorted);
    size_t before = i > 0 ? common_bytes(name, v->sorted[i - 1]) + 1 : 0;
    size_t after = i + 1 < v->names.count ? common_bytes(name, v->sorted[i + 1]) + 1 : 0;
    needed = before > needed ? before : needed;
    needed = after > needed ? after : needed;
    return needed < len ? needed : len;
}

static void add_name(rk_table *table, const view *v, const char *name, size_t back) {
    RK_AUTO(rk_buf) text = RK_BUF_INIT(0);
    rk_buf_add_format(&text, "-%zu", back);
    rk_table_add(table, RK_STYLE_DIM, rk_need_text(&text));
    rk_buf_clear(&text);
    rk_buf_add(&text, name, shown_bytes(v, name));
    rk_table_add(table, RK_STYLE_NONE, rk_need_text(&text));
}

// On a terminal, the end of a long command line is cut; `--all` and `rekindle stats` show all of
// it.
static void add_command(const view *v, const rk_run_model *model, rk_buf *out) {
    RK_AUTO(rk_buf) command = RK_BUF_INIT(0);
    rk_run_command_add(v->directory, model, &command);
    const char *text = command.len ? rk_need_text(&command) : "?";
    size_t fit = rk_text_fit(text, v->ran_bytes);
    rk_buf_add(out, text, fit);
    rk_buf_add_text(out, text[fit] ? rk_term_ellipsis() : "");
}

static void add_state(rk_table *table, const rk_run_model *model) {
    rk_run_state state = rk_run_state_of(model);
    RK_AUTO(rk_buf) text = RK_BUF_INIT(0);
    bool failed = rk_run_has_failed(model);
    if (failed)
        rk_buf_add_format(&text, "exit %u", model->command.exit_status);
    else
        rk_buf_add_text(&text, rk_run_state_text(state));
    rk_table_add(table, failed || state == RK_RUN_CUT_SHORT ? RK_STYLE_NOTICE : RK_STYLE_NONE,
                 rk_need_text(&text));
}

static void add_row(rk_table *table, const view *v, size_t index, const rk_run_summary *summary) {
    const rk_run_model *model = &summary->run;
    const rk_run_totals *totals = &summary->totals;
    RK_AUTO(rk_buf) command = RK_BUF_INIT(0);
    uint64_t now = rk_realtime_ns();
    add_name(table, v, model->run, v->names.count - index);
    add_command(v, model, &command);
    rk_table_add(table, RK_STYLE_BOLD, rk_need_text(&command));
    if (!v->is_narrow)
        rk_table_add(table, RK_STYLE_DIM,
                     model->start_ns == 0    ? "?"
                     : now > model->start_ns ? rk_text_age(now - model->start_ns).text
                                             : rk_text_age(0).text);
    rk_table_add(table, RK_STYLE_NONE, rk_text_seconds(rk_run_duration_ns(model)).text);
    if (!v->is_narrow)
        rk_table_add(table, RK_STYLE_NONE,
                     rk_text_count(totals->hits + totals->misses + totals->bypassed).text);
    rk_table_add(table, totals->hits > 0 ? RK_STYLE_GOOD : RK_STYLE_NONE,
                 rk_text_count(totals->hits).text);
    uint64_t compiled = totals->compiled - totals->failed; // as in the verdict of `stats`
    rk_table_add(table, compiled > 0 ? RK_STYLE_NOTICE : RK_STYLE_NONE,
                 rk_text_count(compiled).text);
    add_state(table, model);
    if (!v->on_terminal)
        rk_table_add(table, RK_STYLE_NONE, model->job);
}

// Adds the last `last` runs to `list`, or to `table` if `list` is NULL. Leaves out unreadable runs.
static rk_err *each_run(const rk_settings *settings, const view *v, size_t last, rk_table *table,
                        json_t *list) {
    const rk_run_names *names = &v->names;
    RK_AUTO(rk_run_keeper) keeper = rk_run_keeper_start(settings);
    size_t first = last < names->count ? names->count - last : 0;
    rk_progress progress = rk_progress_start("reading runs");
    for (size_t i = first; i < names->count; i++) {
        rk_progress_step(&progress, i - first, names->count - first);
        RK_AUTO(rk_run_summary) summary = {0};
        rk_err *err = rk_run_summary_load(v->directory, names->items[i], &summary);
        if (err) {
            rk_progress_end(&progress);
            rk_log_warn("run %s is left out: %s", names->items[i], rk_err_message(err));
            rk_err_drop(err, "the other runs can still be shown");
            continue;
        }
        if (list)
            rk_out_append(list, rk_run_json(&summary));
        else
            add_row(table, v, i, &summary);
        rk_run_keep(&keeper, &summary);
    }
    rk_progress_end(&progress);
    return NULL;
}

static void print_end(const view *v, size_t last) {
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    if (!v->on_terminal)
        return;
    if (last < v->names.count)
        rk_buf_add_format(&line, "The last %zu of %zu runs%s. ", last, v->names.count,
                          v->all ? "" : ": --all shows all of them");
    rk_buf_add_text(&line, "`rekindle stats");
    rk_verb_add_dir(&line);
    rk_buf_add_text(&line, " --run -1` and `rekindle explain");
    rk_verb_add_dir(&line);
    rk_buf_add_text(&line, " --run -1` show one: its number (-1 is the last), or its name.");
    (void)putchar('\n');
    rk_term_line(rk_need_text(&line), 0);
}

static rk_err *print_text(const rk_settings *settings, const view *v, size_t last) {
    static const rk_table_column all_columns[] = {
        {.title = "", .right = true},
        {.title = "RUN", .least = 16},
        {.title = "WHAT RAN", .least = 12, .wrap = true},
        {.title = "STARTED", .right = true, .optional = true}, // the run's name has it, too
        {.title = "TOOK", .right = true},
        {.title = "REQUESTS", .right = true, .optional = true},
        {.title = "LOADED", .right = true},
        {.title = "COMPILED", .right = true},
        {.title = "STATE"},
        {.title = "JOB"},
    };
    rk_table_column columns[RK_ARRAY_LEN(all_columns)];
    size_t count = 0;
    size_t last_column = RK_ARRAY_LEN(all_columns) - v->on_terminal; // the job: not on a terminal
    for (size_t i = 0; i < last_column; i++)
        if (!v->is_narrow || !all_columns[i].optional)
            columns[count++] = all_columns[i];
    RK_AUTO(rk_table) table = {.columns = columns, .column_count = count};
    RK_TRY(each_run(settings, v, last, &table, NULL));
    rk_table_print(&table, rk_term_columns(stdout), stdout);
    print_end(v, last);
    return NULL;
}

static rk_err *print_json(const rk_settings *settings, const view *v, size_t last) {
    json_t *object = rk_out_object(), *list = rk_out_array();
    rk_err *err = each_run(settings, v, last, NULL, list);
    rk_out_set(object, "runs", list);
    if (err)
        json_decref(object);
    else
        rk_out_print(object);
    return err;
}

static void view_cleanup(view *v) {
    rk_run_names_cleanup(&v->names);
    rk_free(v->sorted);
}

// `last`: 0: all, but of text not more than two screens.
static rk_err *show(const rk_settings *settings, size_t last, bool all, bool json) {
    enum { OTHER_LINES = 4, LINES_A_RUN = 3, WIDE = 110, RAN_NARROW = 54, RAN_WIDE = 100 };
    RK_AUTO(view) v = {.sorted = NULL};
    v.directory = rk_settings_get(settings)->dir;
    v.all = all;
    size_t width = rk_term_columns(stdout);
    v.on_terminal = width > 0;
    v.is_narrow = v.on_terminal && width < WIDE;
    v.ran_bytes = all ? SIZE_MAX : v.is_narrow ? RAN_NARROW : v.on_terminal ? RAN_WIDE : SIZE_MAX;
    RK_TRY(rk_run_names_collect(v.directory, &v.names));
    sort_names(&v);
    if (json)
        return print_json(settings, &v, last ? last : SIZE_MAX);
    if (v.names.count == 0) {
        rk_place_print_nothing_yet(settings, "runs");
        return NULL;
    }
    size_t lines = all ? SIZE_MAX : rk_term_two_screens(stdout);
    return print_text(settings, &v,
                      last                ? last
                      : lines == SIZE_MAX ? lines
                                          : (lines - OTHER_LINES) / LINES_A_RUN);
}

static struct {
    const char *last_text;
    bool all;
    size_t last; // from `last_text`
} given;

static rk_err *check(const rk_verb_call *call) {
    (void)call;
    return given.last_text ? rk_opt_count("--last (-n)", given.last_text, &given.last) : NULL;
}

static rk_err *run(rk_verb_call *call) {
    return show(call->settings, given.last, given.all, call->json);
}

static const rk_opt options[] = {
    RK_OPT_VALUE("last", 'n', &given.last_text, "N", "only the last N runs"),
    RK_OPT_FLAG("all", 'a', &given.all, "all runs, also more than two screens"),
    RK_VERB_JSON,
    RK_VERB_DIR,
};

static const rk_opt_usage usage = {
    .verb = "runs",
    .summary = "Lists the runs, newest last: what ran, how long it took, and how many programs it "
               "loaded and compiled.",
    .details = "Exit N: the command ended with this status, as after an error. Cut short: a signal "
               "killed the command, or it crashed. Not known: a process left "
               "without the usual clean-up (os._exit, or killed), and `rekindle run` was not "
               "there to see why.\n",
    .options = options,
    .option_count = RK_ARRAY_LEN(options),
};

const rk_verb rk_verb_runs = {
    .brief = "list the runs: what ran, loaded and compiled",
    .usage = &usage,
    .settings = RK_VERB_SETTINGS_OF_RUNS,
    .check = check,
    .run = run,
};
