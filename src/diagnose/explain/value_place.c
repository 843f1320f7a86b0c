#include "diagnose/explain/value_place_internal.h"

#include "diagnose/diff/sketch_diff.h"
#include "diagnose/explain/explain_internal.h"
#include "diagnose/shapes/dims_internal.h"

bool rk_value_is_of_axis(const rk_difference *d, size_t *out_axis) {
    return d->kind == RK_DIFFERENCE_SHAPE && rk_only_axis(d->before, d->after, out_axis);
}

// If the first difference is of several axes, one of a single axis is better: the sizes of one
// input are often those of two others.
const rk_difference *rk_value_difference(const rk_explained *item) {
    const rk_difference *head = rk_explained_head(item);
    size_t axis;
    if (!head || head->kind != RK_DIFFERENCE_SHAPE || rk_value_is_of_axis(head, &axis))
        return head;
    if (item->is_eager)
        return NULL;
    for (size_t i = 1; i < item->differences.cause_count; i++) {
        const rk_difference *d = &item->differences.items[i];
        if (rk_value_is_of_axis(d, &axis) && rk_is_of_input(d))
            return d;
    }
    return rk_is_of_input(head) ? head : NULL;
}

// Sizes of several axes may vary together.
bool rk_value_is_same_place(const rk_difference *x, const rk_difference *y) {
    size_t one, other;
    return x->kind == y->kind && rk_is_on_same_line(x, y) &&
           rk_same_text(x->attribute, y->attribute) && (x->line || rk_same_text(x->op, y->op)) &&
           (!rk_value_is_of_axis(x, &one) || !rk_value_is_of_axis(y, &other) || one == other);
}

const rk_difference *rk_value_at(const rk_explained *item, const rk_difference *place) {
    const rk_difference *head = rk_explained_head(item);
    size_t axis;
    if (!head || rk_value_is_same_place(head, place))
        return head;
    // The sizes of several inputs may differ at once.
    for (size_t i = 1; i < item->differences.cause_count && !rk_value_is_of_axis(head, &axis); i++)
        if (head->kind == RK_DIFFERENCE_SHAPE &&
            rk_value_is_same_place(&item->differences.items[i], place))
            return &item->differences.items[i];
    return NULL;
}

bool rk_value_has_line(const rk_known *known, const rk_difference *place) {
    if (!place->file || !known->has_sketch || known->sketch.line_count == RK_SKETCH_LINES_MAX)
        return true;
    for (uint32_t i = 0; i < known->sketch.line_count; i++) {
        const rk_sketch_line *line = &known->sketch.lines[i];
        if (line->line == place->line && strcmp(line->file, place->file) == 0)
            return true;
    }
    return known->sketch.line_count == 0;
}

bool rk_value_counts_before(const rk_explained *item, const rk_difference *value) {
    return item->nearest_of && rk_explain_is_same_call(item) &&
           (!rk_explained_is_torch(item) || !value || rk_value_has_line(item->nearest, value));
}
