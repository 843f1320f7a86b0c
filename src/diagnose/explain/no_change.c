// Finds causes that need no change: what a healthy job compiles twice.
#include "diagnose/explain/advice_internal.h"
#include "diagnose/explain/operations_internal.h"
#include "diagnose/shapes/dims_internal.h"

bool rk_explain_takes_what_was_zero(const rk_explained *item) {
    return rk_differences_take_what_was_zero(&item->differences);
}

static const char *type_of(const rk_difference *d) {
    return d->after ? d->after : d->before ? d->before : "";
}

// How many inputs of the same type as that of the headline only one of the two programs has.
static size_t count_like_head(const rk_explained *item) {
    const rk_difference *head = rk_explained_head(item);
    size_t count = 0;
    for (size_t i = 0; i < item->differences.cause_count && head && rk_is_input_of_one_side(head);
         i++) {
        const rk_difference *d = &item->differences.items[i];
        count += rk_is_input_of_one_side(d) && strcmp(type_of(d), type_of(head)) == 0;
    }
    return count;
}

static bool has_type(const rk_known *known, const char *type) {
    return known && known->has_sketch &&
           rk_sketch_count_type(known->sketch.inputs, known->sketch.input_count, type) > 0;
}

// Both programs have inputs of the type: a list is hardly ever empty.
static bool may_have_list_of(const rk_explained *item, const char *type) {
    return item->cause == RK_CAUSE_PARAMETERS && !item->accumulates && item->nearest_of &&
           rk_explained_is_torch(item) && !rk_explain_takes_what_was_zero(item) &&
           has_type(item->program, type) && has_type(item->nearest, type);
}

static bool may_take_list(const rk_explained *item) {
    const rk_difference *head = rk_explained_head(item);
    return head && may_have_list_of(item, type_of(head));
}

static bool differs_in(const rk_explained *item, const char *type) {
    for (size_t i = 0; i < item->differences.cause_count; i++)
        if (rk_is_input_of_one_side(&item->differences.items[i]) &&
            strcmp(type_of(&item->differences.items[i]), type) == 0)
            return true;
    return false;
}

// Returns whether two graphs have hardly other operations than those of the inputs that only one of
// them takes, and no lines of their own. A layer that is left out has more, and so has a branch.
static bool keeps_operations(const rk_explained *item) {
    enum { OPERATIONS_MAX = 4 }; // of an input: it is reshaped, and put together with others
    const rk_sketch *a = &item->nearest->sketch, *b = &item->program->sketch;
    return rk_operations_apart(a, b) <= OPERATIONS_MAX * item->differences.cause_count &&
           !rk_has_own_line(a, b) && !rk_has_own_line(b, a);
}

// Returns whether the graphs that differ in inputs of one type take many numbers of them.
static bool has_many_counts(const rk_explanation *x, const char *type) {
    enum { COUNTS_MIN = 5 };
    size_t counts[COUNTS_MIN], found = 0;
    for (size_t i = 0; i < x->count && found < COUNTS_MIN; i++) {
        const rk_explained *item = &x->items[i];
        if (!differs_in(item, type) || !may_have_list_of(item, type) || !keeps_operations(item))
            continue;
        const rk_sketch *sketch = &item->program->sketch;
        size_t count = rk_sketch_count_type(sketch->inputs, sketch->input_count, type), at = 0;
        while (at < found && counts[at] != count)
            at++;
        if (at == found)
            counts[found++] = count;
    }
    return found == COUNTS_MIN;
}

static bool takes_many_counts(const rk_explanation *x, const rk_explained *item) {
    for (size_t i = 0; i < item->differences.cause_count; i++) {
        const rk_difference *d = &item->differences.items[i];
        bool is_told = i > 0 && strcmp(type_of(d), type_of(d - 1)) == 0;
        if (!is_told && rk_is_input_of_one_side(d) && may_have_list_of(item, type_of(d)) &&
            keeps_operations(item) && has_many_counts(x, type_of(d)))
            return true;
    }
    return false;
}

