// What to do about an input of another shape: a last batch that is smaller, a size that can be
// padded, or a call of its own.
#include "diagnose/explain/advice_internal.h"
#include "diagnose/explain/operations_internal.h"
#include "diagnose/explain/value_place_internal.h"
#include "diagnose/shapes/dims_internal.h"

#define PADDED_WORK_MAX 4.0 // padding may multiply an input by so much

// The request of the same process for the program that the item was compared with; NULL: none.
static const rk_run_compile *find_other(const rk_run_model *run, const rk_explained *item) {
    for (size_t i = 0; i < run->compile_count && item->nearest; i++)
        if (run->compiles[i].process == item->compile->process &&
            strcmp(run->compiles[i].key, item->nearest->hex) == 0)
            return &run->compiles[i];
    return NULL;
}

// Numbers of rows of the inputs in two programs.
typedef struct rows {
    long long before, after;
} rows;

size_t rk_axis_of_rows(const rk_explained *item) {
    if (!item->program || !item->program->has_sketch)
        return 0;
    rk_span module = rk_span_text(item->program->sketch.module);
    return rk_is_name_of_pmap(rk_program_index_bare_name(module)) ? 1 : 0;
}

// Returns whether the number of rows is all that differs: one number for all inputs, or a multiple
// of it, as that of the positions of an image. Gives the smallest.
static bool differs_in_rows(const rk_explained *item, rows *out_rows) {
    const size_t at = rk_axis_of_rows(item);
    *out_rows = (rows){0};
    for (size_t i = 0; i < item->differences.cause_count; i++) {
        const rk_difference *d = &item->differences.items[i];
        rk_dims before, after;
        size_t axis;
        if (d->kind != RK_DIFFERENCE_SHAPE || !rk_only_axis(d->before, d->after, &axis) ||
            axis != at || !rk_parse_dims(d->before, &before) || !rk_parse_dims(d->after, &after) ||
            (i && before.sizes[at] * out_rows->after != after.sizes[at] * out_rows->before))
            return false;
        if (!i || before.sizes[at] < out_rows->before)
            *out_rows = (rows){before.sizes[at], after.sizes[at]};
    }
    return item->differences.cause_count > 0;
}

// Returns whether one line calls both programs, and the later one has fewer rows: it is for a last
// batch, or for another set of data. `share`: how often the earlier one is executed, at least, for
// each execution of the later one, as far as that is known.
static bool may_be_last_batch(const rk_run_model *run, const rk_explained *item, uint64_t share) {
    const rk_run_compile *other = find_other(run, item);
    rows number;
    if (!other || other->seq >= item->compile->seq || !rk_explain_is_same_call(item) ||
        item->has_many_sizes || !differs_in_rows(item, &number) || number.after <= 1 ||
        number.after >= number.before)
        return false;
    uint64_t last = rk_explain_executions(run, item->compile),
             full = rk_explain_executions(run, other);
    return (last == 0 && full == 0) || share * last <= full;
}

// Returns whether the program is for what remains of the data after the full batches: the smaller
// one is executed at most once for each two full batches. (One call each may as well be for a
// training set and a test set.)
static bool is_last_batch(const rk_run_model *run, const rk_explained *item) {
    return may_be_last_batch(run, item, 2);
}

// Returns whether the user's line calls Keras, whose own loop makes the batches.
static bool is_batch_of_keras(const rk_explained *item) {
    const rk_difference *head = rk_explained_head(item);
    rows number;
    size_t user = 0;
    if (!head || !differs_in_rows(item, &number))
        return false;
    while (user < head->stack.count && !rk_is_user_frame(&head->stack.frames[user]))
        user++;
    return user > 0 && user < head->stack.count &&
           rk_span_is(rk_source_package(rk_span_text(head->stack.frames[user - 1].file)), "keras");
}

// How much larger an input becomes if both shapes are padded to one. 0 if they have no common
// dimensions.
static double padded_work(const rk_difference *d) {
    rk_dims a, b;
    double before = 1, after = 1, padded = 1;
    if (!rk_parse_dims(d->before, &a) || !rk_parse_dims(d->after, &b) || a.count != b.count)
        return 0;
    for (size_t i = 0; i < a.count; i++) {
        before *= (double)a.sizes[i];
        after *= (double)b.sizes[i];
        padded *= (double)(a.sizes[i] > b.sizes[i] ? a.sizes[i] : b.sizes[i]);
    }
    double smaller = before < after ? before : after;
    return smaller > 0 ? padded / smaller : 0;
}

