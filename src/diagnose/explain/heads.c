// Chooses the first difference of compilations with several causes, which decides the class and the
// pattern that the compilation belongs to.
//
// A counter changes every program. A capacity that changes from time to time always comes together
// with the counter, and would never come first in the program. So the rarest change of a
// compilation comes first: the common one has other compilations that show it.
#include <stdlib.h>

#include "base/alloc.h"
#include "diagnose/explain/explain_internal.h"
#include "diagnose/shapes/dims_internal.h"

// How often the common change must occur without the rare one. Otherwise the rare change may be a
// consequence of the common one.
enum { ALONE_MIN = 2 };

// The class of cause of one difference inside a program. RK_CAUSE_FIRST for other differences.
static rk_cause class_of(const rk_explained *item, const rk_difference *d) {
    switch (d->kind) {
    case RK_DIFFERENCE_PARAMETER_ADDED:
    case RK_DIFFERENCE_PARAMETER_REMOVED:
        return RK_CAUSE_PARAMETERS;
    case RK_DIFFERENCE_SHAPE:
        return rk_is_of_input(d) ? RK_CAUSE_SHAPE : RK_CAUSE_CONSTANT;
    case RK_DIFFERENCE_DTYPE:
        return RK_CAUSE_DTYPE;
    case RK_DIFFERENCE_CONSTANT:
        return RK_CAUSE_CONSTANT;
    case RK_DIFFERENCE_OP_ADDED:
    case RK_DIFFERENCE_OP_REMOVED:
        return RK_CAUSE_STRUCTURE;
    case RK_DIFFERENCE_ATTRIBUTE: // a number or a word
        return item->cause == RK_CAUSE_CONSTANT || rk_is_of_slice(d) ? RK_CAUSE_CONSTANT
                                                                     : RK_CAUSE_STRUCTURE;
    default:
        return RK_CAUSE_FIRST;
    }
}

// Returns whether two differences are the same change: of the same class, on the same line.
static bool is_change(const rk_explained *item, const rk_difference *d, const rk_explained *of,
                      const rk_difference *change) {
    return class_of(item, d) == class_of(of, change) && d->line == change->line &&
           rk_same_text(d->file, change->file) &&
           (d->file || rk_same_text(d->attribute, change->attribute));
}

static bool has_change(const rk_explained *item, const rk_explained *of,
                       const rk_difference *change) {
    for (size_t i = 0; i < item->differences.cause_count; i++)
        if (is_change(item, &item->differences.items[i], of, change))
            return true;
    return false;
}

// Returns whether a branch comes with an input of another shape: these are one change.
static bool is_branch_of_shapes(const rk_explained *item) {
    for (size_t i = 0; i < item->differences.cause_count; i++)
        if (item->cause == RK_CAUSE_STRUCTURE &&
            class_of(item, &item->differences.items[i]) == RK_CAUSE_SHAPE)
            return true;
    return false;
}

// Returns whether an item has several causes since an earlier program of this run, and all of them
// are changes of the program itself.
static bool is_mixed(const rk_explained *item) {
    const rk_differences *list = &item->differences;
    if (!item->nearest_of || item->is_eager || list->cause_count < 2 || is_branch_of_shapes(item))
        return false;
    for (size_t i = 0; i < list->cause_count; i++)
        if (class_of(item, &list->items[i]) == RK_CAUSE_FIRST)
            return false;
    return true;
}

// Counts the other compilations that have `change`; with `without`, only those without it.
static size_t count_with(const rk_explanation *x, const rk_explained *of,
                         const rk_difference *change, const rk_difference *without) {
    size_t count = 0;
    for (size_t i = 0; i < x->count; i++)
        count += x->items[i].nearest_of && has_change(&x->items[i], of, change) &&
                 !(without && has_change(&x->items[i], of, without));
    return count;
}

// Moves the differences of one change to the front.
static void lead(rk_explained *item, size_t at) {
    rk_differences *list = &item->differences;
    const rk_difference change = list->items[at]; // its texts stay where they are
    size_t front = 0;
    for (size_t i = 0; i < list->cause_count; i++) {
        if (!is_change(item, &list->items[i], item, &change))
            continue;
        rk_differences_move(list, i, front++);
    }
    rk_differences_number(list);
    item->cause = class_of(item, &list->items[0]);
}

