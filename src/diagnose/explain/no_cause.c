// Finds compilations that differ from an earlier one, but not because anything changed.
#include "base/alloc.h"
#include "diagnose/explain/advice_internal.h"
#include "diagnose/explain/explain_internal.h"
#include "diagnose/explain/operations_internal.h"
#include "diagnose/shapes/dims_internal.h"

static bool is_same_line(const rk_explained *a, const rk_explained *b) {
    return a->is_eager && b->is_eager && a->compile->process == b->compile->process &&
           strcmp(a->compile->name, b->compile->name) == 0 &&
           a->program->sketch.call.hash == b->program->sketch.call.hash;
}

// Returns whether both sizes of a matrix differ, and one of the two matrices is no square: they may
// be the weights of two layers, or data of another length and width.
static bool is_of_weights(const rk_difference *d) {
    rk_dims before, after;
    if (d->kind != RK_DIFFERENCE_SHAPE || !rk_is_of_input(d) ||
        !rk_parse_dims(d->before, &before) || !rk_parse_dims(d->after, &after) ||
        before.count != 2 || after.count != 2)
        return false;
    const long long *from = before.sizes, *to = after.sizes;
    return from[0] != to[0] && from[1] != to[1] && (from[0] != from[1] || to[0] != to[1]);
}

static bool takes_weights(const rk_explained *item) {
    for (size_t i = 0; i < item->differences.cause_count; i++)
        if (is_of_weights(&item->differences.items[i]))
            return true;
    return false;
}

