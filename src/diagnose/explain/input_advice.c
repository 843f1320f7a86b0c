// What to do about inputs or results that only one of two programs has.
#include "diagnose/diff/sketch_diff.h"
#include "diagnose/explain/advice_internal.h"
#include "diagnose/explain/operations_internal.h"
#include "diagnose/shapes/dims_internal.h"

// Minimum values for a program that does all that another one does, and more: the share of the
// other's operations that it has, and its number of operations divided by the other's.
#define ALL_OPERATIONS_MIN  0.95
#define MORE_OPERATIONS_MIN 1.1

// Returns whether two programs have nearly all operations in common.
static bool has_nearly_same_operations(const rk_explained *item) {
    const double other_max = 4;
    if (!item->program->has_sketch || !item->nearest->has_sketch)
        return false;
    const rk_sketch *a = &item->nearest->sketch, *b = &item->program->sketch;
    uint32_t least = a->op_count < b->op_count ? a->op_count : b->op_count;
    return (double)(a->op_count + b->op_count - 2 * least) <= other_max &&
           (1 - rk_contained_operations(a, b)) * least <= other_max;
}

// Returns whether two graphs of PyTorch/XLA have other single numbers among their inputs, and
// nothing else differs: a sum over several steps, or two numbers that happen to be equal. A seed of
// random numbers adds other operations as well (dropout).
static bool is_of_numbers(const rk_explained *item) {
    bool has_input = false;
    for (size_t i = 0; i < item->differences.cause_count; i++) {
        const rk_difference *d = &item->differences.items[i];
        if (!rk_is_single_value(d->after ? d->after : d->before))
            return false;
        has_input |= rk_is_of_input(d);
    }
    return has_input && item->cause == RK_CAUSE_PARAMETERS && item->nearest &&
           rk_explained_is_torch(item) && !rk_explained_is_constant(item) &&
           has_nearly_same_operations(item) &&
           rk_have_same_kinds(&item->nearest->sketch, &item->program->sketch);
}

// Returns whether the only difference is an input of one value, which the program adds to
// something: a sum over the batches of a loop, whose first step had a number in place of the input.
bool rk_explain_begins_sum(const rk_explained *item) {
    const rk_difference *head = rk_explained_head(item);
    bool adds = false;
    if (item->differences.cause_count != 1 || head->kind != RK_DIFFERENCE_PARAMETER_ADDED ||
        !rk_is_of_input(head) || !item->nearest_of || !rk_is_single_value(head->after) ||
        !has_nearly_same_operations(item))
        return false;
    for (size_t i = 1; i < item->differences.count; i++) {
        const rk_difference *d = &item->differences.items[i];
        adds |= d->op && strcmp(d->op, "hlo.add") == 0 && d->line == head->line;
    }
    return adds;
}

static bool is_one_sided(const rk_difference *d) {
    return d->kind == RK_DIFFERENCE_PARAMETER_ADDED || d->kind == RK_DIFFERENCE_PARAMETER_REMOVED;
}

// Returns whether `larger` has all operations of `smaller` and many others. All inputs and results
// that only one of the two programs has are of `side`.
static bool contains(const rk_known *larger, const rk_known *smaller, const rk_explained *item,
                     rk_difference_kind side) {
    if (!larger->has_sketch || !smaller->has_sketch)
        return false;
    for (size_t i = 0; i < item->differences.count; i++) {
        const rk_difference *d = &item->differences.items[i];
        bool is_other_shape = d->kind == RK_DIFFERENCE_SHAPE && rk_is_of_input(d);
        if ((is_one_sided(d) && d->kind != side) || is_other_shape)
            return false;
    }
    const rk_sketch *more = &larger->sketch, *less = &smaller->sketch;
    return (double)more->op_count >= MORE_OPERATIONS_MIN * (double)less->op_count &&
           rk_contained_operations(less, more) >= ALL_OPERATIONS_MIN;
}

// Returns whether only one of the two programs has some of the results.
static bool has_own_results(const rk_explained *item) {
    for (size_t i = 0; i < item->differences.count; i++) {
        const rk_difference *d = &item->differences.items[i];
        if (rk_is_of_result(d) && is_one_sided(d))
            return true;
    }
    return false;
}

bool rk_does_more(const rk_explained *item) {
    return item->nearest_of && item->nearest && has_own_results(item) &&
           contains(item->program, item->nearest, item, RK_DIFFERENCE_PARAMETER_ADDED);
}

// Returns whether the later program does only a part of what the earlier one does.
static bool does_less(const rk_explained *item) {
    return item->nearest_of && item->nearest && has_own_results(item) &&
           contains(item->nearest, item->program, item, RK_DIFFERENCE_PARAMETER_REMOVED);
}