// Returns whether the number of inputs of one type differs from graph to graph of PyTorch/XLA: a
// list of another length each time, such as the values of an episode. One or two such inputs may be
// optional ones, unless several other graphs differ by more, or the graphs take many numbers of
// them.
static bool takes_lists(const rk_explanation *x, const rk_explained *item) {
    enum { INPUTS_MIN = 3, OTHERS_MIN = 2 };
    size_t others = 0, linked = 0;
    for (size_t i = 0; i < x->count && may_take_list(item); i++) {
        const rk_explained *other = &x->items[i];
        if (other == item || !may_take_list(other) || count_like_head(other) < INPUTS_MIN ||
            strcmp(type_of(rk_explained_head(other)), type_of(rk_explained_head(item))) != 0)
            continue;
        others++;
        linked += other->nearest == item->program || item->nearest == other->program ||
                  other->nearest == item->nearest;
    }
    return others >= OTHERS_MIN || (linked && count_like_head(item) >= INPUTS_MIN) ||
           takes_many_counts(x, item);
}

// Returns whether only one of the two graphs takes the input, and does not have a constant in its
// place.
static bool is_tensor_of_one_side(const rk_difference *d) {
    return rk_is_input_of_one_side(d) && !d->constant;
}

// Returns whether a graph takes another number of tensors of one type than a graph of an earlier
// start: perhaps a list of them has another length.
static bool takes_other_list(const rk_explained *item) {
    enum { INPUTS_MIN = 3 };
    const rk_differences *list = &item->differences;
    if (item->cause != RK_CAUSE_PARAMETERS || !rk_explained_is_torch(item) || item->nearest_of)
        return false;
    for (size_t i = 0; i < list->cause_count; i++) {
        const rk_difference *d = &list->items[i];
        size_t like = 0;
        for (size_t k = 0; k < list->cause_count && is_tensor_of_one_side(d); k++)
            like += list->items[k].kind == d->kind && is_tensor_of_one_side(&list->items[k]) &&
                    rk_same_text(list->items[k].before, d->before) &&
                    rk_same_text(list->items[k].after, d->after);
        if (like >= INPUTS_MIN)
            return true;
    }
    return false;
}

static bool has_input(const rk_explained *item) {
    for (size_t i = 0; i < item->differences.cause_count; i++)
        if (rk_is_input_of_one_side(&item->differences.items[i]))
            return true;
    return false;
}

// Returns whether the inputs that were constants are an optimizer's state: the program returns or
// takes several values of each type, as a parameter and its moving averages. (A read in the middle
// of a step returns no state.) Each new optimizer starts with the constants again, so the earlier
// program may run more than once.
static bool is_state_of_optimizer(const rk_explained *item) {
    enum { RETURNED_MIN = 2, TAKEN_MIN = 3 };
    const rk_sketch *sketch = &item->program->sketch;
    if (!item->program->has_sketch || !rk_explain_takes_what_was_zero(item))
        return false;
    for (size_t i = 0; i < item->differences.cause_count; i++) {
        const rk_difference *d = &item->differences.items[i];
        if (!rk_was_zero(d) || !d->after)
            continue;
        if (rk_sketch_count_type(sketch->results, sketch->result_count, d->after) < RETURNED_MIN &&
            rk_sketch_count_type(sketch->inputs, sketch->input_count, d->after) < TAKEN_MIN)
            return false;
    }
    return true;
}

// Returns whether two lines call functions of one name that return other values: two functions of a
// library, such as the updates of two solvers.
static bool are_two_updates(const rk_explained *item) {
    const double same_results_min = 0.5;
    const rk_known *before = item->nearest, *after = item->program;
    return after->has_sketch && before->has_sketch && after->sketch.is_mlir &&
           !rk_is_same_call(&before->sketch, &after->sketch) &&
           rk_same_results(&before->sketch, &after->sketch) < same_results_min;
}

// Returns whether two lines call functions of one name that each have several inputs of their own:
// two functions of a library, such as the steps of two samplers.
static bool have_own_inputs(const rk_explained *item) {
    enum { OWN_MIN = 3 };
    size_t added = 0, removed = 0;
    for (size_t i = 0; i < item->differences.cause_count; i++) {
        const rk_difference *d = &item->differences.items[i];
        added += rk_is_input_of_one_side(d) && d->kind == RK_DIFFERENCE_PARAMETER_ADDED;
        removed += rk_is_input_of_one_side(d) && d->kind == RK_DIFFERENCE_PARAMETER_REMOVED;
    }
    return added >= OWN_MIN && removed >= OWN_MIN && item->program->sketch.is_mlir;
}

