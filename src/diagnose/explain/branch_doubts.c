// Whether another branch of the source became active, where a program does not show it.
#include "diagnose/explain/branch_doubts_internal.h"

#include "diagnose/diff/sketch_diff.h"
#include "diagnose/explain/operations_internal.h"
#include "diagnose/shapes/dims_internal.h"

// Returns whether another line than that of the compared program calls the function with other
// inputs, such as the step of another model, and no line of the source is in one of the two
// programs only. So no branch of the source is known.
static bool is_of_other_call(const rk_explained *item) {
    return item->is_own_call && item->cause == RK_CAUSE_PARAMETERS &&
           !rk_has_own_line(&item->program->sketch, &item->nearest->sketch) &&
           !rk_has_own_line(&item->nearest->sketch, &item->program->sketch);
}

static bool has_nearest(const rk_explained *item) {
    return item->nearest_of || item->nearest_run;
}

// Returns whether two graphs of PyTorch/XLA have operations of the same kinds, on the same lines of
// the source: two tensors that share their data, another order of the gradients, or a branch within
// one line. Whether there is a branch is not known.
static bool is_of_same_lines(const rk_explained *item) {
    bool may_be = item->cause == RK_CAUSE_PARAMETERS || item->cause == RK_CAUSE_STRUCTURE;
    return rk_explained_is_torch(item) && may_be && !item->accumulates && has_nearest(item) &&
           item->program->has_sketch && item->nearest->has_sketch &&
           item->program->sketch.line_count &&
           rk_have_same_kinds_and_lines(&item->program->sketch, &item->nearest->sketch);
}

bool rk_is_no_branch(const rk_explained *item) {
    return item->is_part || is_of_other_call(item) ||
           (rk_explain_is_of_values(item) && !rk_explain_is_of_integers(item)) ||
           rk_explain_is_of_container(item) ||
           (rk_explain_is_reordered(item) && !item->nearest_of) ||
           rk_explain_moves_slice_first(item);
}

// Returns whether two graphs of PyTorch/XLA compute nearly the same, and only one of them returns
// some values. A branch computes its values on lines of its own, with several operations; a sum
// that waits for the barrier needs one or two.
static bool returns_more(const rk_explained *item) {
    enum { OPERATIONS_MAX = 2 };
    if (!item->nearest_of || !rk_explain_has_only_results(item) || !item->program->has_sketch ||
        !item->nearest->has_sketch)
        return false;
    const rk_sketch *a = &item->nearest->sketch, *b = &item->program->sketch;
    return rk_operations_apart(a, b) <= OPERATIONS_MAX ||
           (!rk_has_own_line(a, b) && !rk_has_own_line(b, a));
}

// Returns whether an earlier graph of the process has operations on a line.
static bool has_earlier_line(const rk_explanation *x, const rk_explained *item, uint64_t line) {
    for (size_t i = 0; i < x->count; i++) {
        const rk_run_compile *compile = x->items[i].compile;
        const rk_known *known = x->items[i].program;
        if (compile->process == item->compile->process && compile->seq < item->compile->seq &&
            known && known->has_sketch && rk_sketch_find_line(&known->sketch, line))
            return true;
    }
    return false;
}

// Returns whether a graph of PyTorch/XLA does all that an earlier one does, and more, but only on
// lines of earlier graphs: it may hold the rest of a computation that was not executed, such as the
// forward pass of the batch before.
static bool repeats_lines(const rk_explanation *x, const rk_explained *item) {
    if (item->cause != RK_CAUSE_PARAMETERS || !rk_explained_is_torch(item) ||
        is_of_same_lines(item) || !rk_explain_is_in_other(item) ||
        item->program->sketch.op_count < item->nearest->sketch.op_count)
        return false;
    const rk_sketch *sketch = &item->program->sketch;
    for (uint32_t i = 0; i < sketch->line_count; i++)
        if (!has_earlier_line(x, item, sketch->lines[i].hash))
            return false;
    return sketch->line_count > 0;
}

// Returns whether a graph that was executed once does all that another one does, and more.
static bool does_more_once(const rk_explanation *x, const rk_run_compile *request,
                           const rk_known *program, const rk_known *other) {
    return rk_explain_executions(x->run, request) == 1 &&
           program->sketch.op_count > other->sketch.op_count &&
           rk_contained_operations(&other->sketch, &program->sketch) >= 1;
}

bool rk_may_compute_arguments(const rk_explanation *x, const rk_explained *item) {
    return item->cause == RK_CAUSE_PARAMETERS && rk_explained_is_torch(item) && item->nearest_of &&
           item->program->has_sketch && item->nearest->has_sketch &&
           (does_more_once(x, item->compile, item->program, item->nearest) ||
            does_more_once(x, item->nearest_of, item->nearest, item->program));
}

