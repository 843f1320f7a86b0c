// Tells versions of one function from different functions of one name.
#include <string.h>

#include "diagnose/explain/explain_internal.h"
#include "diagnose/explain/operations_internal.h"
#include "diagnose/shapes/dims_internal.h"

// Returns whether each of two programs has many operations of its own. A size may add operations
// (an unrolled loop), but it does not replace them.
static bool are_replaced(const rk_program_diff *diff) {
    enum { REPLACED_MIN = 8, PARTS_OF_MATCHED = 20 };
    size_t both = diff->added < diff->removed ? diff->added : diff->removed;
    return both >= REPLACED_MIN && PARTS_OF_MATCHED * both >= diff->matched;
}

// Returns whether one of two programs lacks many operations of the other, and an input has another
// rank: jax.vmap adds an axis to a function that another line calls without it.
static bool are_mapped_apart(const rk_program_diff *diff, const rk_sketch *a, const rk_sketch *b) {
    enum { PARTS_OF_MATCHED = 4 };
    const rk_differences *list = &diff->list;
    if (!a->is_mlir || !b->is_mlir || diff->cause != RK_CAUSE_SHAPE || rk_is_same_call(a, b) ||
        PARTS_OF_MATCHED * (diff->added + diff->removed) < diff->matched)
        return false;
    for (size_t i = 0; i < list->cause_count; i++)
        if (list->items[i].kind == RK_DIFFERENCE_SHAPE && rk_is_of_input(&list->items[i]) &&
            !rk_same_rank(list->items[i].before, list->items[i].after))
            return true;
    return false;
}

static bool has_kind(const rk_differences *list, rk_difference_kind kind) {
    for (size_t i = 0; i < list->cause_count; i++)
        if (list->items[i].kind == kind)
            return true;
    return false;
}

// Returns whether each of two programs has inputs, operations and functions of its own. A library
// gives one name to all functions that it wraps.
static bool are_called_apart(const rk_program_diff *diff, const rk_sketch *a, const rk_sketch *b) {
    return has_kind(&diff->list, RK_DIFFERENCE_PARAMETER_ADDED) &&
           has_kind(&diff->list, RK_DIFFERENCE_PARAMETER_REMOVED) && are_replaced(diff) &&
           rk_have_own_functions(a, b);
}

// Returns whether one call takes two functions of the user as a static argument: each program has
// operations of its own, in functions of its own, and they are a good part of it.
static bool call_other_functions(const rk_program_diff *diff, const rk_sketch *a,
                                 const rk_sketch *b) {
    enum { OWN_MIN = 4, PARTS_OF_MATCHED = 10 };
    size_t own = diff->added < diff->removed ? diff->added : diff->removed;
    return a->is_mlir && b->is_mlir && rk_is_same_call(a, b) && own >= OWN_MIN &&
           PARTS_OF_MATCHED * own >= diff->matched && rk_use_own_functions(a, b);
}

static size_t count_inputs(const rk_differences *list, rk_difference_kind kind) {
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        const rk_difference *d = &list->items[i];
        count += d->kind == kind && rk_is_of_input(d);
    }
    return count;
}

// Returns whether an input tells two models apart: no single number, and not only another number of
// rows.
static bool is_of_model(const rk_difference *d) {
    rk_dims dims;
    size_t axis;
    if (!rk_is_of_input(d))
        return false;
    if (d->kind == RK_DIFFERENCE_SHAPE)
        return !rk_only_axis(d->before, d->after, &axis) || axis > 0;
    const char *type = d->after ? d->after : d->before;
    return type && rk_parse_dims(type, &dims);
}

static size_t count_of_model(const rk_differences *list, rk_difference_kind kind) {
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++)
        count += list->items[i].kind == kind && is_of_model(&list->items[i]);
    return count;
}

