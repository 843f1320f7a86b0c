// Places of operations that are compiled one by one after the first step.
#include "diagnose/explain/late_internal.h"
#include "diagnose/explain/operations_internal.h"

const rk_stack_frame *rk_late_frame(const rk_stack *stack, size_t depth) {
    return depth < stack->count ? &stack->frames[stack->count - 1 - depth] : NULL;
}

const rk_stack_frame *rk_late_place(const rk_late *one) {
    return rk_late_frame(&one->stack, one->depth);
}

const rk_stack_frame *rk_late_called_by(const rk_late *one, size_t calls) {
    const rk_stack_frame *called = rk_late_frame(&one->stack, one->depth + calls);
    return called && rk_is_user_frame(called) ? called : NULL;
}

bool rk_late_is_same(const rk_stack_frame *a, const rk_stack_frame *b, rk_late_scope in) {
    if (!a || !b)
        return false;
    return in == RK_LATE_LINE ? rk_is_same_line(a, b) : rk_is_same_function(a, b);
}

bool rk_late_runs_steps(const rk_explainer *e, size_t process, const rk_stack_frame *place) {
    enum { STEPS_MIN = 10 };
    for (size_t i = 0; i < e->run->compile_count; i++) {
        const rk_run_compile *compile = &e->run->compiles[i];
        const rk_known *known = e->seen[i];
        if (compile->process == process && known && known->has_sketch &&
            !rk_is_framework_operation(&known->sketch) && known->sketch.call.line == place->line &&
            strcmp(known->sketch.call.file, place->file) == 0 &&
            rk_explain_executions(e->run, compile) >= STEPS_MIN)
            return true;
    }
    return false;
}

size_t rk_late_count_inside(rk_late *const *group, size_t count) {
    size_t inside = 0;
    for (size_t i = 0; i < count; i++)
        inside += rk_late_called_by(group[i], 1) != NULL;
    return inside;
}

const rk_stack_frame *rk_late_find_called(rk_late *const *group, size_t count) {
    const rk_stack_frame *called = NULL;
    for (size_t i = 0; i < count; i++) {
        const rk_stack_frame *one = rk_late_called_by(group[i], 1);
        if (one && called && !rk_late_is_same(one, called, RK_LATE_FUNCTION))
            return NULL;
        called = called ? called : one;
    }
    if (!called || 2 * rk_late_count_inside(group, count) <= count ||
        strpbrk(called->function, ".<"))
        return NULL;
    return called;
}

bool rk_late_changes_size(const rk_explanation *x, size_t process, const rk_stack_frame *place) {
    enum { SIZES_MIN = 3 };
    size_t count = 0;
    for (size_t i = 0; i < x->count; i++) {
        const rk_explained *item = &x->items[i];
        if (item->is_eager && item->cause == RK_CAUSE_SHAPE && item->program &&
            item->compile->process == process && item->program->sketch.call.file &&
            item->program->sketch.call.line == place->line)
            count += strcmp(item->program->sketch.call.file, place->file) == 0;
    }
    return count >= SIZES_MIN;
}

size_t rk_late_take_lines(rk_late *const *group, size_t group_count, size_t below,
                          rk_line_cost out_lines[static RK_LATE_LINES_MAX]) {
    size_t count = 0, k;
    for (size_t i = 0; i < group_count; i++) {
        const rk_stack_frame *line = rk_late_called_by(group[i], below);
        for (k = 0; k < count && !rk_late_is_same(out_lines[k].frame, line, RK_LATE_LINE);)
            k++;
        if (!line || k == RK_LATE_LINES_MAX)
            continue;
        if (k == count)
            out_lines[count++] = (rk_line_cost){line, 0};
        out_lines[k].cost_ns += rk_explained_cost_ns(group[i]->item);
    }
    rk_sort_costly_lines(out_lines, count);
    return count;
}