// Returns whether the first call of a function of JAX gets a Python number, and all others get an
// array: the user can pass an array each time.
static bool takes_number_first(const rk_explained *item) {
    return item->differences.cause_count == 1 && rk_explained_is_constant(item) &&
           !rk_explained_is_torch(item);
}

// Returns whether the programs have nearly as many operations: an optimizer's state does not make
// a step much longer. A step of other length is another branch, or another number of iterations.
static bool has_similar_size(const rk_explained *item) {
    enum { FEW = 32 };
    const double apart_max = 0.25;
    if (!item->program->has_sketch || !item->nearest->has_sketch)
        return true;
    const rk_sketch *a = &item->nearest->sketch, *b = &item->program->sketch;
    uint32_t smaller = a->op_count < b->op_count ? a->op_count : b->op_count;
    uint32_t apart = rk_operations_apart(a, b);
    return rk_explain_takes_what_was_zero(item) || apart <= FEW || apart <= apart_max * smaller;
}

// Returns whether the program of a request is no version of an earlier one of this run, or is one
// that the first step leads to (`is_startup`).
static bool is_of_start(const rk_explanation *x, const rk_run_compile *request) {
    const rk_explained *item = rk_explained_of(x, request);
    return !item || !item->nearest_of || item->cause == RK_CAUSE_FIRST || item->is_startup;
}

// Returns whether the later program takes no value that the earlier one returns, although it has
// additional inputs: in JAX, an option of the call is a Python value in one of them. In
// PyTorch/XLA, a graph that was executed once may compute the argument of a call.
static bool takes_no_result(const rk_run_model *run, const rk_explained *item) {
    const rk_sketch *before = &item->nearest->sketch;
    bool takes = false;
    if (!item->nearest->has_sketch ||
        (!before->is_mlir &&
         (rk_explain_executions(run, item->compile) != 1 || rk_explain_takes_what_was_zero(item))))
        return false;
    for (size_t i = 0; i < item->differences.cause_count; i++) {
        const rk_difference *d = &item->differences.items[i];
        if (!rk_is_of_input(d) || d->kind != RK_DIFFERENCE_PARAMETER_ADDED || !d->after)
            continue;
        takes = true;
        if (rk_sketch_count_type(before->results, before->result_count, d->after))
            return false;
    }
    return takes;
}

// Returns whether single numbers differ, one of which is 1, -1 or -0 in one of the two graphs, and
// the first of which only the earlier graph takes.
static bool becomes_special_number(const rk_explained *item) {
    return rk_explain_has_special_number(item) &&
           rk_explained_head(item)->kind == RK_DIFFERENCE_PARAMETER_REMOVED;
}

// A transition in one direction: the first step creates an optimizer's state, all others take it.
// The executions of a process that was killed are not known (0).
static bool is_startup(const rk_explanation *x, const rk_explained *item) {
    const rk_run_model *run = x->run;
    const rk_run_compile *before = item->nearest_of;
    uint64_t executions = before ? rk_explain_executions(run, before) : 0;
    bool is_state = rk_explain_takes_state_of_few(item);
    return item->cause == RK_CAUSE_PARAMETERS && !item->accumulates && before && has_input(item) &&
           !are_two_updates(item) && !takes_number_first(item) && !takes_no_result(run, item) &&
           !rk_explain_is_of_container(item) && before->process == item->compile->process &&
           !becomes_special_number(item) &&
           ((executions == 1 && has_similar_size(item) && is_of_start(x, before)) ||
            (executions == 0 && rk_explain_takes_what_was_zero(item)) ||
            is_state_of_optimizer(item) || is_state) &&
           (rk_explain_executions(run, item->compile) >= 2 || rk_explain_is_new_for_good(x, item) ||
            rk_explain_takes_what_was_zero(item) || is_state);
}