// Returns whether a function of JAX may be called for another model: some inputs are of one side,
// and at least two others differ in more than the number of rows.
static bool may_be_of_other_model(const rk_explained *item) {
    size_t axis, others = 0, one_sided = 0;
    if (item->cause != RK_CAUSE_PARAMETERS || rk_explained_is_torch(item) || !item->nearest_of)
        return false;
    for (size_t i = 0; i < item->differences.cause_count; i++) {
        const rk_difference *d = &item->differences.items[i];
        one_sided += rk_is_input_of_one_side(d);
        others += d->kind == RK_DIFFERENCE_SHAPE && rk_is_of_input(d) &&
                  (!rk_only_axis(d->before, d->after, &axis) || axis > 0);
    }
    return one_sided > 0 && others > 1;
}

// Returns whether two graphs of PyTorch/XLA take or return other values: those of a branch, or
// values that were computed before the step.
static bool has_other_values(const rk_explanation *x, const rk_explained *item) {
    return rk_explain_takes_and_returns_more(item) || rk_explain_swaps_inputs(item) ||
           returns_more(item) || repeats_lines(x, item) || rk_may_compute_arguments(x, item);
}

// Returns whether the program of a request was compiled before a step.
static bool is_before_step(const rk_explanation *x, const rk_run_compile *request, uint64_t step) {
    const rk_explained *item = rk_explained_of(x, request);
    return item && item->step < step;
}

// Returns whether two graphs were compiled in the second step, and the earlier one that `item` was
// compared with in the first step. `state` takes values that the first step created.
static bool is_of_second_step(const rk_explanation *x, const rk_explained *item,
                              const rk_explained *state) {
    enum { SECOND = 2 };
    if (item->step == SECOND && state->step == SECOND)
        return is_before_step(x, item->nearest_of, SECOND);
    // If not all steps are known: the process first requested the two graphs that these were
    // compared with, and then these two.
    return item->nearest_of->seq < state->nearest_of->seq &&
           state->nearest_of->seq < item->compile->seq && item->compile->seq < state->compile->seq;
}

// Returns whether the graph was compiled in the second step of PyTorch/XLA and differs in inputs
// from an earlier one, and whether that first step created values, such as an optimizer's state,
// which another graph of the second step takes as inputs.
static bool follows_first_step(const rk_explanation *x, const rk_explained *item) {
    const size_t process = item->compile->process;
    if (item->cause != RK_CAUSE_PARAMETERS || !item->nearest_of ||
        item->nearest_of->process != process)
        return false;
    for (size_t i = 0; i < x->count; i++) {
        const rk_explained *state = &x->items[i];
        if (state->is_startup && state->nearest_of && state->compile->process == process &&
            rk_explained_is_torch(state) && is_of_second_step(x, item, state))
            return true;
    }
    return false;
}

// Returns whether a graph of PyTorch/XLA differs from an earlier one of its process, in which
// graphs grow: one of the two may hold operations that waited for a read.
static bool is_among_growing(const rk_explanation *x, const rk_explained *item) {
    if (!rk_explained_is_torch(item) || !item->nearest_of ||
        item->nearest_of->process != item->compile->process)
        return false;
    for (size_t i = 0; i < x->pattern_count; i++)
        if (x->patterns[i].grows &&
            x->patterns[i].members[0]->compile->process == item->compile->process)
            return true;
    return false;
}

// Returns whether two graphs each return only true or false: the later one may check another
// condition.
static bool are_checks(const rk_explained *item) {
    bool may_be = item->cause == RK_CAUSE_PARAMETERS || item->cause == RK_CAUSE_STRUCTURE;
    return may_be && rk_explained_is_torch(item) && item->nearest_of && item->program->has_sketch &&
           item->nearest->has_sketch && rk_is_check(&item->program->sketch) &&
           rk_is_check(&item->nearest->sketch);
}

bool rk_is_executed_once(const rk_explanation *x, const rk_explained *item) {
    return rk_explained_is_torch(item) && item->nearest_of && item->step == RK_NO_STEP &&
           rk_explain_executions(x->run, item->compile) == 1;
}

bool rk_may_be_branch(const rk_explanation *x, const rk_explained *item) {
    return !item->is_startup && !rk_is_no_branch(item) && !rk_explained_is_constant(item) &&
           (is_of_same_lines(item) || may_be_of_other_model(item) || are_checks(item) ||
            rk_explain_is_reordered(item) || rk_explain_has_other_views(item) ||
            item->takes_lists || item->takes_other_list || has_other_values(x, item) ||
            item->follows_start || follows_first_step(x, item) ||
            rk_explain_has_special_number(item) || rk_explain_is_of_integers(item) ||
            is_among_growing(x, item) || rk_is_executed_once(x, item));
}