bool rk_explain_is_in_other(const rk_explained *item) {
    enum { OWN_OPERATIONS_MIN = 32 };
    if (!item->nearest_of || !item->program->has_sketch || !item->nearest->has_sketch)
        return false;
    uint32_t a = item->program->sketch.op_count, b = item->nearest->sketch.op_count;
    return rk_does_more(item) ||
           ((a > b ? a - b : b - a) >= OWN_OPERATIONS_MIN &&
            (contains(item->program, item->nearest, item, RK_DIFFERENCE_PARAMETER_ADDED) ||
             contains(item->nearest, item->program, item, RK_DIFFERENCE_PARAMETER_REMOVED)));
}

bool rk_does_part_once(const rk_run_model *run, const rk_explained *item) {
    return item->cause == RK_CAUSE_PARAMETERS && rk_explain_executions(run, item->compile) == 1 &&
           does_less(item);
}

static bool has_mask(const rk_explained *item) {
    for (size_t i = 0; i < item->differences.cause_count; i++) {
        const char *name = item->differences.items[i].attribute;
        if (name && strstr(name, "mask"))
            return true;
    }
    return false;
}

bool rk_explain_has_only_results(const rk_explained *item) {
    if (item->cause != RK_CAUSE_PARAMETERS || !rk_explained_is_torch(item))
        return false;
    bool any = false;
    for (size_t i = 0; i < item->differences.cause_count; i++) {
        const rk_difference *d = &item->differences.items[i];
        if (!rk_is_of_result(d) && d->kind != RK_DIFFERENCE_SHAPE)
            return false;
        any |= rk_is_of_result(d) && d->kind != RK_DIFFERENCE_SHAPE;
    }
    return any;
}

bool rk_explain_takes_and_returns_more(const rk_explained *item) {
    const rk_difference *head = NULL;
    bool returns = false, takes = false;
    if (item->cause != RK_CAUSE_PARAMETERS)
        return false;
    for (size_t i = 0; i < item->differences.cause_count; i++) {
        const rk_difference *d = &item->differences.items[i];
        bool is_shape = d->kind == RK_DIFFERENCE_SHAPE && rk_is_of_input(d);
        if (is_shape || (d->constant && strcmp(d->constant, "0") == 0)) // a new optimizer's state
            continue;
        head = head ? head : d;
        if (d->kind != head->kind)
            return false;
        returns |= rk_is_of_result(d);
        takes |= !rk_is_of_result(d);
    }
    return returns && takes && item->nearest_of && rk_explained_is_torch(item);
}

bool rk_explain_swaps_inputs(const rk_explained *item) {
    bool added = false, removed = false;
    if (item->cause != RK_CAUSE_PARAMETERS || !item->nearest_of || !rk_explained_is_torch(item))
        return false;
    for (size_t i = 0; i < item->differences.cause_count; i++) {
        const rk_difference *d = &item->differences.items[i];
        added |= rk_is_of_input(d) && d->kind == RK_DIFFERENCE_PARAMETER_ADDED && !d->constant;
        removed |= rk_is_of_input(d) && d->kind == RK_DIFFERENCE_PARAMETER_REMOVED && !d->constant;
    }
    return added && removed;
}

bool rk_explain_is_of_seed(const rk_explained *item) {
    for (size_t i = 0; i < item->differences.cause_count; i++) {
        const rk_difference *d = &item->differences.items[i];
        const char *type = d->after ? d->after : d->before;
        if ((d->kind != RK_DIFFERENCE_OP_ADDED && d->kind != RK_DIFFERENCE_OP_REMOVED) || !d->op ||
            (strcmp(d->op, "hlo.multiply") != 0 && strcmp(d->op, "hlo.add") != 0) || !type ||
            strcmp(type, "tensor<s64>") != 0)
            return false;
    }
    return item->cause == RK_CAUSE_STRUCTURE && rk_explained_is_torch(item);
}

bool rk_explain_is_of_integers(const rk_explained *item) {
    if (item->cause != RK_CAUSE_PARAMETERS || !is_of_numbers(item))
        return false;
    for (size_t i = 0; i < item->differences.cause_count; i++) {
        const rk_difference *d = &item->differences.items[i];
        const char *element = rk_element_of(d->after ? d->after : d->before);
        if (rk_is_of_input(d) && (*element == 's' || *element == 'u'))
            return true;
    }
    return false;
}

bool rk_explain_is_of_values(const rk_explained *item) {
    return (item->cause == RK_CAUSE_PARAMETERS && is_of_numbers(item)) ||
           rk_explain_is_of_seed(item);
}