static bool is_after_first_step(const rk_explanation *x, const rk_run_compile *request) {
    const rk_explained *item = rk_explained_of(x, request);
    return item && item->step != RK_NO_STEP && item->step > 1;
}

// Returns whether only the earlier one of two graphs of PyTorch/XLA takes or returns some values,
// and was executed once, in the first step: these may be values that were computed before it.
static bool follows_start(const rk_explanation *x, const rk_explained *item) {
    const rk_run_compile *before = item->nearest_of;
    if (item->cause != RK_CAUSE_PARAMETERS || !rk_explained_is_torch(item) || !before ||
        item->is_startup || before->process != item->compile->process ||
        rk_explain_executions(x->run, before) != 1 || !is_of_start(x, before) ||
        is_after_first_step(x, before) || !has_input(item))
        return false;
    for (size_t i = 0; i < item->differences.cause_count; i++) {
        const rk_difference *d = &item->differences.items[i];
        if (d->kind == RK_DIFFERENCE_PARAMETER_ADDED || d->constant)
            return false;
    }
    return true;
}

// Returns whether the request is the first of its process for this function and line.
static bool is_first_of_line(const rk_explainer *e, const rk_explained *item) {
    const rk_sketch *sketch = &item->program->sketch;
    rk_span name = rk_program_index_bare_name(rk_span_text(sketch->module));
    for (size_t i = 0; i < e->run->compile_count && &e->run->compiles[i] != item->compile; i++) {
        const rk_known *other = e->seen[i];
        if (e->run->compiles[i].process == item->compile->process && other && other->has_sketch &&
            rk_is_same_call(&other->sketch, sketch) &&
            rk_span_equal(rk_program_index_bare_name(rk_span_text(other->sketch.module)), name))
            return false;
    }
    return true;
}

// Returns whether the process requested only one program for this function and line.
static bool is_only_program(const rk_explainer *e, size_t process, const rk_known *known) {
    const rk_sketch *sketch = &known->sketch;
    rk_span name = rk_program_index_bare_name(rk_span_text(sketch->module));
    for (size_t i = 0; i < e->run->compile_count; i++) {
        const rk_known *other = e->seen[i];
        if (e->run->compiles[i].process == process && other && other != known &&
            other->has_sketch && rk_is_same_call(&other->sketch, sketch) &&
            rk_span_equal(rk_program_index_bare_name(rk_span_text(other->sketch.module)), name))
            return false;
    }
    return true;
}

static bool may_be_meant(const rk_explained *item) {
    return (item->cause == RK_CAUSE_SHAPE || item->cause == RK_CAUSE_CONSTANT ||
            item->cause == RK_CAUSE_STRUCTURE || item->cause == RK_CAUSE_PARAMETERS) &&
           !item->accumulates && !item->is_eager;
}

// Two lines call one function, each with a program of its own: training and evaluation. With other
// inputs, each may also have several programs: two models, whose steps have one name.
static bool is_own_call(const rk_explainer *e, const rk_explained *item) {
    size_t process = item->compile->process;
    if (!may_be_meant(item) || !item->nearest_of || item->nearest_of->process != process ||
        !item->program->has_sketch || !item->nearest->has_sketch)
        return false;
    const rk_sketch *one = &item->program->sketch, *other = &item->nearest->sketch;
    if (!one->call.line || !other->call.line || rk_is_same_call(one, other))
        return false;
    if (item->cause == RK_CAUSE_PARAMETERS && is_first_of_line(e, item))
        return true;
    return is_only_program(e, process, item->program) && is_only_program(e, process, item->nearest);
}

// Returns whether two lines call two functions of one name: many operations differ, and each has
// some of its own. A library may give one name to several functions. (A function with another
// number of iterations only has more operations.)
static bool calls_another_function(const rk_explained *item) {
    enum { CAUSES_MIN = 8 };
    size_t added = 0, removed = 0;
    for (size_t i = 0; i < item->differences.cause_count; i++) {
        added += item->differences.items[i].kind == RK_DIFFERENCE_OP_ADDED;
        removed += item->differences.items[i].kind == RK_DIFFERENCE_OP_REMOVED;
    }
    return item->is_own_call && item->cause == RK_CAUSE_STRUCTURE && added && removed &&
           added + removed >= CAUSES_MIN;
}

