// Compares a program with the most similar earlier one.
#include "diagnose/diff/known.h"
#include "diagnose/explain/explain_internal.h"
#include "diagnose/explain/operations_internal.h"
#include "diagnose/shapes/dims_internal.h"

// The earlier program with the fewest changes so far.
typedef struct choice {
    rk_nearest_candidate candidate; // `known` is NULL if there is none
    rk_known_diff diff;             // owned
} choice;

// Returns whether a program that this run compiled before shows the same change since an earlier
// start. One changed learning rate changes several programs.
static bool is_known_change(const void *context, const rk_difference *difference) {
    const rk_explanation *x = context;
    for (size_t i = 0; i < x->count; i++) {
        const rk_explained *item = &x->items[i];
        if (item->nearest && !item->nearest_of && rk_has_change(&item->differences, difference))
            return true;
    }
    return false;
}

// Returns whether candidate `b` is a program of the first step of this run, before the optimizer
// had a state, and candidate `a` is a later program that takes the same inputs as the explained
// one.
static bool has_state_unlike(const choice *a, const choice *b, const rk_known *program) {
    const rk_run_compile *later = a->candidate.request, *first = b->candidate.request;
    return later && first && later->process == first->process && later->seq > first->seq &&
           rk_differences_take_what_was_zero(&b->diff.diff.list) && program->has_sketch &&
           a->candidate.known->has_sketch &&
           rk_same_types_in_any_order(&a->candidate.known->sketch, &program->sketch);
}

// Returns whether candidate `b` is a graph of another step of an earlier start than candidate `a`:
// only one of `b` and the explained program takes the state of an optimizer, and `a` takes the same
// inputs as the explained one.
static bool is_of_same_step_unlike(const choice *a, const choice *b, const rk_known *program) {
    return !a->candidate.request && !b->candidate.request && program->has_sketch &&
           !program->sketch.is_mlir && a->candidate.known->has_sketch &&
           rk_same_types_in_any_order(&a->candidate.known->sketch, &program->sketch) &&
           rk_differences_are_of_zeros(&b->diff.diff.list);
}

// Returns whether two graphs of PyTorch/XLA differ only in shapes and constants: one part of a step
// or of an evaluation, for other sizes. All graphs have names of no meaning.
static bool has_structure_of(const choice *one, const rk_known *program) {
    const rk_known *known = one->candidate.known;
    return program->has_sketch && known->has_sketch && !program->sketch.is_mlir &&
           known->sketch.op_count == program->sketch.op_count &&
           known->sketch.structure == program->sketch.structure;
}

// Returns whether two programs have the same inputs and operations in any order.
static bool have_same_parts(const rk_sketch *a, const rk_sketch *b) {
    return a->op_count == b->op_count && rk_contained_operations(a, b) >= 1 &&
           rk_same_types_in_any_order(a, b);
}

// Returns whether the candidate, a graph of PyTorch/XLA in an earlier start, has the same inputs
// and operations in any order. A job that loops over a set of tensors has another order in each
// start.
static bool is_permutation_of(const choice *one, const rk_known *program) {
    const rk_known *known = one->candidate.known;
    return !one->candidate.request && program->has_sketch && known->has_sketch &&
           !program->sketch.is_mlir && have_same_parts(&known->sketch, &program->sketch);
}

// A single number that only one of two graphs takes, and that is a constant in the other one.
static bool is_number_as_constant(const rk_difference *d) {
    return rk_is_input_of_one_side(d) && d->constant &&
           rk_is_single_value(d->before ? d->before : d->after);
}

// Returns whether such numbers are all that differs between two graphs of this run: then nothing is
// open.
static bool is_of_numbers_alone(const choice *one, const rk_known *program) {
    const rk_differences *list = &one->diff.diff.list;
    if (!one->candidate.request || !program->has_sketch || program->sketch.is_mlir)
        return false;
    for (size_t i = 0; i < list->cause_count; i++)
        if (!is_number_as_constant(&list->items[i]))
            return false;
    return list->cause_count > 0;
}

// An earlier start in the same environment is preferred to the latest start in another environment.
// A program of this run is not preferred only because the earlier start ran in another environment.
static bool is_better(const choice *a, const choice *b, const rk_known *program, unsigned source) {
    if (!b->candidate.known)
        return true;
    if (a->candidate.failed != b->candidate.failed)
        return b->candidate.failed;
    if (a->diff.elsewhere != b->diff.elsewhere)
        return b->diff.elsewhere && source != RK_NEAREST_SIBLING;
    if (has_state_unlike(a, b, program) || has_state_unlike(b, a, program))
        return has_state_unlike(a, b, program);
    if (is_of_same_step_unlike(a, b, program) != is_of_same_step_unlike(b, a, program))
        return is_of_same_step_unlike(a, b, program);
    if (is_permutation_of(a, program) != is_permutation_of(b, program))
        return is_permutation_of(a, program);
    if (has_structure_of(a, program) != has_structure_of(b, program))
        return has_structure_of(a, program);
    if (a->diff.changes == b->diff.changes && a->candidate.request && b->candidate.request)
        return is_of_numbers_alone(a, program) && !is_of_numbers_alone(b, program);
    return a->diff.changes < b->diff.changes;
}