// Returns whether two graphs of PyTorch/XLA are of two models, such as the two networks of a GAN:
// each has inputs of its own, or one has and several others have other shapes, and they return
// different values. All graphs have one name, and no input has one.
static bool are_of_two_models(const rk_differences *list, const rk_sketch *a, const rk_sketch *b) {
    enum { OWN_INPUTS_MIN = 4, OTHER_SHAPES_MIN = 4, ONE_SIDED_MIN = 2 };
    const double same_results_min = 0.8;
    size_t added = count_inputs(list, RK_DIFFERENCE_PARAMETER_ADDED),
           removed = count_inputs(list, RK_DIFFERENCE_PARAMETER_REMOVED);
    bool have_own = added >= OWN_INPUTS_MIN && removed >= OWN_INPUTS_MIN;
    bool have_other = count_of_model(list, RK_DIFFERENCE_SHAPE) >= OTHER_SHAPES_MIN &&
                      count_of_model(list, RK_DIFFERENCE_PARAMETER_ADDED) +
                              count_of_model(list, RK_DIFFERENCE_PARAMETER_REMOVED) >=
                          ONE_SIDED_MIN;
    return (have_own || have_other) && rk_same_results(a, b) < same_results_min;
}

// Returns whether two graphs of PyTorch/XLA return nothing in common, such as an image that is read
// in the middle of an evaluation, and the graph that the barrier after it executes. With other
// sizes, the results may have other sizes, too, but then the operations are the same. Exception:
// two graphs for one value each with nearly the same operations, such as another k of torch.topk. A
// check and another value are none.
static bool return_other_values(const rk_program_diff *diff, const rk_sketch *a,
                                const rk_sketch *b) {
    enum { NEARLY_ALL = 20 };
    bool are_versions = a->result_count == 1 && b->result_count == 1 &&
                        rk_is_check(a) == rk_is_check(b) &&
                        NEARLY_ALL * (diff->added + diff->removed) <= diff->matched;
    return a->result_count && b->result_count && rk_same_results(a, b) == 0 &&
           (!has_kind(&diff->list, RK_DIFFERENCE_SHAPE) || are_replaced(diff)) &&
           !has_kind(&diff->list, RK_DIFFERENCE_DTYPE) && !are_versions;
}

static bool has_names(const rk_sketch *sketch) {
    for (uint32_t i = 0; i < sketch->input_count; i++)
        if (sketch->inputs[i].name[0])
            return true;
    return false;
}

static bool has_one_sided(const rk_differences *list, bool added, const char *op,
                          const char *type) {
    for (size_t i = 0; i < list->count; i++) {
        const rk_difference *d = &list->items[i];
        const char *is = added ? d->after : d->before;
        if (d->kind == (added ? RK_DIFFERENCE_PARAMETER_ADDED : RK_DIFFERENCE_PARAMETER_REMOVED) &&
            d->op && strcmp(d->op, op) == 0 && is && strcmp(is, type) == 0)
            return true;
    }
    return false;
}

// Returns whether one of two programs may be a derivative of the other: jax.grad outside of jit
// calls the forward and the backward pass with one name, on one line, and without names of inputs.
// The backward pass takes values that the forward pass returns for it.
static bool is_derivative(const rk_differences *list, const rk_sketch *earlier,
                          const rk_sketch *later) {
    if (!earlier->is_mlir || !later->is_mlir || (has_names(earlier) && has_names(later)))
        return false;
    if (has_names(earlier) || has_names(later)) // the inputs of a call of the user have names
        return earlier->input_count && later->input_count;
    for (uint32_t i = 0; i < earlier->result_count; i++)
        if (has_one_sided(list, false, "result", earlier->results[i].type) &&
            has_one_sided(list, true, "parameter", earlier->results[i].type))
            return true;
    return false;
}

// The name of the argument of the user's function that an input is a part of: "params" for
// "params['w'][0]". Empty if inputs have no names.
static rk_span argument_of(const rk_sketch_value *input) {
    return rk_span_of(input->name, strcspn(input->name, ".["));
}