// Returns whether two graphs have the same operations, and only one of them has some tensors more
// as inputs: PyTorch/XLA passes tensors that share their data as one input.
static bool shares_inputs(const rk_explained *item) {
    const rk_difference *head = rk_explained_head(item);
    for (size_t i = 0; i < item->differences.cause_count; i++) {
        const rk_difference *d = &item->differences.items[i];
        if (d->kind != head->kind || !rk_is_of_input(d) || d->constant ||
            rk_is_single_value(d->after ? d->after : d->before))
            return false;
    }
    return head && item->nearest_of && item->program->has_sketch && item->nearest->has_sketch &&
           item->program->sketch.structure == item->nearest->sketch.structure;
}

// Returns whether each tensor that differs is an input of the later graph only, of a type that the
// earlier graph returns: a state that it may have created, such as the momentum of an optimizer.
static bool takes_created_state(const rk_explained *item) {
    enum { TENSORS_MIN = 2 };
    size_t tensors = 0;
    if (!item->nearest_of || !item->nearest->has_sketch)
        return false;
    const rk_sketch *before = &item->nearest->sketch;
    for (size_t i = 0; i < item->differences.cause_count; i++) {
        const rk_difference *d = &item->differences.items[i];
        if (!rk_is_of_input(d) || rk_is_single_value(d->after ? d->after : d->before))
            continue;
        if (d->kind != RK_DIFFERENCE_PARAMETER_ADDED || !d->after ||
            !rk_sketch_count_type(before->results, before->result_count, d->after))
            return false;
        tensors++;
    }
    return tensors >= TENSORS_MIN;
}

// Returns whether one of two graphs has the same operations more often, on the same lines, for the
// same number of results: a loop in Python, or a recurrent layer that PyTorch unrolls.
static bool repeats_more(const rk_explained *item) {
    const double more_min = 1.1;
    if (!item->nearest_of || !item->program->has_sketch || !item->nearest->has_sketch)
        return false;
    const rk_sketch *a = &item->nearest->sketch, *b = &item->program->sketch;
    double less = a->op_count < b->op_count ? a->op_count : b->op_count;
    return (double)a->op_count + (double)b->op_count - less >= more_min * less && a->line_count &&
           a->result_count == b->result_count && rk_have_same_kinds_and_lines(a, b);
}

// An input is named by what holds it, and by how it is found there: "graph.nodes" and "['mass']",
// "[0]" or ".mass".
typedef struct place_in {
    rk_span holder; // empty: nothing holds the input
    char access;    // '\'' for a key, '[' for a number, '.' for a field
} place_in;

static place_in place_of(const rk_difference *d) {
    const char *name = d->attribute ? d->attribute : "";
    size_t len = strlen(name);
    while (len && name[len] != '[' && name[len] != '.')
        len--;
    return (place_in){.holder = rk_span_of(name, len),
                      .access = name[len] == '[' && name[len + 1] == '\'' ? '\'' : name[len]};
}

// Returns how many inputs with the holder and the type of `of` are found in the same way, only in
// the same program; or in another way, only in the other program.
static size_t count_held(const rk_explained *item, const rk_difference *of, bool in_same) {
    const place_in its = place_of(of);
    const char *type = of->after ? of->after : of->before;
    size_t count = 0;
    for (size_t i = 0; i < item->differences.cause_count; i++) {
        const rk_difference *d = &item->differences.items[i];
        const place_in place = place_of(d);
        count += rk_is_input_of_one_side(d) && (d->kind == of->kind) == in_same &&
                 (place.access == its.access) == in_same &&
                 rk_same_text(d->after ? d->after : d->before, type) &&
                 rk_span_equal(place.holder, its.holder);
    }
    return count;
}

bool rk_explain_is_of_container(const rk_explained *item) {
    if (item->cause != RK_CAUSE_PARAMETERS || item->accumulates || !item->nearest_of ||
        rk_explained_is_torch(item))
        return false;
    for (size_t i = 0; i < item->differences.cause_count; i++) {
        const rk_difference *d = &item->differences.items[i];
        if (!rk_is_input_of_one_side(d) || !place_of(d).holder.len ||
            count_held(item, d, true) != count_held(item, d, false))
            return false;
    }
    return item->differences.cause_count > 0 && has_nearly_same_operations(item);
}

static bool has_added(const rk_explained *item) {
    for (size_t i = 0; i < item->differences.cause_count; i++)
        if (item->differences.items[i].kind == RK_DIFFERENCE_PARAMETER_ADDED)
            return true;
    return false;
}