// Nothing can be closer than one change: the candidates of a source are sorted. There are two
// exceptions for graphs of PyTorch/XLA. A graph with one input more or less may be of an
// evaluation; a later candidate may then be the same part of the step for another size. A graph of
// an earlier start with other sizes may come before the same graph in another order.
static bool is_final(const choice *best, const rk_known *program) {
    if (!best->candidate.known || best->diff.changes > 1 || best->diff.elsewhere ||
        best->candidate.failed)
        return false;
    bool may_be_other = best->diff.diff.cause == RK_CAUSE_PARAMETERS ||
                        (best->diff.diff.cause == RK_CAUSE_SHAPE && !best->candidate.request);
    return !may_be_other || !program->has_sketch || program->sketch.is_mlir;
}

// Returns whether the candidate is another function of this run. Between runs, the source may have
// been edited as well.
static bool is_other_function(const choice *trial, const rk_explained *item) {
    return trial->candidate.request &&
           rk_is_other_function(&trial->diff.diff, trial->candidate.known, item);
}

static rk_err *try_source(const rk_explainer *e, size_t index, const rk_loaded *loaded,
                          const rk_explained *item, unsigned source, choice *best) {
    rk_nearest_candidate candidates[RK_COUNTERPARTS_MAX];
    if (is_final(best, item->program))
        return NULL;
    size_t count = rk_explain_candidates(e, index, source, candidates);
    const rk_known_changes changes = {is_known_change, e->out};
    for (size_t i = 0; i < count && !is_final(best, item->program); i++) {
        if (candidates[i].known == best->candidate.known)
            continue;
        choice trial = {.candidate = candidates[i]};
        rk_err *err = rk_diff_known(e->corpus, candidates[i].known, item->program, loaded, changes,
                                    &trial.diff);
        if (!err && trial.diff.diff.cause != RK_CAUSE_FIRST && !is_other_function(&trial, item) &&
            is_better(&trial, best, item->program, source)) {
            rk_known_diff_cleanup(&best->diff);
            *best = trial;
            continue;
        }
        rk_known_diff_cleanup(&trial.diff);
        RK_TRY(err);
    }
    return NULL;
}

// Returns whether an earlier start requested the same program under another key: with another
// version, for example.
static bool is_known_to_starts(const rk_explainer *e, size_t index, const rk_explained *item) {
    rk_nearest_candidate candidates[RK_COUNTERPARTS_MAX];
    for (unsigned source = 0; source < e->start_count; source++)
        if (rk_explain_candidates(e, index, source, candidates) &&
            rk_digest_equal(&candidates[0].known->key.program, &item->program->key.program))
            return true;
    return false;
}

// Compares an operation of the framework with that of the last start, if the two differ in versions
// or devices. Then all operations are compiled again, even if this run has similar ones.
static rk_err *try_upgrade(const rk_explainer *e, size_t index, const rk_loaded *loaded,
                           const rk_explained *item, choice *best) {
    choice trial = {.candidate = {.known = NULL}};
    rk_err *err = item->is_eager ? try_source(e, index, loaded, item, 0, &trial) : NULL;
    if (!err && trial.candidate.known && trial.diff.elsewhere &&
        rk_same_types(&trial.candidate.known->sketch, &item->program->sketch))
        *best = trial;
    else
        rk_known_diff_cleanup(&trial.diff);
    return err;
}

static rk_err *choose(const rk_explainer *e, size_t index, const rk_loaded *loaded,
                      const rk_explained *item, choice *best) {
    // The framework's own operations are compared with those of the same line first. A program of
    // this name that the last start did not have is compared with the others of this run first.
    RK_TRY(try_upgrade(e, index, loaded, item, best));
    if (!best->candidate.known && (item->is_eager || rk_explain_is_additional(e, index)) &&
        !is_known_to_starts(e, index, item))
        RK_TRY(try_source(e, index, loaded, item, RK_NEAREST_SIBLING, best));
    for (unsigned source = 0; source < RK_NEAREST_SOURCE_COUNT; source++) {
        bool last_resort = source == RK_NEAREST_OTHER_JOB;
        if (!last_resort || !best->candidate.known)
            RK_TRY(try_source(e, index, loaded, item, source, best));
    }
    return NULL;
}

static bool has_sketches(const rk_explained *item) {
    return item->program && item->program->has_sketch && item->nearest && item->nearest->has_sketch;
}