// Returns whether the first program takes an argument that the second one does not have.
static bool has_own_argument(const rk_sketch *a, const rk_sketch *b) {
    for (uint32_t i = 0; i < a->input_count; i++) {
        rk_span argument = argument_of(&a->inputs[i]);
        bool found = !argument.len;
        for (uint32_t j = 0; j < b->input_count && !found; j++)
            found = rk_span_equal(argument_of(&b->inputs[j]), argument);
        if (!found)
            return true;
    }
    return false;
}

// Returns whether two lines call functions with other arguments. A library may give one name to all
// functions that it wraps.
static bool have_other_arguments(const rk_sketch *a, const rk_sketch *b) {
    return a->is_mlir && b->is_mlir && !rk_is_same_call(a, b) && has_own_argument(a, b) &&
           has_own_argument(b, a);
}

// Returns whether two calls of a primitive outside of jit (jit_scan), whose name does not identify
// the function, have inputs of their own.
static bool are_other_primitives(const rk_differences *list, const rk_sketch *later) {
    return rk_sketch_is_primitive(later) && count_inputs(list, RK_DIFFERENCE_PARAMETER_ADDED) > 0 &&
           count_inputs(list, RK_DIFFERENCE_PARAMETER_REMOVED) > 0;
}

// Returns whether two functions that jax.pmap made, which all have one name, return other values.
static bool are_other_mapped(const rk_sketch *earlier, const rk_sketch *later) {
    const double same_results_min = 0.5;
    return rk_is_name_of_pmap(rk_program_index_bare_name(rk_span_text(later->module))) &&
           rk_same_results(earlier, later) < same_results_min;
}

static bool take_other_inputs(const rk_program_diff *diff, const rk_sketch *earlier,
                              const rk_sketch *later) {
    return rk_sketch_is_read(earlier) != rk_sketch_is_read(later) ||
           are_other_mapped(earlier, later) || have_other_arguments(earlier, later) ||
           are_other_primitives(&diff->list, later);
}

// Returns whether two graphs check conditions with other operations. Each graph returns only true
// or false, and the check is a part of it. A graph that grows has all operations of the earlier
// one.
static bool are_other_checks(const rk_sketch *a, const rk_sketch *b) {
    return rk_is_check(a) && rk_is_check(b) &&
           (!rk_have_same_kinds(a, b) ||
            (rk_contained_operations(a, b) < 1 && rk_contained_operations(b, a) < 1));
}

bool rk_is_other_function(const rk_program_diff *diff, const rk_known *earlier,
                          const rk_explained *item) {
    bool parameters = diff->cause == RK_CAUSE_PARAMETERS, torch = rk_explained_is_torch(item);
    bool structure = diff->cause == RK_CAUSE_STRUCTURE;
    bool shape = diff->cause == RK_CAUSE_SHAPE || // or a branch comes with another shape
                 (structure && count_inputs(&diff->list, RK_DIFFERENCE_SHAPE));
    if (!earlier->has_sketch || !item->program->has_sketch)
        return false;
    const rk_sketch *a = &earlier->sketch, *b = &item->program->sketch;
    if (rk_are_training_and_evaluation(a, b))
        return true;
    if (torch && (parameters || shape || structure) && return_other_values(diff, a, b))
        return true;
    if (torch && structure && diff->returns_other_line) // a loss and an accuracy are read
        return true;
    if (torch && diff->returns_other_package_line)
        return true;
    // Another number may add or remove operations, but does not replace them.
    if (torch && diff->cause == RK_CAUSE_CONSTANT && are_replaced(diff))
        return true;
    if (torch && (parameters || structure) && are_other_checks(a, b))
        return true;
    if (!parameters && !shape)
        return false;
    return (!parameters && are_replaced(diff)) || are_mapped_apart(diff, a, b) ||
           are_called_apart(diff, a, b) ||
           (parameters && (take_other_inputs(diff, a, b) || call_other_functions(diff, a, b))) ||
           (torch && are_of_two_models(&diff->list, a, b)) || is_derivative(&diff->list, a, b) ||
           rk_are_two_functions(a, b, parameters);
}
