#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/explain_view.h"
#include "cli/fail.h"
#include "cli/place.h"
#include "cli/run_command.h"
#include "cli/run_names.h"
#include "cli/term.h"
#include "cli/verbs.h"

// How many earlier runs are searched for programs that they stored.
enum { EARLIER_RUNS = 20 };

typedef struct earlier {
    rk_run_model models[EARLIER_RUNS];
    size_t count;
} earlier;

static void earlier_cleanup(earlier *list) {
    for (size_t i = 0; i < list->count; i++)
        rk_run_model_cleanup(&list->models[i]);
}

static rk_err *load_earlier(const char *directory, const rk_run_names *names, const char *run,
                            earlier *out_list) {
    size_t end = 0;
    while (end < names->count && strcmp(names->items[end], run) != 0)
        end++;
    for (size_t i = end > EARLIER_RUNS ? end - EARLIER_RUNS : 0; i < end; i++) {
        rk_run_model *model = &out_list->models[out_list->count];
        rk_err *err = rk_run_load(directory, names->items[i], model);
        if (err) {
            rk_run_model_cleanup(model);
            rk_err_drop(err, "one run less to look back at");
            continue;
        }
        out_list->count++;
    }
    return NULL;
}

static void show_progress(void *context, uint64_t done) {
    rk_progress_step(context, done, 0);
}

static rk_err *load_corpus(rk_store *store, rk_corpus *out_corpus) {
    rk_progress progress = rk_progress_start("reading programs");
    rk_err *err = rk_corpus_load(store, (rk_corpus_watch){show_progress, &progress}, out_corpus);
    rk_progress_end(&progress);
    return err;
}

// The length of the part of a command that names the script: "train.py", "python -m package.train".
// A program in the command itself (-c) is all of it.
static size_t script_len(const char *command) {
    size_t len = strcspn(command, " ");
    bool is_python = strncmp(command, "python", 6) == 0 || strncmp(command, "pypy", 4) == 0;
    if (is_python && strncmp(command + len, " -c", 3) == 0)
        return strlen(command);
    if (is_python && strncmp(command + len, " -m ", 4) == 0)
        len += 4 + strcspn(command + len + 4, " ");
    return len;
}

// True if both runs have the same job, or their first processes ran the same script.
static bool are_starts_of_one(const char *directory, const rk_run_model *a, const rk_run_model *b) {
    RK_AUTO(rk_buf) one = {0};
    RK_AUTO(rk_buf) other = {0};
    if (*a->job && strcmp(a->job, b->job) == 0)
        return true;
    rk_run_command_add(directory, a, &one);
    rk_run_command_add(directory, b, &other);
    size_t len = script_len(rk_need_text(&one));
    return len > 0 && len == script_len(rk_need_text(&other)) &&
           memcmp(rk_buf_text(&one), rk_buf_text(&other), len) == 0;
}

// Appends the operands of `rekindle diff` for the run and the last start of the same script before;
// nothing if there is none.
static void add_operands(const char *directory, const rk_run_names *names, const earlier *before,
                         const rk_run_model *run, rk_buf *out) {
    size_t i = before->count;
    while (i > 0 && !are_starts_of_one(directory, &before->models[i - 1], run))
        i--;
    if (i == 0)
        return;
    rk_run_names_refer(names, before->models[i - 1].run, out);
    rk_buf_add_byte(out, ' ');
    rk_run_names_refer(names, run->run, out);
}

static bool has_compiled(const rk_run_model *run) {
    for (size_t i = 0; i < run->compile_count; i++)
        if (run->compiles[i].compiled)
            return true;
    return false;
}

// Appends the name of the last start of the same script that compiled something; nothing if there
// is none.
static void add_compiled(const char *directory, const rk_run_names *names, const earlier *before,
                         const rk_run_model *run, rk_buf *out) {
    for (size_t i = before->count; i > 0; i--) {
        const rk_run_model *other = &before->models[i - 1];
        if (has_compiled(other) && are_starts_of_one(directory, other, run)) {
            rk_run_names_refer(names, other->run, out);
            return;
        }
    }
}

static void give(const rk_explanation *explanation, const rk_explain_how *how, bool json) {
    if (json)
        rk_out_print(rk_explain_view_json(explanation, how));
    else
        rk_explain_view_print(explanation, how);
}

static rk_err *explain(const rk_settings *settings, const char *run_prefix, rk_explain_how *how,
                       bool json) {
    const char *directory = rk_settings_get(settings)->dir;
    RK_AUTO_STORE store = NULL;
    rk_autofree char *run = NULL;
    RK_TRY(rk_run_names_find(directory, run_prefix, &run));
    RK_AUTO(rk_run_model) model = {0};
    __attribute__((cleanup(earlier_cleanup))) earlier before = {.count = 0};
    RK_AUTO(rk_corpus) corpus = {0};
    RK_AUTO(rk_explanation) explanation = {0};
    RK_AUTO(rk_run_names) names = {0};
    RK_AUTO(rk_buf) operands = {0};
    RK_AUTO(rk_buf) compiled = {0};
    RK_AUTO(rk_buf) own = {0};
    RK_TRY(rk_run_names_collect(directory, &names));
    RK_TRY(rk_run_load(directory, run, &model));
    RK_TRY(load_earlier(directory, &names, run, &before));
    add_operands(directory, &names, &before, &model, &operands);
    add_compiled(directory, &names, &before, &model, &compiled);
    how->compare = operands.len ? rk_need_text(&operands) : NULL;
    how->compiled = compiled.len ? rk_need_text(&compiled) : NULL;
    rk_run_names_refer(&names, model.run, &own);
    how->run = strcmp(rk_need_text(&own), "-1") == 0 ? NULL : rk_need_text(&own);
    RK_TRY(rk_place_open_store(settings, true, &store));
    if (store)
        RK_TRY(load_corpus(store, &corpus));
    RK_TRY(
        rk_explain(&model, (rk_earlier_runs){before.models, before.count}, &corpus, &explanation));
    give(&explanation, how, json);
    return NULL;
}

static struct {
    const char *run;
    rk_explain_how how;
} given;

static rk_err *run(rk_verb_call *call) {
    return explain(call->settings, given.run, &given.how, call->json);
}

static const rk_opt options[] = {
    RK_OPT_VALUE("run", 'r', &given.run, "RUN", RK_RUN_HELP),
    RK_OPT_FLAG("all", 'a', &given.how.all, "every compilation, with everything that differs"),
    RK_OPT_FLAG("stack", 's', &given.how.stacks,
                "the call stack of each difference; with --all every frame"),
    RK_VERB_JSON,
    RK_VERB_DIR,
};

static const rk_opt_usage usage = {
    .verb = "explain",
    .summary = "For every compilation of a run, shows the most similar earlier program, the "
               "differences, their source lines, and what to change.",
    .details = "Causes that can be removed come first, then advice for the start, then causes that "
               "need no change: in each group the costliest first; of nearly equal costs, the "
               "earliest request. Programs that were never seen before are only counted. "
               "docs/explain.md has the causes and patterns.\n",
    .options = options,
    .option_count = RK_ARRAY_LEN(options),
};

const rk_verb rk_verb_explain = {
    .brief = "why a run compiled what it compiled, and what to do",
    .usage = &usage,
    .settings = RK_VERB_SETTINGS_OF_RUNS,
    .run = run,
};