// Returns whether one of the programs has a part that the other one lacks. Then constants may be
// compared that belong to different parts, and the inputs of that part remain the first difference.
static bool has_another_part(const rk_explained *item) {
    enum { PARTS = 10 };
    if (item->cause != RK_CAUSE_PARAMETERS || !item->program->has_sketch ||
        !item->nearest->has_sketch)
        return false;
    uint32_t a = item->program->sketch.op_count, b = item->nearest->sketch.op_count;
    return PARTS * (a > b ? a - b : b - a) > (a < b ? a : b);
}

// Returns whether a number is the size of an axis that another difference changes, or the last
// position along it.
static bool is_of_size(const rk_explained *item, long long number) {
    for (size_t i = 0; i < item->differences.cause_count; i++) {
        const rk_difference *d = &item->differences.items[i];
        rk_dims before, after;
        if (d->kind != RK_DIFFERENCE_SHAPE || !rk_parse_dims(d->before, &before) ||
            !rk_parse_dims(d->after, &after) || before.count != after.count)
            continue;
        for (size_t k = 0; k < after.count; k++)
            if (before.sizes[k] != after.sizes[k] &&
                (number == after.sizes[k] || number == after.sizes[k] - 1))
                return true;
    }
    return false;
}

// Returns whether a constant is the position of a slice of a value of another size, or is given to
// a function that may take such a slice: a loop over the rows of a smaller batch ends earlier. Then
// the size is the cause.
static bool is_position_of_rows(const rk_explained *item, const rk_difference *d) {
    static const char *const ops[] = {"hlo.dynamic-slice", "hlo.dynamic-update-slice",
                                      "stablehlo.dynamic_slice", "stablehlo.dynamic_update_slice"};
    static const char call[] = "func.call"; // of a function of JAX, as for jnp.take
    char *end = NULL;
    if (item->cause != RK_CAUSE_SHAPE || d->kind != RK_DIFFERENCE_CONSTANT || !d->op || !d->after)
        return false;
    for (size_t i = 0; i < RK_ARRAY_LEN(ops); i++)
        if (strcmp(d->op, ops[i]) == 0)
            return true;
    long long number = strtoll(d->after, &end, 10);
    return strcmp(d->op, call) == 0 && end != d->after && *end == '\0' && is_of_size(item, number);
}

static size_t find_rarest(const rk_explanation *x, const rk_explained *item) {
    const rk_differences *list = &item->differences;
    size_t best = 0, fewest = count_with(x, item, &list->items[0], NULL);
    for (size_t i = 1; i < list->cause_count; i++) {
        const rk_difference *change = &list->items[i], *head = &list->items[best];
        if (is_change(item, change, item, head) || (head->file && !change->file) ||
            (rk_is_on_line_of_user(head) && !rk_is_on_line_of_user(change)))
            continue;
        if ((class_of(item, change) == RK_CAUSE_CONSTANT && has_another_part(item)) ||
            is_position_of_rows(item, change))
            continue;
        size_t count = count_with(x, item, change, NULL);
        if (count < fewest && count_with(x, item, head, change) >= ALONE_MIN) {
            best = i;
            fewest = count;
        }
    }
    return best;
}

rk_err *rk_explain_choose_heads(rk_explanation *x) {
    // All are chosen before any list changes: the classes of some differences depend on the cause.
    rk_autofree size_t *heads = rk_calloc(x->count + 1, sizeof *heads);
    if (!heads)
        return rk_err_no_memory();
    for (size_t i = 0; i < x->count; i++)
        heads[i] = is_mixed(&x->items[i]) ? find_rarest(x, &x->items[i]) : 0;
    for (size_t i = 0; i < x->count; i++)
        if (heads[i])
            lead(&x->items[i], heads[i]);
    return NULL;
}

bool rk_explain_is_new_for_good(const rk_explanation *x, const rk_explained *item) {
    const rk_difference *head = rk_explained_head(item);
    if (!head || !item->nearest_of)
        return false;
    for (size_t i = 0; i < x->count; i++) {
        const rk_explained *other = &x->items[i];
        bool later = other->compile->process == item->compile->process &&
                     other->compile->seq > item->compile->seq;
        if (other != item && other->nearest_of && !other->accumulates &&
            ((other->nearest == item->nearest && later) || has_change(other, item, head)))
            return false;
    }
    return true;
}