static const char *torch_advice(const rk_explained *item) {
    if (rk_explain_begins_sum(item))
        return "A sum over several steps starts from a Python number, or from zeros that are made "
               "on the device; both are constants of the first step's graph, and all later steps "
               "have an input instead. Start the sum with one element that is transferred to the "
               "device, torch.zeros(1, dtype=…).to(device), and read it with .item().";
    if (item->follows_start && !shares_inputs(item) && !is_of_numbers(item) && !repeats_more(item))
        return "The earlier graph was executed once and takes more inputs. They may be of values "
               "that were computed before the steps but not executed. Such values become a part of "
               "the first step's graph; torch_xla.sync() before the loop executes them, and the "
               "first step has the graph of the others. If a branch in Python takes the inputs, do "
               "the same in each step. Otherwise the reason is not known. Each graph is compiled "
               "once and stored.";
    if (rk_explain_takes_and_returns_more(item) && !rk_does_more(item))
        return "One of the two graphs takes and returns more values, which still exist at "
               "torch_xla.sync() and so are a part of it. Perhaps only some steps compute them, "
               "such as a sample; or they were computed before the step, such as the prediction of "
               "an earlier step or an average between two loops; or a list of tensors has another "
               "length, such as the values of an episode. If this is intended, there is nothing to "
               "fix: each graph is compiled once and stored. Otherwise delete them (del), or call "
               "torch_xla.sync() where they are computed (a read alone, such as .item(), does not "
               "help); for a list, move one tensor of a fixed size to the device instead, and mask "
               "the rest. If the step also begins a sum, it stays a graph of its own.";
    if (shares_inputs(item))
        return "The two graphs have the same operations. PyTorch/XLA passes tensors that share "
               "their data as one input, such as the parameters of two networks after "
               "load_state_dict. Perhaps that is why the number of inputs differs. Then each graph "
               "is compiled once and stored, and there is nothing to fix.";
    if (takes_created_state(item))
        return "The later graph takes more values. If the earlier one created them, such as the "
               "momentum of an optimizer, there is nothing to fix: two graphs, compiled once and "
               "stored. If a branch in Python decides, do the same in each step.";
    if (repeats_more(item))
        return "The operations are of the same kinds, on the same lines, but one graph has more of "
               "them, as with a loop in Python, or with a recurrent layer (nn.LSTM) that PyTorch "
               "unrolls over sequences of two lengths. Each graph is compiled once and stored. If "
               "there are many lengths, pad to a few of them.";
    if (rk_explain_is_in_other(item))
        return "One graph does all that the other one does, and more. If they are two parts of the "
               "job, there is nothing to fix: each is compiled once and stored. If a branch in "
               "Python does it in some steps only, do the same in each step, and select between "
               "the results (torch.where). If it was computed between two steps, such as a sample "
               "or an evaluation, but not executed, it is a part of the next step's graph: call "
               "torch_xla.sync() after it.";
    if (is_of_numbers(item))
        return "Only single numbers differ among the inputs. PyTorch/XLA passes numbers as inputs, "
               "and two equal numbers as one. Perhaps a number happens to equal another one; a sum "
               "or an average that is kept on the device (of a loss, of an accuracy) is in its "
               "first step; a value that was computed before the step was not executed; or Python "
               "takes another branch, or another position in a tensor. Each graph is compiled once "
               "and stored. If there is such a sum, fewer graphs are needed if it adds up numbers "
               "that were read (.item(), once after the step).";
    if (rk_explain_has_only_results(item))
        return "The programs return different values: a tensor, such as a loss for a log, still "
               "exists at torch_xla.sync() in some steps, but not in others, or it was computed "
               "before the step. If this is intended, there is nothing to fix: each is compiled "
               "once and stored. Otherwise keep the same tensors in each step, and call "
               "torch_xla.sync() where others are computed. If the step also begins a sum, it "
               "stays a graph of its own.";
    if (rk_explain_swaps_inputs(item))
        return "Each of the two graphs takes inputs that the other one does not take. They may be "
               "values that were computed before the step, such as a prediction of an earlier step "
               "or an average between two loops, and that still exist at torch_xla.sync(): then "
               "they are a part of this graph, unless torch_xla.sync() is called where they are "
               "computed. If a branch or the batch decides which inputs there are, always pass all "
               "of them. Otherwise the reason is not known. Each graph is compiled once and "
               "stored.";
    return "One of the two graphs takes an input that the other one does not take. Each graph is "
           "compiled once and stored. If it is an optional value, always pass one, with a neutral "
           "value where there is none. If the other graph calculates the value itself, Python took "
           "another branch: do the same in both branches. If it belongs to a computation that "
           "nothing executed before (that of an argument), call torch_xla.sync() after that "
           "computation. If an optimizer begins to update more parameters, or if a number (a rate) "
           "is 0 or 1 in one of the graphs, there is nothing to fix. Otherwise the reason is not "
           "known.";
}

