#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/fail.h"
#include "cli/place.h"
#include "cli/run_command.h"
#include "cli/run_keep.h"
#include "cli/run_names.h"
#include "cli/run_view.h"
#include "cli/steps_view.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "cli/verdict.h"

enum { MAX_LISTED = 10 };

// Adds a line: name, value, note.
static void add(rk_table *table, const char *name, const char *value, rk_style_name style,
                const char *note) {
    rk_table_add(table, RK_STYLE_NONE, name);
    rk_table_add(table, style, value);
    rk_table_add(table, RK_STYLE_DIM, note);
}

static void add_count(rk_table *table, const char *name, uint64_t count, rk_style_name style,
                      const char *note) {
    add(table, name, rk_text_count(count).text, count > 0 ? style : RK_STYLE_NONE, note);
}

// A request that the compiler refused is counted as failed only, not as a miss, bypassed or
// compiled.
static void add_requests(rk_table *table, const rk_run_model *run, const rk_run_totals *totals) {
    uint64_t failed_misses = totals->failed - totals->failed_bypassed;
    uint64_t bypassed = totals->bypassed - totals->failed_bypassed;
    uint64_t requests = totals->hits + totals->misses + totals->bypassed;
    bool repeats = run && totals->hits && rk_run_count_repeated(run) == totals->hits;
    RK_AUTO(rk_buf) sources = RK_BUF_INIT(0);
    rk_buf_add_text(&sources, repeats ? "compiled earlier in this run" : "loaded from the store");
    if (totals->preloaded > 0)
        rk_buf_add_format(&sources, ", %s of them before the request",
                          rk_text_count(totals->preloaded).text);
    if (totals->remote_hits > 0)
        rk_buf_add_format(&sources, ", %s from a remote tier",
                          rk_text_count(totals->remote_hits).text);
    add_count(table, "programs", totals->programs, RK_STYLE_BOLD, "distinct");
    add_count(table, "compile requests", requests, RK_STYLE_NONE, "");
    add_count(table, "  hits", totals->hits, RK_STYLE_GOOD, rk_need_text(&sources));
    add_count(table, "  misses",
              totals->misses > failed_misses ? totals->misses - failed_misses : 0, RK_STYLE_NOTICE,
              "not in the store");
    add_count(table, "  bypassed", bypassed, RK_STYLE_NOTICE, bypassed ? "cannot be stored" : "");
    if (totals->failed > 0)
        add_count(table, "  failed", totals->failed, RK_STYLE_BAD,
                  "the compiler refused the program");
    add_count(table, "compiled", totals->compiled - totals->failed, RK_STYLE_NOTICE,
              "calls of the compiler");
    add_count(table, "stored", totals->stored, RK_STYLE_NONE, "for the next start");
    if (totals->ahead_of_time > 0) {
        add_count(table, "AOT", totals->ahead_of_time, RK_STYLE_NONE,
                  "requests for a topology, without a device");
        add_count(table, "  found", totals->found, RK_STYLE_GOOD,
                  "already in the store; compiled again, because only a client can load");
    }
}

static void add_troubles(rk_table *table, const rk_run_totals *totals, uint64_t lost) {
    if (totals->refused > 0)
        add_count(table, "refused", totals->refused, RK_STYLE_BAD,
                  "not compiled, because warm-up was over (REKINDLE_STRICT)");
    if (totals->not_stored > 0)
        add_count(table, "not stored", totals->not_stored, RK_STYLE_BAD, "");
    if (lost > 0)
        add_count(table, "lost", lost, RK_STYLE_BAD,
                  "compiled but not stored: the process ended during the write");
    if (totals->fingerprint_fallbacks > 0)
        add_count(table, "keyed by bytes", totals->fingerprint_fallbacks, RK_STYLE_NOTICE,
                  "not read in full");
    if (totals->deserialize_failures > 0)
        add_count(table, "failed to load", totals->deserialize_failures, RK_STYLE_BAD,
                  "the plugin refused the entry");
    if (totals->quarantined > 0)
        add_count(table, "quarantined", totals->quarantined, RK_STYLE_BAD, "damaged entries");
    if (totals->verify_differences > 0)
        add_count(table, "different", totals->verify_differences, RK_STYLE_BAD,
                  "differ from a new compilation");
}

