// Finds a line that compiles many operations after the first step: code outside of any jitted
// function, each operation of which is a program of its own.
#include "base/alloc.h"
#include "diagnose/explain/operations_internal.h"
#include "diagnose/explain/patterns_internal.h"

enum { PROGRAMS_MIN = 10 };

// An operation takes some milliseconds to compile; less is not worth a finding.
#define COST_MIN_NS ((uint64_t)100 * 1000000)

static bool is_in_pattern(const rk_explanation *x, const rk_explained *item) {
    for (size_t i = 0; i < x->pattern_count; i++)
        for (size_t k = 0; k < x->patterns[i].member_count; k++)
            if (x->patterns[i].members[k] == item)
                return true;
    return false;
}

// Returns whether the item is an operation of the framework, compiled for a line of the user after
// the first step, and no other finding has it.
static bool is_late(const rk_explanation *x, const rk_explained *item, size_t process,
                    uint64_t first_step) {
    return item->compile->process == process && item->compile->compiled && item->is_eager &&
           item->compile->seq > first_step && item->cause == RK_CAUSE_FIRST &&
           item->program->sketch.call.file &&
           rk_file_owner_of(rk_span_text(item->program->sketch.call.file)) == RK_FILE_USER &&
           !is_in_pattern(x, item);
}

static rk_err *report(rk_explainer *e, const rk_members *members) {
    RK_AUTO(rk_pattern_text) text = {.summary = {0}};
    const rk_sketch_line *line = &members->items[0]->program->sketch.call;
    rk_buf_add_format(&text.summary,
                      "%zu operations on one line are compiled one by one after the first step, "
                      "each as a program of its own",
                      members->count);
    rk_buf_add_text(&text.advice,
                    "Put the calculation of this line into a function, and jit that, so that it is "
                    "one program; or read the values first (jax.device_get) and calculate with "
                    "NumPy on the host, which compiles nothing.");
    return rk_pattern_add(e->out, RK_PATTERN_FRAGMENTS, members->items, members->count, &text,
                          line->file, line->line);
}

// Collects the late operations of the line of item `first`. Takes them from the open ones.
static rk_err *collect(const rk_explanation *x, size_t first, bool *open, rk_members *members,
                       uint64_t *out_cost_ns) {
    uint64_t line = x->items[first].program->sketch.call.hash;
    *out_cost_ns = 0;
    for (size_t i = first; i < x->count; i++) {
        if (!open[i] || x->items[i].program->sketch.call.hash != line)
            continue;
        open[i] = false;
        *out_cost_ns += x->items[i].compile->compile_ns;
        RK_TRY(rk_members_add(members, &x->items[i]));
    }
    return NULL;
}

static rk_err *look_at(rk_explainer *e, size_t process, bool *out_found) {
    const rk_explanation *x = e->out;
    uint64_t first_step = rk_first_step_request(e, process);
    rk_autofree bool *open = rk_calloc(x->count + 1, sizeof *open);
    if (!open)
        return rk_err_no_memory();
    for (size_t i = 0; i < x->count && first_step != UINT64_MAX; i++)
        open[i] = is_late(x, &x->items[i], process, first_step);
    for (size_t i = 0; i < x->count; i++) {
        if (!open[i])
            continue;
        RK_AUTO(rk_members) members = {0};
        uint64_t cost_ns;
        RK_TRY(collect(x, i, open, &members, &cost_ns));
        if (members.count < PROGRAMS_MIN || cost_ns < COST_MIN_NS)
            continue;
        *out_found = true;
        RK_TRY(report(e, &members));
    }
    return NULL;
}

// All ranks do the same: the first process with such a line stands for all.
rk_err *rk_find_late_operations(rk_explainer *e) {
    bool found = false;
    for (size_t p = 0; p < e->run->process_count && !found; p++)
        RK_TRY(look_at(e, p, &found));
    return NULL;
}
