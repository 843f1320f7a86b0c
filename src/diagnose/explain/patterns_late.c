// Finds code outside of any jitted function that compiles many operations after the first step,
// each as a program of its own: an evaluation, or test data that are made after the training.
#include "base/alloc.h"
#include "diagnose/explain/late_internal.h"
#include "diagnose/explain/operations_internal.h"
#include "diagnose/explain/patterns_internal.h"

enum { PROGRAMS_MIN = 10 };

// An operation takes some milliseconds to compile; less is not worth a finding.
#define COST_MIN_NS ((uint64_t)100 * 1000000)

typedef struct lates {
    rk_late *items; // owned; in the order of the requests
    size_t count;
} lates;

static void lates_cleanup(lates *list) {
    for (size_t i = 0; i < list->count; i++)
        rk_stack_cleanup(&list->items[i].stack);
    rk_free(list->items);
}

// Returns whether the item is an operation of the framework, compiled for a line of the user after
// the first step, and no other finding has it.
static bool is_late(const rk_explanation *x, const rk_explained *item, size_t process,
                    uint64_t first_step) {
    return item->compile->process == process && item->compile->compiled && item->is_eager &&
           item->compile->seq > first_step && item->cause == RK_CAUSE_FIRST &&
           item->program->sketch.call.file &&
           rk_file_owner_of(rk_span_text(item->program->sketch.call.file)) == RK_FILE_USER &&
           !rk_is_in_pattern(x, item, NULL);
}

// Returns the depth of the first frame that is not the same call as in the stack of the step.
static size_t leaves_at(const rk_stack *stack, const rk_stack *step) {
    size_t depth = 0;
    while (depth < stack->count && depth < step->count &&
           rk_is_same_line(rk_late_frame(stack, depth), rk_late_frame(step, depth)))
        depth++;
    return depth;
}

// The depth of the innermost line of the user; the stack has no such frame if there is none.
static size_t innermost_line(const rk_stack *stack) {
    for (size_t i = 0; i < stack->count; i++)
        if (rk_is_user_frame(&stack->frames[i]))
            return stack->count - 1 - i;
    return stack->count;
}

// Without the stack of the step, or if the user has no line beyond it, the place is the innermost
// line of the user.
static void find_place(rk_late *one, const rk_stack *step) {
    size_t count = one->stack.count;
    one->depth = step->count > 0 ? leaves_at(&one->stack, step) : count;
    while (one->depth < count && !rk_is_user_frame(rk_late_frame(&one->stack, one->depth)))
        one->depth++;
    if (one->depth >= count)
        one->depth = innermost_line(&one->stack);
}

// Returns whether the call of the step makes the operation: jax.pmap cuts its arguments.
static bool is_of_step_call(const rk_late *one, const rk_stack *step) {
    const rk_stack_frame *line = rk_late_frame(&one->stack, innermost_line(&one->stack)),
                         *of = rk_late_frame(step, innermost_line(step));
    return line && of && rk_is_same_line(line, of);
}

// If the place calls a library that runs the steps and comes back to a line of the user, as to a
// callback, then that line is the place.
static void leave_library_of_steps(const rk_explainer *e, rk_late *one) {
    const rk_stack_frame *place = rk_late_place(one);
    if (place && innermost_line(&one->stack) > one->depth && !rk_late_called_by(one, 1) &&
        rk_late_runs_steps(e, one->item->compile->process, place))
        one->depth = innermost_line(&one->stack);
}

static rk_err *collect(const rk_explainer *e, size_t process, lates *out_list) {
    const rk_explanation *x = e->out;
    RK_AUTO(rk_stack) step = {0};
    uint64_t first_step = rk_first_step_request(e, process);
    size_t count = 0;
    for (size_t i = 0; i < x->count && first_step != UINT64_MAX; i++)
        count += is_late(x, &x->items[i], process, first_step);
    if (count < PROGRAMS_MIN)
        return NULL;
    out_list->items = rk_calloc(count, sizeof *out_list->items);
    if (!out_list->items)
        return rk_err_no_memory();
    RK_TRY(rk_step_stack(e, process, &step));
    for (size_t i = 0; i < x->count; i++) {
        if (!is_late(x, &x->items[i], process, first_step))
            continue;
        RK_AUTO(rk_loaded) loaded = {0};
        rk_late *one = &out_list->items[out_list->count++];
        one->item = &x->items[i];
        RK_TRY(rk_corpus_open(e->corpus, one->item->program, &loaded));
        if (loaded.loaded)
            RK_TRY(rk_stack_take(&loaded.index.call, &one->stack));
        find_place(one, &step);
        leave_library_of_steps(e, one);
        one->is_reported = is_of_step_call(one, &step);
    }
    return NULL;
}

// Moves the place of operations that all come from one call to the innermost such call.
static void descend(rk_late *const *group, size_t count) {
    for (;;) {
        const rk_stack_frame *first = rk_late_called_by(group[0], 1);
        for (size_t i = 0; i < count; i++)
            if (!rk_late_is_same(rk_late_called_by(group[i], 1), first, RK_LATE_LINE) ||
                !rk_late_called_by(group[i], 2))
                return;
        for (size_t i = 0; i < count; i++)
            group[i]->depth++;
    }
}