static bool goes_on(const rk_explanation *x, const rk_explained *item) {
    enum { VARIANTS = 4 };
    size_t shapes = 1, constants = 1;
    bool same_axis = true;
    for (size_t i = 0; i < x->count; i++) {
        const rk_explained *other = &x->items[i];
        if (!is_same_line(other, item) || !rk_explained_head(other))
            continue;
        if (takes_weights(other))
            return false;
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
    return step != RK_NO_STEP && item->nearest_of->process == item->compile->process &&
           step == rk_steps_of_compile(steps, item->nearest_of);
}

// Returns whether a graph only makes a tensor, such as zeros in eager mode.
static bool makes_tensor(const rk_sketch *sketch) {
    enum { OPERATIONS_MAX = 8 };
    return sketch->input_count == 0 && sketch->op_count <= OPERATIONS_MAX;
}

// Returns whether two graphs have nearly the same number of operations, and not both a line of
// their own. A mask that grows may be put together by some operations more.
static bool have_equally_many(const rk_sketch *a, const rk_sketch *b) {
    enum { TOLERANCE = 20 }; // a part of the operations
    uint32_t more = a->op_count > b->op_count ? a->op_count : b->op_count;
    return rk_operations_apart(a, b) <= more / TOLERANCE &&
           (!rk_has_own_line(a, b) || !rk_has_own_line(b, a));
}

// Returns whether a graph computes a lot for a list of whole numbers, such as the nodes of a mask.
static bool is_large_for_list(const rk_explained *item) {
    enum { OPERATIONS_MIN = 128 };
    const rk_difference *head = rk_explained_head(item);
    return item->program->sketch.op_count >= OPERATIONS_MIN && head && rk_is_list_type(head->after);
}

// Returns whether two graphs of one step are executed equally often: at least as often as there are
// steps, or once, before the steps. Then no size changes from step to step, and the graphs are for
// two tensors, such as two parameters of a model. Exception: a model is called for the nodes of two
// masks.
static bool are_executed_together(const rk_explanation *x, const rk_steps *steps,
                                  const rk_explained *item) {
    enum { STEPS_MIN = 3 };
    if (is_large_for_list(item))
        return false;
    uint64_t count = steps->processes[item->compile->process].count;
    uint64_t executions = rk_explain_executions(x->run, item->compile);
    bool is_of_steps = count >= STEPS_MIN && executions >= count;
    bool is_of_start = executions == 1 && rk_steps_of_compile(steps, item->compile) == 0;
    return (is_of_steps || is_of_start) && in_one_step(steps, item) &&
           executions == rk_explain_executions(x->run, item->nearest_of);
}

// Returns whether two graphs each check a condition of other inputs, equally often, in a process
// without known steps. A loop that makes graphs grow has more operations each time.
static bool are_checks_of_one_call(const rk_explanation *x, const rk_steps *steps,
                                   const rk_explained *item) {
    const rk_sketch *one = &item->program->sketch, *other = &item->nearest->sketch;
    return item->cause == RK_CAUSE_PARAMETERS &&
           steps->processes[item->compile->process].count == 0 && rk_is_check(one) &&
           rk_is_check(other) && one->structure != other->structure &&
           one->op_count <= other->op_count &&
           rk_explain_executions(x->run, item->compile) ==
               rk_explain_executions(x->run, item->nearest_of);
}

// Returns whether a graph of PyTorch/XLA handles another tensor than the one that it was compared
// with: its only tensor has another rank; other operations take an input whose rank differs by two
// or more; both have other shapes and are executed together; or both graphs, in one step, read one
// number (a statistic of each parameter, or the loss and the accuracy of an evaluation), or make a
// tensor (the zeros of an optimizer's state); or both check tensors of two ranks.
static bool is_of_another_tensor(const rk_explanation *x, const rk_steps *steps,
                                 const rk_explained *item) {
    bool is_shape = item->cause == RK_CAUSE_SHAPE, is_constant = item->cause == RK_CAUSE_CONSTANT;
    if (!is_of_program(item->cause) || !item->nearest_of || !rk_explained_is_torch(item) ||
        !item->program->has_sketch || !item->nearest->has_sketch)
        return false;
    const rk_sketch *one = &item->program->sketch, *other = &item->nearest->sketch;
    const rk_difference *head = rk_explained_head(item);
    if (return_other_results(item) || (is_shape && are_executed_together(x, steps, item)) ||
        are_checks_of_one_call(x, steps, item))
        return true;
    if (is_shape && has_one_tensor(one) && has_one_tensor(other) && head &&
        !rk_same_rank(head->before, head->after))
        return true;
    // More than an axis that was squeezed away. (A reshape may follow in a graph with the same
    // operations.)
    if (is_shape && head && head->kind == RK_DIFFERENCE_SHAPE && rk_is_of_input(head) &&
        rk_ranks_apart(head->before, head->after) > 1 && !rk_same_operations(one, other))
        return true;
    // Two checks, of tensors of another rank.
    if (rk_is_check(one) && rk_is_check(other) && head && head->kind == RK_DIFFERENCE_SHAPE &&
        !rk_same_rank(head->before, head->after))
        return true;
    // The same read of another batch, or of a sequence that grows: several tensors have other
    // shapes, or some have the same ones.
    bool is_batch = is_shape && !has_one_tensor(one) &&
                    (one->op_count == other->op_count || have_equally_many(one, other));
    bool are_reads =
        !is_constant && !is_batch && rk_sketch_is_read(one) && rk_sketch_is_read(other);
    // One value each from other inputs: the values of one state that is saved.
    bool are_values = item->cause == RK_CAUSE_PARAMETERS && one->result_count == 1 &&
                      other->result_count == 1 && rk_explain_runs_as_often(x->run, item);
    bool are_made =
        head && head->kind == RK_DIFFERENCE_SHAPE && makes_tensor(one) && makes_tensor(other);
    return (are_reads || are_values || are_made) && in_one_step(steps, item);
}

static size_t count_inputs_of_type(const rk_sketch *sketch, const char *type) {
    return rk_sketch_count_type(sketch->inputs, sketch->input_count, type);
}

static bool returns_type(const rk_sketch *sketch, const char *type) {
    return rk_sketch_count_type(sketch->results, sketch->result_count, type) > 0;
}

// Returns whether an earlier graph of the same step returns a value of the type.
static bool is_returned_in_step(const rk_explanation *x, const rk_steps *steps,
                                const rk_explained *item, const char *type) {
    uint64_t step = rk_steps_of_compile(steps, item->compile);
    for (size_t i = 0; i < x->count; i++) {
        const rk_explained *other = &x->items[i];
        if (other->compile->process == item->compile->process &&
            other->compile->seq < item->compile->seq && other->program &&
            other->program->has_sketch && rk_steps_of_compile(steps, other->compile) == step &&
            returns_type(&other->program->sketch, type))
            return true;
    }
    return false;
}

// Returns whether the difference is an input that only one of the two graphs has, and that another
// graph of the step returns. It cannot be a parameter of the model or its gradient: no other input
// has its type, or it is a number.
static bool is_intermediate(const rk_explanation *x, const rk_steps *steps,
                            const rk_explained *item, const rk_difference *d) {
    rk_dims dims;
    bool is_added = d->kind == RK_DIFFERENCE_PARAMETER_ADDED;
    const char *type = is_added ? d->after : d->before;
    if ((!is_added && d->kind != RK_DIFFERENCE_PARAMETER_REMOVED) || !type ||
        !is_returned_in_step(x, steps, item, type))
        return false;
    return !rk_parse_dims(type, &dims) ||
           count_inputs_of_type(&item->program->sketch, type) +
                   count_inputs_of_type(&item->nearest->sketch, type) ==
               1;
}

// Returns whether each input that only one of two graphs has comes from another piece of the step,
// or the later one computes all that the earlier one does again. (A part of a batch that some
// micro-steps lack comes from the host.) Pieces may return other values.
static bool takes_from_pieces(const rk_explanation *x, const rk_steps *steps,
                              const rk_explained *item) {
    for (size_t i = 0; i < item->differences.cause_count && !rk_does_more(item); i++)
        if (!rk_is_of_result(&item->differences.items[i]) &&
            !is_intermediate(x, steps, item, &item->differences.items[i]))
            return false;
    return true;
}

// Returns whether several inputs have other shapes, along more than one axis: those of another part
// of the model, such as a decoder.
static bool is_of_other_part(const rk_explained *item) {
    enum { INPUTS_MIN = 2 };
    size_t others = 0, axis;
    for (size_t i = 0; i < item->differences.cause_count; i++) {
        const rk_difference *d = &item->differences.items[i];
        others += d->kind == RK_DIFFERENCE_SHAPE && rk_is_of_input(d) &&
                  !rk_only_axis(d->before, d->after, &axis);
    }
    return others >= INPUTS_MIN;
}

// Returns whether two graphs of PyTorch/XLA are pieces of one step, which reads of values cut: both
// are compiled in the same step and executed equally often.
static bool is_piece_of_step(const rk_explanation *x, const rk_steps *steps,
                             const rk_explained *item) {
    if ((item->cause != RK_CAUSE_PARAMETERS && item->cause != RK_CAUSE_STRUCTURE) ||
        !item->nearest_of || !rk_explained_is_torch(item) || !item->program->has_sketch ||
        !item->nearest->has_sketch || !in_one_step(steps, item) || rk_explain_is_of_seed(item))
        return false;
    if (item->cause == RK_CAUSE_PARAMETERS && !takes_from_pieces(x, steps, item) &&
        !is_of_other_part(item))
        return false;
    return rk_explain_runs_as_often(x->run, item);
}

// Returns whether two graphs of PyTorch/XLA ran once each before the steps: pieces of the start. If
// they draw random numbers, there is a cause: the initialization is computed with the first step.
static bool is_piece_of_start(const rk_explanation *x, const rk_steps *steps,
                              const rk_explained *item) {
    bool may_be = item->cause == RK_CAUSE_STRUCTURE ||
                  (item->cause == RK_CAUSE_PARAMETERS && !item->accumulates);
    return may_be && item->nearest_of && rk_explained_is_torch(item) &&
           !rk_explain_is_of_seed(item) && in_one_step(steps, item) &&
           rk_steps_of_compile(steps, item->compile) == 0 &&
           rk_explain_executions(x->run, item->compile) == 1 &&
           rk_explain_executions(x->run, item->nearest_of) == 1;
}

// The characters of an input's argument, if the input is a field of it: 5 for "state.stepsize". 0
// if it is none: "batch['mask']".
static size_t field_of(const rk_difference *d) {
    size_t len = d->attribute && rk_is_of_input(d) ? strcspn(d->attribute, ".[") : 0;
    return len && d->attribute[len] == '.' ? len : 0;
}

static bool is_of_argument(const rk_difference *d, const rk_difference *of) {
    size_t len = field_of(of);
    return len && field_of(d) == len && memcmp(d->attribute, of->attribute, len) == 0;
}

// Returns whether an argument has other fields than in the earlier program: it is an object of
// another class, such as the state of another solver. NULL if not, else such a field.
static const rk_difference *find_other_field(const rk_explained *item) {
    const rk_differences *list = &item->differences;
    for (size_t i = 0; i < list->cause_count; i++)
        for (size_t k = 0; k < list->cause_count; k++)
            if (list->items[i].kind == RK_DIFFERENCE_PARAMETER_ADDED &&
                list->items[k].kind == RK_DIFFERENCE_PARAMETER_REMOVED &&
                is_of_argument(&list->items[i], &list->items[k]))
                return &list->items[i];
    return NULL;
}

// Returns whether the differences of an item are fields of the argument of `field`.
static bool differs_in_argument(const rk_explained *item, const rk_difference *field) {
    const rk_differences *list = &item->differences;
    size_t fields = 0;
    for (size_t i = 0; i < list->cause_count; i++) {
        if (rk_is_of_input(&list->items[i]) && !is_of_argument(&list->items[i], field))
            return false;
        fields += rk_is_of_input(&list->items[i]);
    }
    return fields > 0;
}

static bool may_be_of_other_class(const rk_explained *item) {
    return item->cause == RK_CAUSE_PARAMETERS && !item->accumulates && item->nearest_of &&
           item->nearest_of->process == item->compile->process && item->program &&
           item->program->has_sketch && item->program->sketch.is_mlir;
}

// Returns whether two functions of one name get objects of different classes, as the updates of two
// solvers do that one line calls. One class may have all the fields of another.
static bool is_of_other_class(const rk_explanation *x, const rk_explained *item) {
    if (!may_be_of_other_class(item) || rk_explain_is_of_container(item))
        return false;
    for (size_t i = 0; i < x->count; i++) {
        const rk_explained *other = &x->items[i];
        const rk_difference *field =
            may_be_of_other_class(other) && rk_explained_share_name(other, item) &&
                    rk_is_same_call(&other->program->sketch, &item->program->sketch)
                ? find_other_field(other)
                : NULL;
        if (field && differs_in_argument(item, field))
            return true;
    }
    return false;
}

// Returns whether a library runs the operation before the steps, or for the first of them: it makes
// one layer after the other, and their sizes are no sizes of data.
static rk_err *is_of_library_at_start(const rk_explanation *x, const rk_steps *steps,
                                      const rk_explained *item, bool *out_is) {
    RK_AUTO(rk_loaded) loaded = {0};
    RK_AUTO(rk_stack) stack = {0};
    uint64_t step = rk_steps_of_compile(steps, item->compile);
    *out_is = false;
    if (!item->is_eager || item->cause != RK_CAUSE_SHAPE || step == RK_NO_STEP || step > 1)
        return NULL;
    RK_TRY(rk_corpus_open(x->corpus, item->program, &loaded));
    if (loaded.loaded)
        RK_TRY(rk_stack_take(&loaded.index.call, &stack));
    *out_is = stack.count > 0 && !rk_is_user_frame(&stack.frames[0]);
    return NULL;
}

// Returns whether the shapes are no sizes of data, within one process: those of several tensors for
// which one step calls the function, or of a second model.
static bool is_of_other_tensors(const rk_explanation *x, const rk_steps *steps,
                                const rk_explained *item) {
    if (item->cause != RK_CAUSE_SHAPE || item->is_eager || !item->nearest_of ||
        item->nearest_of->process != item->compile->process || !item->program->has_sketch)
        return false;
    return (in_one_step(steps, item) && rk_explain_is_of_several_tensors(x, item)) ||
           rk_explain_is_of_other_model(x, item);
}

rk_err *rk_explain_drop_causes(rk_explanation *x, const rk_steps *steps) {
    rk_autofree bool *dropped = rk_calloc(x->count + 1, sizeof *dropped);
    if (!dropped)
        return rk_err_no_memory();
    for (size_t i = 0; i < x->count; i++) {
        dropped[i] =
            is_operation_of_start(x, &x->items[i]) || is_piece_of_step(x, steps, &x->items[i]) ||
            is_piece_of_start(x, steps, &x->items[i]) || is_of_other_class(x, &x->items[i]) ||
            is_of_other_tensors(x, steps, &x->items[i]) ||
            (is_of_another_tensor(x, steps, &x->items[i]) &&
             !rk_explain_graph_grows(x, &x->items[i]));
        if (!dropped[i])
            RK_TRY(is_of_library_at_start(x, steps, &x->items[i], &dropped[i]));
    }
    for (size_t i = 0; i < x->count; i++)
        if (dropped[i])
            rk_explained_be_first(&x->items[i]);
    return NULL;
}
