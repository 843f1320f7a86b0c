#include "cli/verify.h"

#include <string.h>

#include "base/alloc.h"
#include "cli/summary.h"
#include "cli/text.h"

const char *rk_verify_kind_name(rk_verify_kind kind) {
    static const char *const names[] = {"cold", "warm", "zero-wait"};
    return names[kind];
}

void rk_verify_run_cleanup(rk_verify_run *run) {
    rk_run_totals_cleanup(&run->totals);
    rk_run_model_cleanup(&run->model);
    rk_free(run->id);
    *run = (rk_verify_run){0};
}

uint64_t rk_verify_requests(const rk_verify_run *run) {
    return run->totals.hits + run->totals.misses + run->totals.bypassed;
}

uint64_t rk_verify_failed(const rk_verify_run *run) {
    uint64_t failed = 0;
    for (size_t i = 0; i < run->model.compile_count; i++)
        failed += run->model.compiles[i].compiled && run->model.compiles[i].failed;
    return failed;
}

uint64_t rk_verify_compiled(const rk_verify_run *run) {
    return run->totals.compiled - rk_verify_failed(run);
}

static const rk_run_compile *find_compile(const rk_run_model *model, const char *key,
                                          const char *name) {
    for (size_t i = 0; i < model->compile_count; i++)
        if (key ? strcmp(model->compiles[i].key, key) == 0
                : strcmp(model->compiles[i].name, name) == 0 && model->compiles[i].key[0])
            return &model->compiles[i];
    return NULL;
}

static const rk_run_stored *find_stored(const rk_run_model *model, const char *key) {
    for (size_t i = 0; i < model->stored_count; i++)
        if (strcmp(model->stored[i].key, key) == 0)
            return &model->stored[i];
    return NULL;
}

// For a program that the cold run requested under the same key.
static void add_reason_of_same(const rk_verify_run *cold, const rk_run_compile *compile,
                               rk_buf *out) {
    const rk_run_stored *stored = find_stored(&cold->model, compile->key);
    if (!stored)
        rk_buf_add_text(out, "the cold run did not store it (it was compiled faster than "
                             "REKINDLE_MIN_COMPILE_SECONDS, or the plugin cannot keep it)");
    else if (!stored->stored)
        rk_buf_add_format(out, "the cold run could not store it: %s", stored->reason);
    else if (strcmp(compile->reason, "absent") == 0)
        rk_buf_add_text(out, "its entry was gone: REKINDLE_MAX_SIZE is too small for this job");
    else
        rk_buf_add_format(out, "its entry could not be used: %s", compile->reason);
}

// For a program whose name the cold run requested under another key.
static void add_reason_of_other(const rk_run_compile *before, const rk_run_compile *compile,
                                rk_buf *out) {
    const struct {
        const char *what, *then, *now;
    } parts[] = {
        {"the program", before->program, compile->program},
        {"its compile options", before->options, compile->options},
        {"its environment (flags, variables, plugin, devices)", before->environment,
         compile->environment},
    };
    const char *separator = "";
    rk_buf_add_text(out, "not the same as in the cold run: ");
    for (size_t i = 0; i < RK_ARRAY_LEN(parts); i++) {
        if (strcmp(parts[i].then, parts[i].now) == 0)
            continue;
        rk_buf_add_format(out, "%s%s", separator, parts[i].what);
        separator = " and ";
    }
    rk_buf_add_text(out, separator[0] ? " changed" : "REKINDLE_NAMESPACE changed");
}

void rk_verify_add_reason(const rk_verify_run *cold, const rk_run_compile *compile, rk_buf *out) {
    const rk_run_compile *before = NULL;
    if (compile->outcome == RK_OUTCOME_BYPASS)
        rk_buf_add_format(out, "cannot be kept: %s", compile->reason);
    else if (compile->key[0] && find_compile(&cold->model, compile->key, NULL))
        add_reason_of_same(cold, compile, out);
    else if (compile->name[0] && (before = find_compile(&cold->model, NULL, compile->name)))
        add_reason_of_other(before, compile, out);
    else
        rk_buf_add_text(out, "the cold run did not request it");
}

static void add_unwatched(const rk_verify_run *run, rk_buf *out) {
    rk_buf_add_format(out,
                      "no program was requested in the %s run: ", rk_verify_kind_name(run->kind));
    rk_summary_write_no_client(&run->model, out);
}

static bool judge_run(const rk_verify_run *cold, const rk_verify_run *run, rk_buf *out) {
    const char *name = rk_verify_kind_name(run->kind);
    if (run->status != 0)
        rk_buf_add_format(out, "the command failed in the %s run, with exit status %d", name,
                          run->status);
    else if (run->known && rk_verify_requests(run) == 0 && run->model.unwatched_count > 0)
        add_unwatched(run, out);
    else if (!run->known || rk_verify_requests(run) == 0)
        rk_buf_add_format(
            out, "no program was requested in the %s run%s", name,
            run->kind != RK_VERIFY_COLD && rk_verify_requests(cold) > 0
                ? ", but some were in the cold run: probably the framework used a cache of its "
                  "own; switch that cache off and verify again"
                : ": no PJRT plugin was seen, or nothing compiled (the built-in "
                  "CPU backends of JAX and PyTorch/XLA are not plugins)");
    else if (run->kind != RK_VERIFY_COLD && rk_verify_compiled(run) > 0)
        rk_buf_add_format(out, "the %s run compiled %s program%s", name,
                          rk_text_count(rk_verify_compiled(run)).text,
                          rk_text_plural(rk_verify_compiled(run)));
    return out->len > 0;
}

void rk_verify_judge(const rk_verify_run *runs, size_t count, rk_buf *out) {
    for (size_t i = 0; i < count; i++)
        if (judge_run(&runs[0], &runs[i], out))
            return;
}