static rk_err *report(rk_explainer *e, rk_late *const *group, size_t count, rk_late_scope in) {
    RK_AUTO(rk_members) members = {0};
    RK_AUTO(rk_pattern_text) text = {.summary = {0}};
    for (size_t i = 0; i < count; i++) {
        group[i]->is_reported = true;
        RK_TRY(rk_members_add(&members, group[i]->item));
    }
    if (in == RK_LATE_LINE)
        descend(group, count);
    rk_late_describe(e, group, count, in, &text);
    rk_line_cost lines[RK_LATE_LINES_MAX];
    const rk_stack_frame *place =
        rk_late_take_lines(group, count, 0, lines) ? lines[0].frame : rk_late_place(group[0]);
    return rk_pattern_add(e->out, RK_PATTERN_FRAGMENTS, members.items, members.count, &text,
                          place->file, place->line);
}

static const rk_stack_frame *inner_line_of(const rk_late *one) {
    return rk_late_frame(&one->stack, innermost_line(&one->stack));
}

// The line of the user that more than half of the operations come from; NULL if there is none.
static const rk_stack_frame *find_inner_line(rk_late *const *group, size_t count) {
    const rk_stack_frame *line = NULL;
    size_t votes = 0;
    for (size_t i = 0; i < count; i++) {
        const rk_stack_frame *one = inner_line_of(group[i]);
        if (votes == 0)
            line = one;
        votes += rk_late_is_same(one, line, RK_LATE_LINE) ? 1 : (size_t)-1;
    }
    return line;
}

// If the place calls a library that comes back to one line of the user for nearly all operations,
// and that line has another size each time, then that line is the place: the call cannot become one
// program. The few others do not count. Returns the new number.
static size_t take_inner_line(const rk_explanation *x, rk_late **group, size_t count) {
    enum { NEARLY_ALL = 9, OF = 10 };
    const rk_stack_frame *line = find_inner_line(group, count);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        kept += !rk_late_called_by(group[i], 1) &&
                innermost_line(&group[i]->stack) > group[i]->depth &&
                rk_late_is_same(inner_line_of(group[i]), line, RK_LATE_LINE);
    if (kept == 0 || OF * kept < NEARLY_ALL * count ||
        !rk_late_changes_size(x, group[0]->item->compile->process, line))
        return count;
    kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (!rk_late_is_same(inner_line_of(group[i]), line, RK_LATE_LINE)) {
            group[i]->is_reported = true;
            continue;
        }
        group[i]->depth = innermost_line(&group[i]->stack);
        group[kept++] = group[i];
    }
    return kept;
}

// If all operations of a group come from one function that the place calls, adds those of its other
// calls. Returns the new number.
static size_t add_other_calls(lates *list, rk_late **group, size_t count) {
    const rk_stack_frame *called = rk_late_find_called(group, count);
    const size_t of_line = count;
    for (size_t i = 0; i < list->count && called; i++) {
        rk_late *one = &list->items[i];
        bool is_new = !one->is_reported &&
                      rk_late_is_same(rk_late_called_by(one, 1), called, RK_LATE_FUNCTION);
        for (size_t k = 0; k < of_line && is_new; k++)
            is_new = group[k] != one;
        if (is_new)
            group[count++] = one;
    }
    return count;
}

// Reports the late operations with the same place as `first`, if they are many.
static rk_err *look_from(rk_explainer *e, lates *list, size_t first, rk_late_scope in,
                         bool *out_found) {
    uint64_t cost_ns = 0;
    size_t count = 0;
    rk_autofree rk_late **group = rk_calloc(list->count, sizeof *group);
    if (!group)
        return rk_err_no_memory();
    for (size_t i = first; i < list->count; i++) {
        rk_late *one = &list->items[i];
        if (one->is_reported ||
            !rk_late_is_same(rk_late_place(one), rk_late_place(&list->items[first]), in))
            continue;
        cost_ns += one->item->compile->compile_ns;
        group[count++] = one;
    }
    if (count < PROGRAMS_MIN || cost_ns < COST_MIN_NS)
        return NULL;
    *out_found = true;
    if (in == RK_LATE_LINE) {
        count = take_inner_line(e->out, group, count);
        count = add_other_calls(list, group, count);
    }
    return report(e, group, count, in);
}

// First the lines and calls that are worth a finding alone, then the rest of a function.
static rk_err *look_at(rk_explainer *e, size_t process, bool *out_found) {
    __attribute__((cleanup(lates_cleanup))) lates list = {0};
    RK_TRY(collect(e, process, &list));
    for (int in = RK_LATE_LINE; in <= RK_LATE_FUNCTION; in++)
        for (size_t i = 0; i < list.count; i++)
            if (!list.items[i].is_reported)
                RK_TRY(look_from(e, &list, i, (rk_late_scope)in, out_found));
    return NULL;
}

// All ranks do the same: the first process with such a place stands for all.
rk_err *rk_find_late_operations(rk_explainer *e) {
    bool found = false;
    for (size_t p = 0; p < e->run->process_count && !found; p++)
        RK_TRY(look_at(e, p, &found));
    return NULL;
}