bool rk_explain_is_reordered(const rk_explained *item) {
    // JAX traces a function again in one run only for a branch or a static argument.
    bool is_traced_again = item->nearest_of && !rk_explained_is_torch(item);
    if (item->cause != RK_CAUSE_STRUCTURE || is_traced_again || !has_sketches(item))
        return false;
    return have_same_parts(&item->nearest->sketch, &item->program->sketch);
}

// Inputs of two types that changed places are another order, and no other types.
static void find_reordered(rk_explained *item) {
    rk_cause cause = item->cause;
    if (cause != RK_CAUSE_SHAPE && cause != RK_CAUSE_DTYPE)
        return;
    item->cause = RK_CAUSE_STRUCTURE;
    if (!rk_explain_is_reordered(item))
        item->cause = cause;
}

// A number, "tensor<f32>", that only one of the two programs has as an input.
static bool is_number_of_one_side(const rk_difference *d) {
    const char *type = d->after ? d->after : d->before;
    return rk_is_of_input(d) && !(d->before && d->after) && type &&
           strncmp(type, "tensor<", 7) == 0 && (type[7] < '0' || type[7] > '9');
}

// Returns whether hardly any operations are only in one of the two programs, or the programs have
// the same kinds of operations.
static bool has_few_own_operations(const rk_explained *item) {
    enum { FEW = 8 };
    size_t own = 0;
    for (size_t i = 0; i < item->differences.count; i++) {
        rk_difference_kind kind = item->differences.items[i].kind;
        own += kind == RK_DIFFERENCE_OP_ADDED || kind == RK_DIFFERENCE_OP_REMOVED;
    }
    return own <= FEW || (has_sketches(item) &&
                          rk_have_same_kinds(&item->nearest->sketch, &item->program->sketch));
}

static bool is_shape_of_input(const rk_difference *d) {
    return d->kind == RK_DIFFERENCE_SHAPE && rk_is_of_input(d);
}

static bool is_no_shape_of_input(const rk_difference *d) {
    return !is_shape_of_input(d);
}

// A position or a size of a slice on a line of the source.
static bool is_slice_of_line(const rk_difference *d) {
    return rk_is_of_slice(d) && d->file;
}

// Moves those of the first `count` differences for which `is` holds before the others, as the
// causes. The others follow from them.
static void lead_with(rk_differences *list, size_t count, bool (*is)(const rk_difference *)) {
    size_t front = 0;
    for (size_t i = 0; i < count; i++) {
        list->items[i].follows = !is(&list->items[i]);
        if (!list->items[i].follows)
            rk_differences_move(list, i, front++);
    }
    rk_differences_number(list);
    list->cause_count = front;
}

// PyTorch/XLA passes numbers as inputs, and two equal numbers as one. A number that depends on the
// number of rows may equal another one, so that the program has an input more or less. Then the
// rows are the cause, if the operations are the same otherwise.
static void find_rows(rk_explained *item) {
    rk_differences *list = &item->differences;
    size_t shapes = 0;
    if (item->cause != RK_CAUSE_PARAMETERS || !rk_explained_is_torch(item) ||
        !has_few_own_operations(item))
        return;
    for (size_t i = 0; i < list->cause_count; i++) {
        const rk_difference *d = &list->items[i];
        if (!is_shape_of_input(d) && !is_number_of_one_side(d))
            return;
        shapes += is_shape_of_input(d);
    }
    if (!shapes)
        return;
    lead_with(list, list->cause_count, is_shape_of_input);
    item->cause = RK_CAUSE_SHAPE;
}

// A list of whole numbers with another length.
static bool is_length_of_list(const rk_difference *d) {
    return is_shape_of_input(d) && d->file && rk_is_list_type(d->after);
}

static bool is_on_line_of_list(const rk_differences *list, const rk_difference *d) {
    for (size_t i = 0; i < list->cause_count; i++)
        if (is_length_of_list(&list->items[i]) && rk_is_on_same_line(&list->items[i], d))
            return true;
    return false;
}

// Lists of indices, such as those of x[mask], have other lengths. A list without elements selects
// nothing, so its other inputs are missing. The lengths are the cause if there are more of them.
static void find_lengths(rk_explained *item) {
    rk_differences *list = &item->differences;
    size_t lengths = 0, others = 0;
    if (item->cause != RK_CAUSE_PARAMETERS || !rk_explained_is_torch(item))
        return;
    for (size_t i = 0; i < list->cause_count; i++) {
        const rk_difference *d = &list->items[i];
        lengths += is_length_of_list(d);
        others += !is_length_of_list(d);
        if (!is_on_line_of_list(list, d) && !rk_is_of_result(d))
            return;
    }
    if (lengths <= others)
        return;
    lead_with(list, list->cause_count, is_length_of_list);
    item->cause = RK_CAUSE_SHAPE;
}