static bool can_be_padded(const rk_explained *item) {
    for (size_t i = 0; i < item->differences.cause_count; i++) {
        const rk_difference *d = &item->differences.items[i];
        double work = d->kind == RK_DIFFERENCE_SHAPE ? padded_work(d) : 1;
        if (work == 0 || work > PADDED_WORK_MAX)
            return false;
    }
    return true;
}

// LayerNorm also becomes such a program, so the text does not say that the model has BatchNorm.
#define BATCHES_OF_ONE_SIZE                                                                        \
    " batches of one size: if only the last batch is smaller, drop_last=True drops it (in "        \
    "evaluation, that changes the result). If the model has BatchNorm, do not pad: padding "       \
    "changes the statistics of the batch. If it has only LayerNorm or GroupNorm, you can pad to "  \
    "one size and mask the padding instead."

// Returns whether rows of padding may change what the program computes.
static bool normalizes_batch(const rk_explained *item) {
    return rk_explained_is_torch(item) && item->program && item->program->has_sketch &&
           rk_uses_statistics_of_batch(&item->program->sketch);
}

// Returns whether the number of rows differs. Padding of another axis, such as that of the words,
// leaves the number of rows as it is.
static bool is_of_rows(const rk_explained *item) {
    const rk_difference *value = rk_value_difference(item);
    size_t axis;
    return !value || !rk_value_is_of_axis(value, &axis) || axis == rk_axis_of_rows(item);
}

// nonzero() returns a row for each element, with a number for each dimension of the mask.
static bool is_list_of_integers(const char *type) {
    enum { NONZERO_DIMS_MAX = 4 };
    rk_dims dims;
    const char *element = rk_element_of(type);
    return rk_parse_dims(type, &dims) && *element && strchr("siu", *element) &&
           (dims.count == 1 || (dims.count == 2 && dims.sizes[1] <= NONZERO_DIMS_MAX));
}

// Returns whether only lists of whole numbers have another length, as the numbers of the elements
// that a mask selects: x[mask], x[indices].
static bool may_select(const rk_explained *item) {
    for (size_t i = 0; i < item->differences.count; i++) {
        const rk_difference *d = &item->differences.items[i];
        bool is_shape = d->kind == RK_DIFFERENCE_SHAPE;
        if (d->follows && !(is_shape && rk_is_of_input(d)))
            continue;
        if (!is_shape || !is_list_of_integers(d->before) || !is_list_of_integers(d->after))
            return false;
    }
    return item->differences.cause_count > 0 && rk_explained_is_torch(item);
}

#define SELECTION                                                                                  \
    "This input is a list of whole numbers. If a mask selects elements, keep all of them: "        \
    "x[mask] = y is torch.where(mask, y, x), and the mean of loss(x[mask], y[mask]) is the sum "   \
    "of torch.where(mask, the loss of each element, 0), divided by mask.sum(). Then the size "     \
    "stays the same."

void rk_advise_on_sizes(const rk_explained *item, size_t sizes, rk_buf *text) {
    enum { FEW_SIZES = 4 };
    bool few = sizes <= FEW_SIZES, torch = rk_explained_is_torch(item);
    if (few)
        rk_buf_add_text(text, "If these are the sizes of fixed sets of data, such as those for "
                              "training, validation and test, there is nothing to fix: each "
                              "program is compiled once and stored. ");
    if (may_select(item)) {
        rk_buf_add_text(text,
                        SELECTION " Otherwise pad them to one length, and mask the padding, if "
                                  "the result does not depend on it.");
        return;
    }
    if (normalizes_batch(item) && is_of_rows(item)) {
        rk_buf_add_text(text,
                        few ? "Otherwise use" BATCHES_OF_ONE_SIZE : "Use" BATCHES_OF_ONE_SIZE);
        return;
    }
    rk_buf_add_format(text,
                      "%s this %s to one size, or to the few buckets that `rekindle shapes` "
                      "recommends, and mask the padding, if the result does not depend on it.",
                      few ? "Otherwise pad" : "Pad", torch ? "input" : "argument");
    if (normalizes_batch(item))
        rk_buf_add_text(text, " (With BatchNorm, padding changes the statistics of the batch.)");
}