static void add_transfer(rk_table *table, const char *name, uint64_t count, uint64_t bytes) {
    add_count(table, name, count, RK_STYLE_NONE, count > 0 ? rk_text_bytes(bytes).text : "");
}

// Returns how many processes of the run have no recorded end: they run, or were killed.
static size_t count_unended(const rk_run_model *run) {
    size_t count = 0;
    for (size_t i = 0; i < run->process_count; i++)
        count += !run->processes[i].ended;
    return count;
}

// Appends how many executions of a run with one process belong to no complete step, such as those
// of the initialization and of an evaluation.
static void add_outside(const rk_run_model *run, const rk_steps *steps,
                        const rk_journal_counts *counts, rk_buf *out) {
    const rk_process_steps *process = steps ? rk_steps_longest(steps) : NULL;
    if (!process || run->process_count != 1 || counts->executions <= process->sums.executions)
        return;
    rk_buf_add_format(out, "%s of them outside of the steps",
                      rk_text_count(counts->executions - process->sums.executions).text);
}

// A process writes how much it executed and transferred when it ends. `run`: NULL for the totals of
// several runs.
static void add_executions(rk_table *table, const rk_run_model *run, const rk_steps *steps,
                           const rk_journal_counts *counts) {
    size_t unended = run ? count_unended(run) : 0;
    RK_AUTO(rk_buf) note = RK_BUF_INIT(0);
    if (unended > 0 && unended == run->process_count && counts->executions == 0) {
        add(table, "executions", "not known", RK_STYLE_NONE,
            "nor the transfers: a process writes them when it ends");
        return;
    }
    if (unended > 0)
        rk_buf_add_format(&note, "without %zu process%s whose end was not recorded", unended,
                          unended == 1 ? "" : "es");
    else if (run)
        add_outside(run, steps, counts, &note);
    add_count(table, "executions", counts->executions, RK_STYLE_NONE, rk_need_text(&note));
    add_transfer(table, "host to device", counts->host_to_device, counts->host_to_device_bytes);
    // On the CPU, JAX reads results in place, without a transfer.
    if (counts->device_to_host > 0)
        add_transfer(table, "device to host", counts->device_to_host, counts->device_to_host_bytes);
    else
        add_count(table, "device to host", 0, RK_STYLE_NONE,
                  counts->executions > 0 ? "results that are read in place do not count" : "");
}

static void add_steps(rk_table *table, const rk_steps *steps, uint64_t executions) {
    const rk_process_steps *process = rk_steps_longest(steps);
    if (!process) {
        if (executions > 0)
            add(table, "steps", "not known", RK_STYLE_NONE, "");
        return;
    }
    RK_AUTO(rk_buf) note = RK_BUF_INIT(0);
    rk_steps_print_curve(process, &note);
    add_count(table, "steps", process->count, RK_STYLE_NONE, rk_need_text(&note));
    rk_buf_clear(&note);
    rk_steps_print_usual(process, &note);
    add(table, "  usual step", "", RK_STYLE_NONE, rk_need_text(&note));
    uint64_t late_ns, late = rk_steps_late(steps, &late_ns);
    if (late > 0)
        add_count(table, "  compiled late", late, RK_STYLE_BAD, rk_text_seconds(late_ns).text);
}

// Returns whether requests waited for a notable time: 10 ms, and 1 % of the time of all requests.
static bool is_notable_wait(const rk_run_totals *totals) {
    enum { WAIT_MIN_NS = 10000000, PARTS_OF_ALL = 100 };
    uint64_t all_ns = totals->compile_ns + totals->load_ns + totals->waited_ns;
    return totals->waited_ns >= WAIT_MIN_NS && totals->waited_ns >= all_ns / PARTS_OF_ALL;
}

