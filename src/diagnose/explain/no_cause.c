// Finds compilations that differ from an earlier one, but not because anything changed.
#include "base/alloc.h"
#include "diagnose/explain/explain_internal.h"
#include "diagnose/explain/operations_internal.h"
#include "diagnose/shapes/dims_internal.h"

static bool is_same_line(const rk_explained *a, const rk_explained *b) {
    return a->is_eager && b->is_eager && a->compile->process == b->compile->process &&
           strcmp(a->compile->name, b->compile->name) == 0 &&
           a->program->sketch.call.hash == b->program->sketch.call.hash;
}

static bool goes_on(const rk_explanation *x, const rk_explained *item) {
    enum { VARIANTS = 4 };
    size_t shapes = 1, constants = 1;
    bool same_axis = true;
    for (size_t i = 0; i < x->count; i++) {
        const rk_explained *other = &x->items[i];
        if (!is_same_line(other, item) || !rk_explained_head(other))
            continue;
        shapes += other->cause == RK_CAUSE_SHAPE;
        constants += other->cause == RK_CAUSE_CONSTANT;
        same_axis &= other->cause == item->cause && rk_same_axis(other, item);
    }
    return same_axis && (shapes >= VARIANTS || constants >= VARIANTS) &&
           (item->cause == RK_CAUSE_SHAPE || item->cause == RK_CAUSE_CONSTANT);
}

static bool is_of_program(rk_cause cause) {
    return cause >= RK_CAUSE_SHAPE && cause <= RK_CAUSE_SHARDING;
}

// Most framework operations have no cause. A job compiles them for each shape at its start, or in
// code that runs once. They count only if one line keeps making variants: with a changing number,
// or a changing size along one axis.
static bool is_operation_of_start(const rk_explanation *x, const rk_explained *item) {
    return item->is_eager && is_of_program(item->cause) && !goes_on(x, item);
}

// Returns whether only one input of a program is more than a single number.
static bool has_one_tensor(const rk_sketch *sketch) {
    rk_dims dims;
    size_t count = 0;
    for (uint32_t i = 0; i < sketch->input_count; i++)
        count += rk_parse_dims(sketch->inputs[i].type, &dims);
    return count == 1;
}

// Returns whether two graphs compute the same and return another one of their values each: two
// reads of the results of one call.
static bool return_other_results(const rk_explained *item) {
    const rk_difference *head = rk_explained_head(item);
    return item->cause == RK_CAUSE_STRUCTURE && item->differences.cause_count == 1 && head->op &&
           strcmp(head->op, "hlo.tuple") == 0 && item->program->sketch.result_count == 1 &&
           item->nearest->sketch.result_count == 1;
}

static bool in_one_step(const rk_steps *steps, const rk_explained *item) {
    uint64_t step = rk_steps_of_compile(steps, item->compile);
    return step != RK_NO_STEP && step == rk_steps_of_compile(steps, item->nearest_of);
}

// Returns whether a graph only makes a tensor, such as zeros in eager mode.
static bool makes_tensor(const rk_sketch *sketch) {
    enum { OPERATIONS_MAX = 8 };
    return sketch->input_count == 0 && sketch->op_count <= OPERATIONS_MAX;
}

// Returns whether a graph of PyTorch/XLA handles another tensor than the one that it was compared
// with: its only tensor has another rank; or both graphs, in one step, read one number (a statistic
// of each parameter, or the loss and the accuracy of an evaluation), or make a tensor (the zeros of
// an optimizer's state).
static bool is_of_another_tensor(const rk_steps *steps, const rk_explained *item) {
    bool is_shape = item->cause == RK_CAUSE_SHAPE, is_constant = item->cause == RK_CAUSE_CONSTANT;
    if (!is_of_program(item->cause) || !item->nearest_of || !rk_explained_is_torch(item) ||
        !item->program->has_sketch || !item->nearest->has_sketch)
        return false;
    const rk_sketch *one = &item->program->sketch, *other = &item->nearest->sketch;
    const rk_difference *head = rk_explained_head(item);
    if (return_other_results(item))
        return true;
    if (is_shape && has_one_tensor(one) && has_one_tensor(other) && head &&
        !rk_same_rank(head->before, head->after))
        return true;
    bool are_reads = !is_constant && rk_is_read(one) && rk_is_read(other);
    bool are_made =
        head && head->kind == RK_DIFFERENCE_SHAPE && makes_tensor(one) && makes_tensor(other);
    return (are_reads || are_made) && in_one_step(steps, item);
}

rk_err *rk_explain_drop_causes(rk_explanation *x, const rk_steps *steps) {
    rk_autofree bool *dropped = rk_calloc(x->count + 1, sizeof *dropped);
    if (!dropped)
        return rk_err_no_memory();
    for (size_t i = 0; i < x->count; i++)
        dropped[i] =
            is_operation_of_start(x, &x->items[i]) ||
            (is_of_another_tensor(steps, &x->items[i]) && !rk_explain_graph_grows(x, &x->items[i]));
    for (size_t i = 0; i < x->count; i++)
        if (dropped[i])
            rk_explained_be_first(&x->items[i]);
    return NULL;
}