static const char *advice_on_last_batch(const rk_explained *item) {
    if (!rk_explained_is_torch(item))
        return "This looks like the last batch, which is smaller. If so, pad it to the full size "
               "and mask the padding. In training, you can drop this batch instead; in evaluation, "
               "that changes the result.";
    if (normalizes_batch(item))
        return "This looks like the last batch, which is smaller. If so, drop_last=True drops it. "
               "(With BatchNorm, rows of padding would change its statistics.)";
    return "This looks like the last batch, which is smaller. If so, pad it to the full size and "
           "mask the padding. In training, drop_last=True drops this batch instead; in evaluation, "
           "that changes the result.";
}

const char *rk_advice_on_shape(const rk_run_model *run, const rk_explained *item) {
    if (is_batch_of_keras(item) && !item->nearest_of)
        return "Keras compiles a program for each number of rows in a batch, once, and it is "
               "stored. If you changed batch_size, there is nothing to fix. Otherwise give each "
               "set of data a number of rows that is a multiple of batch_size. In training you can "
               "drop the last rows; in evaluation, that changes the result.";
    if (is_batch_of_keras(item))
        return "Keras compiles a program for each number of rows in a batch, once, and it is "
               "stored. For fewer programs, use one batch_size in fit, evaluate and predict, and "
               "give each set of data a number of rows that is a multiple of it. In training you "
               "can drop the last rows; in evaluation, that changes the result.";
    if (is_last_batch(run, item))
        return advice_on_last_batch(item);
    if (item->nearest_of && rk_explain_is_of_state(item))
        return "The program updates these inputs, as an optimizer does with the parameters of a "
               "model. So this is another model or layer. Each is compiled once and stored, and "
               "there is nothing to pad.";
    if (may_select(item))
        return "Each size has a program of its own, which is compiled once and stored. If there "
               "are only a few sizes, such as that of a last batch, there is nothing to "
               "fix. " SELECTION;
    if (!item->nearest_of && normalizes_batch(item) && is_of_rows(item))
        return "This size differs from the size in that run. If you changed it, such as a batch "
               "size or the width of a layer, there is nothing to fix: the new program is "
               "compiled once and stored. If it depends on the data, use" BATCHES_OF_ONE_SIZE;
    if (!item->nearest_of)
        return "This size differs from the size in that run. If you changed it, such as a batch "
               "size, the width of a layer or a number of samples, there is nothing to fix: the "
               "new program is compiled once and stored. If it depends on the data, pad to one "
               "size, or to the few buckets that `rekindle shapes` recommends, and mask the "
               "padding.";
    if (normalizes_batch(item) && is_of_rows(item))
        return "Each size has a program of its own, which is compiled once and stored. If there "
               "are only a few sizes, there is nothing to fix. Otherwise use" BATCHES_OF_ONE_SIZE;
    if (may_be_last_batch(run, item, 1))
        return "Each number of rows has a program of its own, which is compiled once and stored. "
               "If the smaller one is the last batch of a data set, pad it to the full size and "
               "mask the padding. If these are two sets of data, such as those for training and "
               "test, there is nothing to fix.";
    if (can_be_padded(item))
        return "Each size has a program of its own, which is compiled once and stored. If there "
               "are only a few sizes, such as those of a training set and a test set, there is "
               "nothing to fix. Otherwise pad this input to one size, or to the few buckets that "
               "`rekindle shapes` recommends, and mask the padding.";
    return "Each shape has a program of its own, which is compiled once and stored. These shapes "
           "differ too much to pad one to the other. If a program is too expensive to compile, "
           "give both calls one shape, for example batches of the same size.";
}

// Returns whether an item has another order of the operations than in that run.
static bool is_order_of_run(const rk_explained *item, const char *run) {
    return item->is_reordered && !item->nearest_of && rk_same_text(item->nearest_run, run);
}

// Another order may come together with another size, and then the list of differences shows the
// size only.
rk_err *rk_advise_on_order(rk_explanation *x) {
    for (size_t i = 0; i < x->count; i++) {
        rk_explained *item = &x->items[i];
        bool has_other_order = false;
        if (item->cause != RK_CAUSE_SHAPE || item->nearest_of || !item->nearest_run ||
            item->is_eager || !item->advice)
            continue;
        for (size_t k = 0; k < x->count; k++)
            has_other_order |= is_order_of_run(&x->items[k], item->nearest_run);
        if (has_other_order)
            RK_TRY(rk_explained_add_advice(item,
                                           "But other programs have another order of the "
                                           "operations than in that run, and perhaps this one has "
                                           "as well: begin with the finding on the order."));
    }
    return NULL;
}
