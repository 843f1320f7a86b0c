// Finds shapes that are no sizes of data: those of several tensors for which one function is
// called, and those of another model.
#include <string.h>

#include "diagnose/diff/sketch_diff.h"
#include "diagnose/explain/explain_internal.h"
#include "diagnose/explain/operations_internal.h"
#include "diagnose/shapes/dims_internal.h"

enum { RANKS_MAX = 9 }; // higher ranks count as this one

static void count_ranks(const rk_sketch *sketch, uint32_t out_counts[RANKS_MAX]) {
    memset(out_counts, 0, RANKS_MAX * sizeof *out_counts);
    for (uint32_t i = 0; i < sketch->input_count; i++) {
        rk_dims dims;
        size_t rank = rk_parse_dims(sketch->inputs[i].type, &dims) ? dims.count : 0;
        out_counts[rank < RANKS_MAX ? rank : RANKS_MAX - 1]++;
    }
}

static bool has_other_ranks(const rk_sketch *a, const rk_sketch *b) {
    uint32_t one[RANKS_MAX], other[RANKS_MAX];
    count_ranks(a, one);
    count_ranks(b, other);
    return memcmp(one, other, sizeof one) != 0;
}

static bool is_same_function(const rk_sketch *a, const rk_sketch *b) {
    return a->call.line > 0 && rk_is_same_call(a, b) &&
           rk_span_equal(rk_program_index_bare_name(rk_span_text(a->module)),
                         rk_program_index_bare_name(rk_span_text(b->module)));
}

bool rk_explain_is_of_several_tensors(const rk_explanation *x, const rk_explained *item) {
    const rk_run_model *run = x->run;
    const rk_sketch *sketch = &item->program->sketch;
    for (size_t i = 0; i < run->compile_count; i++) {
        const rk_known *known = run->compiles[i].process == item->compile->process
                                    ? rk_corpus_find(x->corpus, run->compiles[i].key)
                                    : NULL;
        if (known && known->has_sketch && known != item->program &&
            known->sketch.is_mlir == sketch->is_mlir &&
            known->sketch.input_count == sketch->input_count &&
            is_same_function(&known->sketch, sketch) && has_other_ranks(&known->sketch, sketch))
            return true;
    }
    return false;
}

static bool is_float(const char *type) {
    return strchr(rk_element_of(type), 'f') != NULL;
}

// Returns whether a program takes and returns several values of a type, as an optimizer does with a
// parameter and its moving averages. (Data may have results of the same shape, too, but more of
// them than there are inputs, or only one. Whole numbers are data.)
static bool updates_type(const rk_known *known, const char *type) {
    enum { VALUES_MIN = 2 };
    if (!type || !is_float(type) || !known || !known->has_sketch)
        return false;
    const rk_sketch *sketch = &known->sketch;
    size_t results = rk_sketch_count_type(sketch->results, sketch->result_count, type);
    return results >= VALUES_MIN &&
           rk_sketch_count_type(sketch->inputs, sketch->input_count, type) >= results;
}

bool rk_explain_is_of_state(const rk_explained *item) {
    bool any = false;
    for (size_t i = 0; i < item->differences.cause_count; i++) {
        const rk_difference *d = &item->differences.items[i];
        if (d->kind != RK_DIFFERENCE_SHAPE || !rk_is_of_input(d))
            continue;
        if (!updates_type(item->nearest, d->before) || !updates_type(item->program, d->after))
            return false;
        any = true;
    }
    return any;
}

// Returns whether another function of the run updates values of this type.
static bool another_updates(const rk_explanation *x, const rk_explained *item, const char *type) {
    for (size_t i = 0; i < x->count; i++)
        if (!rk_explained_share_name(&x->items[i], item) && updates_type(x->items[i].program, type))
            return true;
    return false;
}

// Returns whether all inputs of other shapes are parameters of models: other programs of the run,
// such as the updates of two optimizers, update values of these types.
static bool is_of_updated(const rk_explanation *x, const rk_explained *item) {
    bool any = false;
    for (size_t i = 0; i < item->differences.cause_count; i++) {
        const rk_difference *d = &item->differences.items[i];
        if (d->kind != RK_DIFFERENCE_SHAPE || !rk_is_of_input(d))
            continue;
        if (!another_updates(x, item, d->before) || !another_updates(x, item, d->after))
            return false;
        any = true;
    }
    return any;
}

// How many inputs of one element type have an axis of a size: lists of that length, and tensors
// whose last axis, or another one, has it.
typedef struct axes {
    size_t lists, last, others;
} axes;

static axes count_axes(const rk_known *known, long long size, const char *element) {
    axes found = {0};
    for (uint32_t i = 0; i < known->sketch.input_count; i++) {
        const char *type = known->sketch.inputs[i].type;
        rk_dims dims;
        if (strcmp(rk_element_of(type), element) != 0 || !rk_parse_dims(type, &dims))
            continue;
        bool is_last = dims.sizes[dims.count - 1] == size;
        found.lists += dims.count == 1 && is_last;
        found.last += dims.count > 1 && is_last;
        for (size_t axis = 0; axis + 1 < dims.count; axis++)
            found.others += dims.sizes[axis] == size;
    }
    return found;
}

static bool has_fewer(axes a, axes b) {
    return a.lists < b.lists && a.last < b.last && a.others < b.others;
}

// Returns whether an input's size is the width of a layer: it is that of a bias, of the layer's
// weights, and of the next layer's weights.
static bool is_of_width(const rk_explained *item, const rk_difference *d) {
    rk_dims before, after;
    size_t axis;
    const char *element = d->after ? rk_element_of(d->after) : "";
    if (d->kind != RK_DIFFERENCE_SHAPE || !rk_is_of_input(d) ||
        !rk_only_axis(d->before, d->after, &axis) || !rk_parse_dims(d->before, &before) ||
        !rk_parse_dims(d->after, &after) || !is_float(d->after))
        return false;
    long long from = before.sizes[axis], to = after.sizes[axis];
    return has_fewer(count_axes(item->program, from, element),
                     count_axes(item->nearest, from, element)) &&
           has_fewer(count_axes(item->nearest, to, element),
                     count_axes(item->program, to, element));
}

bool rk_explain_is_of_other_model(const rk_explanation *x, const rk_explained *item) {
    if (!item->program->has_sketch || !item->nearest->has_sketch)
        return false;
    for (size_t i = 0; i < item->differences.cause_count; i++)
        if (is_of_width(item, &item->differences.items[i]))
            return true;
    return (rk_explain_is_of_state(item) && !item->has_many_sizes) || is_of_updated(x, item);
}