// `run` and `steps`: NULL for the totals of several runs.
static void print_counters(const rk_run_model *run, const rk_run_totals *totals, uint64_t lost,
                           const rk_steps *steps) {
    static const rk_table_column columns[] = {
        {.title = ""}, {.title = "", .right = true}, {.title = "", .least = 16, .wrap = true}};
    RK_AUTO(rk_table) table = RK_TABLE_INIT(columns);
    const rk_journal_counts *counts = &totals->counts;
    add_requests(&table, run, totals);
    add_troubles(&table, totals, lost);
    add(&table, "compile time", rk_text_seconds(totals->compile_ns).text, RK_STYLE_NONE, "");
    add(&table, "load time", rk_text_seconds(totals->load_ns).text, RK_STYLE_NONE, "");
    if (totals->preload.loaded > 0)
        add(&table, "prefetched", rk_text_seconds(totals->preload.load_ns).text, RK_STYLE_NONE,
            "in the background");
    if (totals->preload.wasted > 0)
        add_count(&table, "  unused", totals->preload.wasted, RK_STYLE_NOTICE,
                  "prefetched but never requested");
    if (is_notable_wait(totals))
        add(&table, "waiting time", rk_text_seconds(totals->waited_ns).text, RK_STYLE_NONE,
            "for another thread or process that had begun to compile the same program");
    if (totals->verified > 0)
        add_count(&table, "verified", totals->verified, RK_STYLE_NONE,
                  "hits compiled once more, in the background");
    if (totals->verify_ns > 0)
        add(&table, "verifying time", rk_text_seconds(totals->verify_ns).text, RK_STYLE_NONE, "");
    if (totals->saved_ns > 0)
        add(&table, "saved", rk_text_seconds(totals->saved_ns).text, RK_STYLE_GOOD, "");
    add_executions(&table, run, steps, counts);
    if (steps)
        add_steps(&table, steps, counts->executions);
    rk_table_print(&table, rk_term_columns(stdout), stdout);
}

static void print_title(const char *title) {
    (void)printf("\n%s%s%s\n", rk_style(RK_STYLE_BOLD, stdout), title,
                 rk_style(RK_STYLE_NONE, stdout));
}

static void print_warnings(const rk_run_totals *totals) {
    if (totals->warning_count == 0)
        return;
    print_title("warnings");
    size_t columns = rk_term_columns(stdout);
    for (size_t i = 0; i < totals->warning_count && i < MAX_LISTED; i++) {
        RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
        rk_text_add_printable(&line, rk_span_text(totals->warnings[i]));
        (void)printf("  ");
        rk_term_wrap(rk_need_text(&line), 2, 2, columns, stdout);
    }
    if (totals->warning_count > MAX_LISTED)
        (void)printf("  and %zu more: --json lists them all\n", totals->warning_count - MAX_LISTED);
}

static void print_unkept(const rk_run_summary *summary) {
    if (summary->unkept_count == 0)
        return;
    print_title("bypassed: compiled as without rekindle, and not stored");
    static const rk_table_column columns[] = {{.title = "  name", .least = 12},
                                              {.title = "times", .right = true},
                                              {.title = "why", .least = 16, .wrap = true}};
    RK_AUTO(rk_table) table = RK_TABLE_INIT(columns);
    for (size_t i = 0; i < summary->unkept_count && i < MAX_LISTED; i++) {
        const rk_run_unkept *unkept = &summary->unkept[i];
        RK_AUTO(rk_buf) name = RK_BUF_INIT(0);
        rk_buf_add_format(&name, "  %s", unkept->name);
        rk_table_add(&table, RK_STYLE_NONE, rk_need_text(&name));
        rk_table_add(&table, RK_STYLE_NONE, rk_text_count(unkept->count).text);
        rk_table_add(&table, RK_STYLE_NOTICE, unkept->reason);
    }
    rk_table_print(&table, rk_term_columns(stdout), stdout);
    if (summary->unkept_count > MAX_LISTED)
        (void)printf("  and %zu more: --json lists them all\n", summary->unkept_count - MAX_LISTED);
}

