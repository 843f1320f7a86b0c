// Finds a place that takes one value after another: a counter, or a size that grows.
#include <stdlib.h>

#include "base/alloc.h"
#include "diagnose/explain/operations_internal.h"
#include "diagnose/explain/patterns_internal.h"
#include "diagnose/explain/value_place_internal.h"
#include "diagnose/explain/values_internal.h"
#include "diagnose/shapes/dims_internal.h"

// Returns whether the number of operations follows from the size: each additional element adds the
// same number of operations, as in an unrolled loop. (PyTorch/XLA records a view once or twice.)
static bool follows_size(const rk_explained *item) {
    enum { VIEWS_MAX = 2 };
    const rk_difference *value = rk_value_difference(item);
    rk_dims before, after;
    size_t axis;
    const rk_sketch *one = &item->nearest->sketch, *other = &item->program->sketch;
    if (rk_same_operations(one, other))
        return true;
    if (!rk_value_is_of_axis(value, &axis) || value != rk_explained_head(item) ||
        !rk_parse_dims(value->before, &before) || !rk_parse_dims(value->after, &after))
        return false;
    long long sizes = after.sizes[axis] - before.sizes[axis],
              operations = (long long)other->op_count - (long long)one->op_count;
    if (sizes < 0) {
        sizes = -sizes;
        operations = -operations;
    }
    long long rest = sizes && operations > 0 ? operations % sizes : sizes;
    return rest <= VIEWS_MAX || sizes - rest <= VIEWS_MAX;
}

static rk_err *add_group(rk_explainer *e, const rk_members *members) {
    rk_values list;
    const rk_explained *first = members->items[0];
    const rk_difference *value = rk_value_difference(first);
    RK_AUTO(rk_collected) own = {.count = 0};
    RK_AUTO(rk_collected) all = {.count = 0};
    bool is_shape = first->cause == RK_CAUSE_SHAPE;
    size_t axis;
    bool is_of_axis = is_shape && rk_values_are_of_axis(members, &axis);
    RK_TRY(rk_values_collect(e, members, false, &own));
    if (is_of_axis)
        RK_TRY(rk_values_keep_one_of_each_size(&own, axis));
    rk_values_count(&own, &list);
    bool are_many = is_shape && list.count > 1 && rk_values_count_programs(members) > RK_VALUES_MIN;
    if (list.count < RK_VALUES_MIN && !are_many)
        return NULL;
    RK_AUTO(rk_pattern_text) text = {.summary = {0}};
    RK_TRY(rk_values_collect(e, members, true, &all));
    if (is_of_axis)
        RK_TRY(rk_values_keep_one_of_each_size(&all, axis));
    rk_values_count(&all, &list);
    RK_TRY(rk_values_describe(members, &list, &text));
    return rk_pattern_add(e->out, is_shape ? RK_PATTERN_SHAPE_FAMILY : RK_PATTERN_COUNTER,
                          members->items, members->count, &text, value->file, value->line);
}

// Another number of random keys or values is a size, which follows from what the job does.
static bool is_random_size(const rk_explained *item) {
    return rk_explained_head(item)->kind == RK_DIFFERENCE_SHAPE && item->program &&
           item->program->has_sketch && rk_is_random_helper(&item->program->sketch);
}

// Returns whether two graphs of PyTorch/XLA are of two places in the source, such as the losses of
// training and of evaluation: each has lines of its own.
static bool is_of_other_place(const rk_explained *item) {
    return rk_explained_is_torch(item) &&
           rk_has_own_line(&item->program->sketch, &item->nearest->sketch) &&
           rk_has_own_line(&item->nearest->sketch, &item->program->sketch);
}

static bool may_begin(const rk_explained *item) {
    if (!rk_value_difference(item) || item->compile->refused || !rk_value_is_comparable(item))
        return false;
    if (item->cause == RK_CAUSE_CONSTANT)
        return !is_random_size(item);
    return item->cause == RK_CAUSE_SHAPE && rk_is_size_family(item->nearest, item->program) &&
           follows_size(item) && !is_of_other_place(item);
}