static bool is_weak(const char *type) {
    return type && strncmp(type, RK_WEAKLY_TYPED, strlen(RK_WEAKLY_TYPED)) == 0;
}

// A type of JAX that became weak, or is weak no longer.
static bool is_weak_type(const rk_difference *d) {
    return d->kind == RK_DIFFERENCE_DTYPE && is_weak(d->before) != is_weak(d->after);
}

static bool loses_weak_type(const rk_difference *d) {
    return is_weak_type(d) && is_weak(d->before);
}

// Returns whether one of the two programs has an operation that is not on a line of the user.
static bool is_operation_of_package(const rk_difference *d) {
    return (d->kind == RK_DIFFERENCE_OP_ADDED || d->kind == RK_DIFFERENCE_OP_REMOVED) &&
           !rk_is_on_line_of_user(d);
}

// With other weak types, JAX converts other values, and shares other functions between calls (where
// of a weak and of a full type are two functions). So the types are the cause if nothing but a few
// operations of packages differs beside them.
static void find_weak_types(rk_explained *item) {
    enum { OTHERS_MAX = 2 };
    rk_differences *list = &item->differences;
    size_t weak = 0, others = 0, lost = 0;
    if ((item->cause != RK_CAUSE_STRUCTURE && item->cause != RK_CAUSE_DTYPE) || !item->nearest_of ||
        rk_explained_is_torch(item))
        return;
    for (size_t i = 0; i < list->cause_count; i++) {
        const rk_difference *d = &list->items[i];
        weak += is_weak_type(d);
        lost += loses_weak_type(d);
        others += !is_weak_type(d);
        if (!is_weak_type(d) && !is_operation_of_package(d))
            return;
    }
    if (weak <= others || others > OTHERS_MAX)
        return;
    // A value that was computed from both kinds is converted in the later program only.
    lead_with(list, list->cause_count, lost ? loses_weak_type : is_weak_type);
    item->cause = RK_CAUSE_DTYPE;
}

// A slice is not changed by a number that is computed from its size. So the slice is the cause if
// all other causes are numbers, one of which equals another one in one of the two programs.
static void find_slices(rk_explained *item) {
    rk_differences *list = &item->differences;
    size_t slices = 0;
    if (item->cause != RK_CAUSE_PARAMETERS || !rk_explained_is_torch(item) || !list->cause_count)
        return;
    for (size_t i = 0; i < list->count; i++) {
        if (i < list->cause_count && !is_number_of_one_side(&list->items[i]))
            return;
        slices += is_slice_of_line(&list->items[i]);
    }
    if (!slices)
        return;
    lead_with(list, list->count, is_slice_of_line);
    item->cause = RK_CAUSE_CONSTANT;
}

// The inputs of PyTorch/XLA have no names. If each of two graphs has several inputs of its own, two
// inputs of one element type may be different tensors, so another shape is no cause.
static void forget_shapes_of_other_inputs(rk_explained *item) {
    enum { OWN_MIN = 2 };
    rk_differences *list = &item->differences;
    size_t added = 0, removed = 0;
    if (item->cause != RK_CAUSE_PARAMETERS || !rk_explained_is_torch(item))
        return;
    for (size_t i = 0; i < list->cause_count; i++) {
        const rk_difference *d = &list->items[i];
        added += rk_is_of_input(d) && d->kind == RK_DIFFERENCE_PARAMETER_ADDED;
        removed += rk_is_of_input(d) && d->kind == RK_DIFFERENCE_PARAMETER_REMOVED;
    }
    if (added < OWN_MIN || removed < OWN_MIN)
        return;
    lead_with(list, list->cause_count, is_no_shape_of_input);
}

rk_err *rk_explain_compare(const rk_explainer *e, size_t index, const rk_loaded *loaded,
                           rk_explained *item) {
    choice best = {.candidate = {.known = NULL}};
    rk_err *err = choose(e, index, loaded, item, &best);
    if (err || !best.candidate.known) {
        rk_known_diff_cleanup(&best.diff);
        return err;
    }
    item->nearest = best.candidate.known;
    item->nearest_of = best.candidate.request;
    item->nearest_run = best.candidate.run;
    item->similarity = best.candidate.similarity;
    item->cause = best.diff.diff.cause;
    item->accumulates = best.diff.diff.accumulates;
    item->differences = best.diff.diff.list;
    item->libraries = best.diff.libraries;
    find_reordered(item);
    find_rows(item);
    find_lengths(item);
    find_weak_types(item);
    find_slices(item);
    forget_shapes_of_other_inputs(item);
    return NULL;
}

bool rk_explain_is_same_call(const rk_explained *item) {
    return has_sketches(item) && rk_is_same_call(&item->program->sketch, &item->nearest->sketch);
}