// Prints the same requests under the counter names of another cache.
static void print_peers(const rk_run_totals *totals) {
    static const rk_table_column columns[] = {{.title = ""}, {.title = "", .right = true}};
    RK_AUTO(rk_table) table = RK_TABLE_INIT(columns);
    rk_peer_count counts[RK_TORCH_XLA_COUNTS];
    rk_run_torch_xla_counts(totals, counts);
    print_title("as PyTorch/XLA counts");
    for (size_t i = 0; i < RK_ARRAY_LEN(counts); i++) {
        RK_AUTO(rk_buf) name = RK_BUF_INIT(0);
        rk_buf_add_format(&name, "  %s", counts[i].name);
        rk_table_add(&table, RK_STYLE_NONE, rk_need_text(&name));
        rk_table_add(&table, RK_STYLE_NONE, rk_text_count(counts[i].count).text);
    }
    rk_table_print(&table, rk_term_columns(stdout), stdout);
}

static void add_end(const rk_run_model *model, rk_buf *out) {
    rk_run_state state = rk_run_state_of(model);
    size_t unknown = rk_run_count_unknown_ends(model);
    if (state != RK_RUN_NOT_KNOWN)
        rk_buf_add_text(out, rk_run_state_text(state));
    if (rk_run_has_failed(model))
        rk_buf_add_format(out, " with status %u", model->command.exit_status);
    if (rk_run_count_incomplete(model) > 0)
        rk_buf_add_format(out, "%sa write to its journal failed; later events are not known",
                          state == RK_RUN_NOT_KNOWN ? "" : "; ");
    if (unknown == 0)
        return;
    rk_buf_add_format(out, "%show ", state == RK_RUN_NOT_KNOWN ? "" : "; ");
    if (unknown == model->process_count)
        rk_buf_add_text(out, unknown == 1 ? "it" : "they");
    else
        rk_buf_add_format(out, "%zu of them", unknown);
    rk_buf_add_text(out, " ended is not known");
}

static const rk_table_column two_columns[] = {{.title = ""},
                                              {.title = "", .least = 20, .wrap = true}};

static void add_line(rk_table *table, const char *name, const char *value) {
    rk_table_add(table, RK_STYLE_DIM, name);
    rk_table_add(table, RK_STYLE_NONE, value);
}

static void add_store(rk_table *table, const rk_settings *settings) {
    const rk_settings_values *values = rk_settings_get(settings);
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    rk_buf_add_text(&line, rk_text_bytes(rk_place_store_bytes(settings)).text);
    if (values->max_size_bytes == UINT64_MAX)
        rk_buf_add_text(&line, ", without a limit");
    else
        rk_buf_add_format(&line, " of at most %s", rk_text_bytes(values->max_size_bytes).text);
    rk_buf_add_format(&line, ", in %s", values->dir);
    add_line(table, "store", rk_need_text(&line));
}

static void print_head(const rk_settings *settings, const rk_run_model *model) {
    RK_AUTO(rk_table) table = RK_TABLE_INIT(two_columns);
    RK_AUTO(rk_buf) when = RK_BUF_INIT(0);
    RK_AUTO(rk_buf) command = RK_BUF_INIT(0);
    rk_buf_add_format(&when, "%s, %s in %zu process%s, ", rk_text_local_time(model->start_ns).text,
                      rk_text_seconds(rk_run_duration_ns(model)).text, model->process_count,
                      model->process_count == 1 ? "" : "es");
    add_end(model, &when);
    rk_run_command_add(rk_settings_get(settings)->dir, model, &command);
    add_line(&table, "run", model->run);
    if (command.len)
        add_line(&table, "command", rk_need_text(&command));
    add_line(&table, "job", model->job);
    add_line(&table, "mode", model->mode);
    add_line(&table, "started", rk_need_text(&when));
    add_store(&table, settings);
    rk_table_print(&table, rk_term_columns(stdout), stdout);
    (void)putchar('\n');
}