// Compilations that differ at one place.
typedef struct group {
    rk_members members;
    long long *sizes; // of operations outside of jit: rising, each once; owned
    size_t size_count;
} group;

typedef struct groups {
    group *items; // owned
    size_t count;
} groups;

static void groups_cleanup(groups *list) {
    for (size_t i = 0; i < list->count; i++) {
        rk_members_cleanup(&list->items[i].members);
        rk_free(list->items[i].sizes);
    }
    rk_free(list->items);
}

static rk_err *collect_groups(const rk_explanation *x, groups *out_list) {
    rk_autofree bool *taken = rk_calloc(x->count + 1, sizeof *taken);
    out_list->items = rk_calloc(x->count + 1, sizeof *out_list->items);
    if (!taken || !out_list->items)
        return rk_err_no_memory();
    for (size_t i = 0; i < x->count; i++) {
        if (taken[i] || !may_begin(&x->items[i]))
            continue;
        rk_members *members = &out_list->items[out_list->count++].members;
        for (size_t k = i; k < x->count; k++) {
            const rk_explained *other = &x->items[k];
            if (taken[k] || !may_begin(other) || !rk_is_value_of_same_place(&x->items[i], other))
                continue;
            taken[k] = true;
            RK_TRY(rk_members_add(members, other));
        }
    }
    return NULL;
}

// The size in a type along the axis of the item's difference; -1: not known.
static long long size_in(const rk_explained *item, const char *type) {
    const rk_difference *head = rk_explained_head(item);
    size_t axis;
    rk_dims d;
    bool known =
        rk_only_axis(head->before, head->after, &axis) && rk_parse_dims(type, &d) && axis < d.count;
    return known ? d.sizes[axis] : -1;
}

static rk_err *collect_sizes(group *g) {
    const rk_members *members = &g->members;
    size_t kept = 0;
    g->sizes = rk_calloc(2 * members->count + 1, sizeof *g->sizes);
    if (!g->sizes)
        return rk_err_no_memory();
    for (size_t i = 0; i < members->count; i++) {
        const rk_explained *item = members->items[i];
        g->sizes[g->size_count++] = size_in(item, rk_explained_head(item)->after);
        if (rk_value_counts_before(item, rk_explained_head(item)))
            g->sizes[g->size_count++] = size_in(item, rk_explained_head(item)->before);
    }
    qsort(g->sizes, g->size_count, sizeof *g->sizes, rk_compare_sizes);
    for (size_t i = 0; i < g->size_count; i++)
        if (!i || g->sizes[i] != g->sizes[i - 1])
            g->sizes[kept++] = g->sizes[i];
    g->size_count = kept;
    return NULL;
}

// Returns whether two groups have nearly all sizes in common: the operations are called for the
// same data.
static bool share_sizes(const group *a, const group *b) {
    enum { PERCENT = 80 };
    size_t most = a->size_count > b->size_count ? a->size_count : b->size_count, common = 0;
    size_t least = a->size_count + b->size_count - most;
    if (100 * least < PERCENT * most)
        return false;
    for (size_t i = 0, k = 0; i < a->size_count && k < b->size_count;) {
        long long x = a->sizes[i], y = b->sizes[k];
        common += x == y;
        i += x <= y;
        k += y <= x;
    }
    return 100 * common >= PERCENT * most;
}

// Operations outside of jit that one selection of rows gives the same sizes are one finding: moves
// the later groups into the first.
static rk_err *merge_operations(groups *list) {
    for (size_t i = 0; i < list->count; i++)
        if (rk_values_are_of_operations(&list->items[i].members))
            RK_TRY(collect_sizes(&list->items[i]));
    for (size_t i = 0; i < list->count; i++) {
        group *into = &list->items[i];
        if (into->size_count < RK_VALUES_MIN || !into->members.count)
            continue;
        const rk_explained *first = into->members.items[0];
        for (size_t k = i + 1; k < list->count; k++) {
            group *from = &list->items[k];
            if (from->size_count < RK_VALUES_MIN || !from->members.count ||
                from->members.items[0]->compile->process != first->compile->process ||
                !rk_same_axis(first, from->members.items[0]) || !share_sizes(into, from))
                continue;
            for (size_t m = 0; m < from->members.count; m++)
                RK_TRY(rk_members_add(&into->members, from->members.items[m]));
            from->members.count = 0;
        }
    }
    return NULL;
}