rk_branch_doubt rk_branch_doubt_of(const rk_explanation *x, const rk_explained *item) {
    bool is_list = item->takes_lists || item->takes_other_list;
    return is_list                               ? RK_DOUBT_LISTS
           : may_be_of_other_model(item)         ? RK_DOUBT_MODEL
           : returns_more(item)                  ? RK_DOUBT_RESULTS
           : item->follows_start                 ? RK_DOUBT_START
           : rk_explain_has_special_number(item) ? RK_DOUBT_NUMBERS
           : has_other_values(x, item)           ? RK_DOUBT_VALUES
           : follows_first_step(x, item)         ? RK_DOUBT_VALUES
           : rk_explain_is_of_integers(item)     ? RK_DOUBT_INTEGERS
           : is_among_growing(x, item)           ? RK_DOUBT_GROWTH
           : are_checks(item)                    ? RK_DOUBT_CHECKS
           : rk_explain_has_other_views(item)    ? RK_DOUBT_VIEWS
           : is_of_same_lines(item)              ? RK_DOUBT_ORDER
           : rk_is_executed_once(x, item)        ? RK_DOUBT_ONCE
                                                 : RK_DOUBT_ORDER;
}

// What the text says of one program and of several ones: a verb each, and the rest.
static const struct doubt_text {
    const char *one, *several, *rest;
} doubt_texts[] = {
    [RK_DOUBT_LISTS] = {"takes", "take",
                        "another number of tensors of one type than other graphs: perhaps a list "
                        "of tensors decides how many, or a branch does"},
    [RK_DOUBT_MODEL] = {"takes", "take",
                        "other inputs, and inputs of other shapes: perhaps the function is "
                        "called for another model, or a branch decides"},
    [RK_DOUBT_RESULTS] = {"returns", "return",
                          "values that other graphs do not: perhaps a branch computes them, or "
                          "only some steps keep them, as for a log or a sum"},
    [RK_DOUBT_START] = {"takes", "take",
                        "fewer values than an earlier graph: perhaps a branch computes them, "
                        "they were computed before the steps, or a list of tensors is shorter"},
    [RK_DOUBT_NUMBERS] = {"takes or returns", "take or return",
                          "single numbers that other graphs do not: perhaps a branch decides, a "
                          "number is 0, 1 or -1 in some steps, or only some steps keep a number "
                          "for a log"},
    [RK_DOUBT_VALUES] = {"takes or returns", "take or return",
                         "values that other graphs do not: perhaps a branch computes them, they "
                         "were computed earlier and not executed, or a list of tensors is longer"},
    [RK_DOUBT_INTEGERS] = {"takes", "take",
                           "other whole numbers than other graphs: perhaps a branch decides "
                           "which, or two numbers are equal"},
    [RK_DOUBT_GROWTH] = {"differs", "differ",
                         "from earlier graphs, but graphs of this run grow: perhaps a branch "
                         "computes the values, or they waited for a read"},
    [RK_DOUBT_CHECKS] = {"returns", "return",
                         "only true or false, as an earlier graph does: perhaps another "
                         "condition is checked, or a branch decides"},
    [RK_DOUBT_VIEWS] = {"differs", "differ",
                        "from an earlier graph only in transposes, reshapes and broadcasts"},
    [RK_DOUBT_ONCE] =
        {"differs", "differ",
         "from an earlier graph, and the steps of its process are not known: perhaps it "
         "is another part of the job, or a branch decides"},
    [RK_DOUBT_SHAPES] =
        {"takes", "take",
         "inputs of other shapes than an earlier graph, among other differences, "
         "and the steps of its process are not known: perhaps it is another part of "
         "the job"},
    [RK_DOUBT_PARTS] = {"takes", "take",
                        "inputs of other shapes than an earlier graph that is executed as often, "
                        "among other differences: perhaps they are two parts of the job, such as "
                        "two layers"},
    [RK_DOUBT_ORDER] = {"differs", "differ",
                        "from an earlier program, but only in the order, the number or the "
                        "operands of operations of the same kinds, on the same lines"},
};

void rk_write_may_be_branch(const rk_explained *item, rk_branch_doubt doubt, size_t count,
                            bool has_others, rk_buf *text) {
    rk_buf_add_text(text, rk_explained_name(item));
    if (count > 1)
        rk_buf_add_format(text, " and %zu more", count - 1);
    const struct doubt_text *words = &doubt_texts[doubt];
    rk_buf_add_format(text, " %s %s%s", count > 1 ? words->several : words->one, words->rest,
                      has_others ? " (other programs leave the question open, too)" : "");
}