// Prints the verdict, the first lines of the output.
static void print_verdict(const rk_run_model *model, const rk_run_totals *totals, uint64_t lost,
                          const char *explain) {
    RK_AUTO(rk_buf) text = RK_BUF_INIT(0);
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    rk_verdict_add(model, totals, lost, explain, &text);
    rk_buf_add_text(&line, rk_style(RK_STYLE_BOLD, stdout));
    rk_text_add_printable(&line, rk_buf_span(&text));
    rk_buf_add_text(&line, rk_style(RK_STYLE_NONE, stdout));
    rk_term_line(rk_need_text(&line), 0);
    (void)putchar('\n');
}

static void print_one(const rk_settings *settings, const char *which, const rk_run_summary *summary,
                      const rk_steps *steps, bool peers) {
    const rk_run_model *run = &summary->run;
    uint64_t lost = rk_run_count_lost(run);
    RK_AUTO(rk_buf) explain = RK_BUF_INIT(0);
    rk_buf_add_format(&explain, "rekindle explain%s%s", which ? " --run " : "", which ? which : "");
    print_verdict(run, &summary->totals, lost, rk_need_text(&explain));
    print_head(settings, run);
    print_counters(run, &summary->totals, lost, steps);
    if (peers)
        print_peers(&summary->totals);
    print_unkept(summary);
    print_warnings(&summary->totals);
}

static rk_err *show_one(const rk_settings *settings, const char *which, bool json, bool peers) {
    const char *directory = rk_settings_get(settings)->dir;
    rk_autofree char *run = NULL;
    RK_AUTO(rk_run_model) model = {0};
    RK_AUTO(rk_run_summary) summary = {0};
    RK_AUTO(rk_steps) steps = {0};
    RK_TRY(rk_run_names_find(directory, which, &run));
    RK_TRY(rk_run_load(directory, run, &model)); // not the summary, which holds no steps
    RK_TRY(rk_run_summary_of(&model, &summary));
    RK_TRY(rk_steps_read(&summary.run, &steps));
    if (json) {
        json_t *object = rk_run_json(&summary);
        rk_out_set(object, "steps", rk_steps_json(&steps));
        rk_out_print(object);
        return NULL;
    }
    print_one(settings, which, &summary, &steps, peers);
    return NULL;
}

typedef struct all_runs {
    const rk_settings *settings;
    const char *directory;
    rk_run_keeper keeper;
    rk_run_totals totals;
    uint64_t lost;
    uint64_t listed; // including unreadable runs
    json_t *list;    // NULL: text output
} all_runs;

static rk_err *add_run(void *context, const rk_run_item *item) {
    all_runs *all = context;
    RK_AUTO(rk_run_summary) summary = {0};
    all->listed++;
    rk_err *err = rk_run_summary_load(all->directory, item->run, &summary);
    if (err) {
        rk_log_warn("run %s is left out: %s", item->run, rk_err_message(err));
        rk_err_drop(err, "the other runs can still be counted");
        return NULL;
    }
    RK_TRY(rk_run_totals_join(&all->totals, &summary.totals));
    all->lost += rk_run_count_lost(&summary.run);
    if (all->list)
        rk_out_append(all->list, rk_run_json(&summary));
    rk_run_keep(&all->keeper, &summary);
    return NULL;
}