// The number of rows in the type, which are its axis `axis`; -1 if there is none.
static int64_t rows_of(const char *type, size_t axis) {
    rk_dims dims;
    return rk_parse_dims(type, &dims) && axis < dims.count ? dims.sizes[axis] : -1;
}

// Returns whether two programs are versions of one function: one line calls both. This line may
// call the function for training and for evaluation, with other operations. All graphs of
// PyTorch/XLA have one name, and a model's lines are in those of training and evaluation: there the
// two were compared with each other, or with one program.
static bool are_versions(const rk_explained *a, const rk_explained *b) {
    const rk_sketch *one = &a->program->sketch, *other = &b->program->sketch;
    bool are_linked =
        a->nearest == b->nearest || a->nearest == b->program || b->nearest == a->program;
    bool are_alike = !rk_explained_is_torch(a) &&
                     (rk_same_operations(one, other) || rk_have_same_kinds(one, other));
    return rk_is_same_call(one, other) && (are_linked || are_alike);
}

// Returns whether a third program of the same call has another number of rows than the item and the
// program that it was compared with: the sizes are lengths of the data, and none is a last batch.
static bool has_many_sizes(const rk_explanation *x, const rk_explained *item) {
    const rk_difference *head = rk_explained_head(item);
    const size_t axis = rk_axis_of_rows(item);
    if (item->cause != RK_CAUSE_SHAPE || !head || !item->program || !item->program->has_sketch)
        return false;
    for (size_t i = 0; i < x->count; i++) {
        const rk_explained *other = &x->items[i];
        const rk_difference *its = rk_explained_head(other);
        if (other->cause != RK_CAUSE_SHAPE || !its || !other->program ||
            !other->program->has_sketch || other->compile->process != item->compile->process ||
            !rk_explained_share_name(other, item) || !rk_is_on_same_line(its, head) ||
            !are_versions(other, item))
            continue;
        int64_t rows = rows_of(its->after, axis);
        if (rows >= 0 && rows != rows_of(head->after, axis) && rows != rows_of(head->before, axis))
            return true;
    }
    return false;
}

// Moves the inputs that were zeros to the front: all numbers, or all tensors.
static void lead_with(rk_explained *item, bool tensors) {
    rk_differences *list = &item->differences;
    size_t front = 0;
    for (size_t i = 0; i < list->cause_count; i++) {
        rk_dims dims;
        const rk_difference *d = &list->items[i];
        if (rk_was_zero(d) && (rk_parse_dims(d->after, &dims) && dims.count > 0) == tensors)
            rk_differences_move(list, i, front++);
    }
}

// Shows the inputs that were zeros first, tensors before numbers. The others, such as values for a
// log that are computed with the next step, do not show why there is nothing to fix.
static void lead_with_zeros(rk_explained *item) {
    lead_with(item, false);
    lead_with(item, true);
    rk_differences_number(&item->differences);
}

void rk_explain_find_many_sizes(rk_explanation *x) {
    for (size_t i = 0; i < x->count; i++)
        x->items[i].has_many_sizes = has_many_sizes(x, &x->items[i]);
}

void rk_explain_find_no_change(const rk_explainer *e, rk_explained *item) {
    item->takes_lists = takes_lists(e->out, item);
    item->takes_other_list = takes_other_list(item);
    if (item->takes_lists)
        return;
    item->is_part = rk_does_part_once(e->run, item);
    item->is_startup = !item->is_part && is_startup(e->out, item);
    if (item->is_startup && rk_explain_takes_what_was_zero(item))
        lead_with_zeros(item);
    item->follows_start = follows_start(e->out, item);
    item->is_own_call = !rk_explained_needs_no_change(item) && is_own_call(e, item);
    bool are_two = item->is_own_call && item->cause == RK_CAUSE_PARAMETERS &&
                   (are_two_updates(item) || have_own_inputs(item));
    if (are_two || calls_another_function(item)) {
        rk_explained_be_first(item);
        item->is_own_call = false;
    }
}