static const char *jax_advice(const rk_explained *item) {
    if (rk_explain_is_of_container(item))
        return "The function computes the same from the same values, but they come in another "
               "container, such as a dict in the first call and an object of another class in the "
               "next one. JAX compiles a function again if the structure of its arguments changes. "
               "Pass objects of the same classes in each call; if the function returns its own "
               "state, begin with the class that it returns.";
    if (!item->nearest_of)
        return "The function takes or returns other values than in that run. If the source or a "
               "setting was changed, there is nothing to fix: the new program is compiled once and "
               "stored. Otherwise pass and return the same values in each start.";
    if (rk_does_more(item))
        return "The later program does all that the earlier one does, and more, as with a branch "
               "in Python that only some calls take. If this is intended, there is nothing "
               "to fix: each is compiled once and stored. Otherwise do the same in each call, "
               "and select between the results (jnp.where, lax.cond).";
    if (has_mask(item))
        return "Inputs or results come and go: always pass all of them, with neutral values where "
               "there are none (a mask of ones), and always return the same.";
    return "Only some calls pass these inputs, or return these results. If the calls of one loop "
           "differ, always pass all inputs, with neutral values where there are none, and always "
           "return the same. If an option of a call decides, such as None for a default, or if "
           "these are two functions of one name, such as the steps of two optimizers, there is "
           "nothing to fix: each program is compiled once and stored.";
}

const char *rk_advice_on_inputs(const rk_explained *item) {
    bool torch = rk_explained_is_torch(item);
    if (item->takes_lists)
        return "The number of inputs of one type differs from graph to graph: a list of tensors, "
               "such as the values of an episode, has another length each time, or a tensor is in "
               "it twice, as in a sample of a replay memory (it is one input), or a branch leaves "
               "some out. Keep such a list on the host, and move one tensor of a fixed size to the "
               "device; mask the rest.";
    if (item->takes_other_list)
        return "The two graphs take different numbers of tensors of one type. If you changed the "
               "source or a setting, such as the number of layers, or if a list of tensors has "
               "another length than in that run, such as the folds of a data set, there is nothing "
               "to fix: the new graph is compiled once and stored. If they are optional values, "
               "always pass them, with neutral values where there are none. Otherwise the reason "
               "is not known.";
    if (item->is_part)
        return "The later program does a part of what the earlier one does, such as a prediction "
               "after the training. It was executed once. If this is intended, there is nothing to "
               "fix: each is compiled once and stored.";
    if (item->is_startup && !has_added(item))
        return "Only the first call has these values, and no later call does: two programs, "
               "compiled and stored once. This belongs to the start of the job, and there is "
               "nothing to fix.";
    if (item->is_startup && rk_explain_takes_state_of_few(item))
        return "An earlier step creates these values as zeros, and later steps take them, such as "
               "the state of an optimizer for a parameter that it begins to update: two programs, "
               "compiled and stored once. There is nothing to fix.";
    if (item->is_startup && torch && !rk_differences_take_what_was_zero(&item->differences))
        return "Later calls take values that the first call did not take. If the first call "
               "created them, such as an optimizer's state, there is nothing to fix. They may also "
               "be values that were computed before and not executed, or a number that was 0 or 1 "
               "in the first call. Each graph is compiled once and stored.";
    if (item->is_startup)
        return "The first call creates these values, such as an optimizer's state, and later calls "
               "take them: two programs, compiled and stored once. This belongs to the start of "
               "the job, and there is nothing to fix.";
    if (item->accumulates)
        return torch ? "Values are created in one step and added to in the next. If they are "
                       "gradients, use optimizer.zero_grad(set_to_none=False) before a "
                       "torch_xla.sync(), so that the zeros are inputs of the next step, or put "
                       "the whole accumulation into one compiled region. (Parameters without a "
                       "gradient are then updated as well, by weight decay or momentum.) If the "
                       "step does not need these gradients, as the step of a discriminator does "
                       "not need those of the generator, give it detached inputs "
                       "(generator(z).detach())."
                     : "Start from gradients of zeros (jax.tree.map(jnp.zeros_like, params)) "
                       "instead of None, or accumulate within one jitted function (lax.scan).";
    return torch ? torch_advice(item) : jax_advice(item);
}