static void print_all(all_runs *all, bool peers) {
    if (!all->list) {
        RK_AUTO(rk_table) head = RK_TABLE_INIT(two_columns);
        RK_AUTO(rk_buf) runs = RK_BUF_INIT(0);
        print_verdict(NULL, &all->totals, all->lost, NULL);
        rk_buf_add_format(&runs, "%s run%s together", rk_text_count(all->totals.runs).text,
                          rk_text_plural(all->totals.runs));
        add_line(&head, "all", rk_need_text(&runs));
        add_store(&head, all->settings);
        rk_table_print(&head, rk_term_columns(stdout), stdout);
        (void)putchar('\n');
        print_counters(NULL, &all->totals, all->lost, NULL);
        if (peers)
            print_peers(&all->totals);
        print_warnings(&all->totals);
        return;
    }
    json_t *object = rk_out_object();
    rk_out_set(object, "run", rk_out_string(NULL));
    rk_out_set(object, "job", rk_out_string(NULL));
    rk_out_set(object, "mode", rk_out_string(NULL));
    rk_run_add_totals(object, &all->totals);
    rk_out_set(object, "lost", rk_out_uint(all->lost));
    rk_out_set(object, "runs", RK_TAKE(all->list));
    rk_out_print(object);
}

static rk_err *show_all(const rk_settings *settings, bool json, bool peers) {
    all_runs all = {.settings = settings,
                    .directory = rk_settings_get(settings)->dir,
                    .keeper = rk_run_keeper_start(settings),
                    .list = json ? rk_out_array() : NULL};
    rk_err *err = rk_run_list(all.directory, add_run, &all);
    if (!err && all.listed == 0 && !json)
        rk_place_print_nothing_yet(settings, "runs");
    else if (!err)
        print_all(&all, peers);
    json_decref(all.list);
    rk_run_totals_cleanup(&all.totals);
    rk_run_keeper_cleanup(&all.keeper);
    return err;
}

static rk_err *count_run(void *context, const rk_run_item *item) {
    (void)item;
    *(uint64_t *)context += 1;
    return NULL;
}

// Handles a store without runs. With --json this is an error: counters that are all zero would look
// like a restart that compiled nothing.
static rk_err *nothing_yet(const rk_settings *settings, bool json) {
    if (!json) {
        rk_place_print_nothing_yet(settings, "runs");
        return NULL;
    }
    return rk_error(RK_UNAVAILABLE, "there is no run in %s yet: run `rekindle run -- CMD` first",
                    rk_settings_get(settings)->dir);
}

static struct {
    const char *run;
    bool all, peers;
} given;

static rk_err *check(const rk_verb_call *call) {
    (void)call;
    if (given.run && given.all)
        return rk_error(RK_INVALID_ARGUMENT, "--run and --all exclude each other");
    return NULL;
}

static rk_err *run(rk_verb_call *call) {
    const char *directory = rk_settings_get(call->settings)->dir;
    uint64_t count = 0;
    if (given.all)
        return show_all(call->settings, call->json, given.peers);
    RK_TRY(rk_run_list(directory, count_run, &count));
    if (count == 0 && !given.run)
        return nothing_yet(call->settings, call->json);
    return show_one(call->settings, given.run, call->json, given.peers);
}

static const rk_opt options[] = {
    RK_OPT_VALUE("run", 'r', &given.run, "RUN", RK_RUN_HELP),
    RK_OPT_FLAG("all", 'a', &given.all, "all runs together, distinct programs counted once"),
    RK_OPT_FLAG("peers", 'p', &given.peers,
                "also with the names of PyTorch/XLA's own cache counters"),
    RK_VERB_JSON,
    RK_VERB_DIR,
};

static const rk_opt_usage usage = {
    .verb = "stats",
    .summary = "Shows the counts of the last run, of another one, or of all: what was loaded, what "
               "was compiled, the time that compiling took and loading saved, and the size of the "
               "store.",
    .details = "A run is one `rekindle run`, with all its processes. Hits are compilations "
               "that were avoided; misses were compiled and stored; bypassed programs cannot "
               "be kept.\n",
    .options = options,
    .option_count = RK_ARRAY_LEN(options),
};

const rk_verb rk_verb_stats = {
    .brief = "what a run loaded and compiled, and the size of the store",
    .usage = &usage,
    .settings = RK_VERB_SETTINGS_OF_RUNS,
    .check = check,
    .run = run,
};