// Returns whether two items are programs of one function of JAX, which one line calls: sometimes
// the size of one input varies, and sometimes that of another.
static bool is_of_one_function(const rk_explained *a, const rk_explained *b) {
    return a->cause == RK_CAUSE_SHAPE && b->cause == RK_CAUSE_SHAPE && !a->is_eager &&
           !b->is_eager && a->compile->process == b->compile->process &&
           rk_explained_share_name(a, b) && rk_is_size_family(a->program, b->program) &&
           a->program->sketch.is_mlir && rk_is_same_call(&a->program->sketch, &b->program->sketch);
}

// Moves later groups of the same function into the first.
static rk_err *merge_functions(groups *list) {
    for (size_t i = 0; i < list->count; i++) {
        rk_members *into = &list->items[i].members;
        for (size_t k = i + 1; k < list->count && into->count; k++) {
            rk_members *from = &list->items[k].members;
            if (!from->count || !is_of_one_function(into->items[0], from->items[0]))
                continue;
            for (size_t m = 0; m < from->count; m++)
                RK_TRY(rk_members_add(into, from->items[m]));
            from->count = 0;
        }
    }
    return NULL;
}

// Returns whether two groups are graphs of PyTorch/XLA whose inputs, which one line makes, have
// other sizes. Graphs have no names, and a step may have several.
static bool are_of_line(const rk_members *a, const rk_members *b) {
    const rk_explained *first = a->items[0], *other = b->items[0];
    const rk_difference *x = rk_value_difference(first), *y = rk_value_difference(other);
    return first->cause == RK_CAUSE_SHAPE && other->cause == RK_CAUSE_SHAPE &&
           first->compile->process == other->compile->process && rk_explained_is_torch(first) &&
           rk_explained_is_torch(other) && rk_is_of_input(x) && rk_is_of_input(y) && x->line &&
           rk_is_on_same_line(x, y);
}

// Collects the groups from `first` on that are of its line. Without those that cost next to
// nothing: small graphs may have sizes of their own. Returns how many there are.
static size_t find_parts(groups *list, size_t first, rk_members **parts) {
    enum { PARTS_OF_ALL = 100 };
    size_t count = 0, kept = 0;
    uint64_t sum_ns = 0;
    for (size_t i = first; i < list->count; i++) {
        rk_members *members = &list->items[i].members;
        if (!members->count || !are_of_line(&list->items[first].members, members))
            continue;
        parts[count++] = members;
        sum_ns += rk_members_cost_ns(members);
    }
    for (size_t i = 0; i < count; i++)
        if (rk_members_cost_ns(parts[i]) >= sum_ns / PARTS_OF_ALL)
            parts[kept++] = parts[i];
    return kept;
}

// Makes one finding of the groups of one line.
static rk_err *add_lines(rk_explainer *e, groups *list) {
    rk_autofree rk_members **parts = rk_calloc(list->count + 1, sizeof *parts);
    if (!parts)
        return rk_err_no_memory();
    for (size_t i = 0; i < list->count; i++) {
        bool added = false;
        size_t count = list->items[i].members.count ? find_parts(list, i, parts) : 0;
        if (count > 1)
            RK_TRY(rk_add_sizes_of_line(e, parts, count, &added));
        for (size_t k = 0; k < count && added; k++)
            parts[k]->count = 0;
    }
    return NULL;
}

rk_err *rk_find_value_patterns(rk_explainer *e) {
    RK_AUTO(groups) list = {.count = 0};
    RK_TRY(collect_groups(e->out, &list));
    RK_TRY(merge_operations(&list));
    RK_TRY(merge_functions(&list));
    RK_TRY(add_lines(e, &list));
    for (size_t i = 0; i < list.count; i++)
        if (list.items[i].members.count)
            RK_TRY(add_group(e, &list.items[i].members));
    return NULL;
}
