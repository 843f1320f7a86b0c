// Finds a place that takes one value after another: a counter, or a size that grows.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "diagnose/explain/operations_internal.h"
#include "diagnose/explain/patterns_internal.h"
#include "diagnose/explain/value_place_internal.h"
#include "diagnose/explain/values_internal.h"
#include "diagnose/shapes/dims_internal.h"

enum { VALUES_MIN = 3 };

// Returns whether the earlier program may be another value of the same place. A counter that goes
// on after a restart is compared with programs of the earlier start. Jobs run operations of the
// framework with other values from start to start.
static bool is_comparable(const rk_explained *item) {
    return item->nearest_of || (item->nearest_run && !item->is_eager);
}

// Returns whether two programs differ only in shapes, or in the number of iterations of a loop that
// is unrolled over a size. Programs of one name, made by one line of the source, may be of several
// functions.
static bool is_family(const rk_known *a, const rk_known *b) {
    if (!a || !b || !a->has_sketch || !b->has_sketch)
        return false;
    const rk_sketch *one = &a->sketch, *other = &b->sketch;
    return rk_same_operations(one, other) ||
           (one->input_count == other->input_count && one->result_count == other->result_count &&
            rk_have_same_kinds(one, other));
}

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

// Returns whether two compilations differ at the same place of the same function, only by the
// value.
static bool same_place(const rk_explained *a, const rk_explained *b) {
    const rk_difference *place = rk_value_difference(a);
    return a->cause == b->cause && is_comparable(a) && is_comparable(b) && place &&
           rk_explained_share_name(a, b) && rk_value_at(b, place) &&
           (a->cause != RK_CAUSE_SHAPE || is_family(a->program, b->program));
}

static void show_value(rk_values *list, const char *value) {
    for (size_t i = 0; i < list->shown_count; i++)
        if (strcmp(list->shown[i], value) == 0)
            return;
    if (list->shown_count < RK_VALUES_SHOWN)
        list->shown[list->shown_count++] = value;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// The type of the input that the difference is about. Borrowed; NULL if the program has no such
// input.
static const char *type_of_input(const rk_sketch *sketch, const rk_difference *value) {
    unsigned number;
    int end = 0;
    if (!value->attribute)
        return NULL;
    // The inputs of PyTorch/XLA have no names.
    if (!sketch->is_mlir && sscanf(value->attribute, "parameter %u%n", &number, &end) == 1 &&
        !value->attribute[end])
        return number < sketch->input_count ? sketch->inputs[number].type : NULL;
    for (uint32_t i = 0; i < sketch->input_count; i++)
        if (rk_same_text(sketch->inputs[i].name, value->attribute))
            return sketch->inputs[i].type;
    return NULL;
}

// The difference of a compilation that belongs to another finding, at the same line of the source;
// NULL if it has none there. For example, its inputs differ, too.
static const rk_difference *value_of_other(const rk_explained *item, const rk_difference *place) {
    if (!place->file || rk_is_of_input(place))
        return NULL;
    for (size_t i = 0; i < item->differences.cause_count; i++) {
        const rk_difference *d = &item->differences.items[i];
        if (rk_value_is_same_place(d, place))
            return d;
    }
    return NULL;
}

// The values of a finding, in the order of the requests.
typedef struct collection {
    const char **all; // owned; borrowed texts
    size_t count;
    rk_members items;           // the compilations that have the values
    const rk_known **requested; // owned; programs of requests that have them, too
    size_t requested_count;
} collection;

static void collection_cleanup(collection *c) {
    rk_free(c->all);
    rk_free(c->requested);
    rk_members_cleanup(&c->items);
}

// The value before counts only if this run requested it, and the same line calls it.
static void add_values(collection *c, const rk_explained *item, const rk_difference *d) {
    if (d->before && item->nearest_of && rk_explain_is_same_call(item))
        c->all[c->count++] = d->before;
    if (d->after)
        c->all[c->count++] = d->after;
}

// Adds the sizes of the input in all programs of the function that the process requested. Other
// findings may be about them, or they were loaded.
static void add_sizes_of_requests(const rk_explainer *e, const rk_explained *first, collection *c) {
    const rk_difference *value = rk_value_difference(first);
    const rk_sketch *own = &first->program->sketch;
    rk_span name = rk_program_index_bare_name(rk_span_text(own->module));
    if (first->is_eager || !rk_is_of_input(value))
        return;
    for (size_t i = 0; i < e->run->compile_count; i++) {
        const rk_known *known = e->seen[i];
        if (e->run->compiles[i].process != first->compile->process || !known ||
            !known->has_sketch || !rk_is_same_call(own, &known->sketch) ||
            !rk_span_equal(rk_program_index_bare_name(rk_span_text(known->sketch.module)), name) ||
            !is_family(first->program, known))
            continue;
        const char *type = type_of_input(&known->sketch, value);
        if (!type)
            continue;
        c->all[c->count++] = type;
        c->requested[c->requested_count++] = known;
    }
}

// A number may be a cause of a compilation that another finding is about.
static rk_err *add_other(collection *c, const rk_explained *first, const rk_explained *item) {
    const rk_difference *other =
        item->compile->process == first->compile->process && !item->is_eager && !first->is_eager
            ? value_of_other(item, rk_value_difference(first))
            : NULL;
    if (!other)
        return NULL;
    add_values(c, item, other);
    return rk_members_add(&c->items, item);
}

static void add_member(collection *c, const rk_explained *first, const rk_explained *item) {
    if (same_place(first, item)) // else another operation, with the same sizes
        add_values(c, item, rk_value_at(item, rk_value_difference(first)));
}

// `are_all`: also the values of programs that the finding is not about.
static rk_err *collect(const rk_explainer *e, const rk_members *members, bool are_all,
                       collection *c) {
    const rk_explanation *x = e->out;
    const rk_explained *first = members->items[0];
    bool is_shape = first->cause == RK_CAUSE_SHAPE;
    rk_autofree bool *is_member = rk_calloc(x->count + 1, sizeof *is_member);
    c->all = rk_calloc(2 * (x->count + members->count) + e->run->compile_count + 1, sizeof *c->all);
    c->requested = rk_calloc(e->run->compile_count + 1, sizeof *c->requested);
    if (!c->all || !is_member || !c->requested)
        return rk_err_no_memory();
    if (are_all && is_shape)
        add_sizes_of_requests(e, first, c);
    for (size_t i = 0; i < members->count; i++) {
        is_member[members->items[i] - x->items] = true;
        RK_TRY(rk_members_add(&c->items, members->items[i]));
        if (is_shape || !are_all)
            add_member(c, first, members->items[i]);
    }
    for (size_t i = 0; i < x->count && are_all && !is_shape; i++)
        if (is_member[i])
            add_member(c, first, &x->items[i]);
        else
            RK_TRY(add_other(c, first, &x->items[i]));
    return NULL;
}

static int by_address(const void *a, const void *b) {
    uintptr_t x = (uintptr_t) * (const rk_known *const *)a,
              y = (uintptr_t) * (const rk_known *const *)b;
    return (x > y) - (x < y);
}

static size_t count_programs(collection *c) {
    size_t count = 0;
    if (!c->requested_count)
        return rk_values_count_programs(&c->items);
    qsort(c->requested, c->requested_count, sizeof *c->requested, by_address);
    for (size_t i = 0; i < c->requested_count; i++)
        count += !i || c->requested[i] != c->requested[i - 1];
    return count;
}

static void count_values(collection *c, rk_values *out_values) {
    *out_values = (rk_values){.count = 0};
    for (size_t i = 0; i < c->count; i++)
        show_value(out_values, c->all[i]);
    if (c->count)
        qsort(c->all, c->count, sizeof *c->all, by_text);
    for (size_t i = 0; i < c->count; i++)
        out_values->count += i == 0 || strcmp(c->all[i - 1], c->all[i]) != 0;
    out_values->programs = count_programs(c);
}

static int by_size(const void *a, const void *b) {
    long long x = *(const long long *)a, y = *(const long long *)b;
    return (x > y) - (x < y);
}

// Keeps one shape of each size along the axis: a batch of another size may have it as well.
static rk_err *keep_one_of_each_size(collection *c, size_t axis) {
    rk_autofree long long *seen = rk_calloc(c->count + 1, sizeof *seen);
    size_t kept = 0;
    if (!seen)
        return rk_err_no_memory();
    for (size_t i = 0; i < c->count; i++) {
        rk_dims d;
        if (!rk_parse_dims(c->all[i], &d) || axis >= d.count)
            continue;
        const long long size = d.sizes[axis];
        if (kept && bsearch(&size, seen, kept, sizeof *seen, by_size))
            continue;
        size_t at = kept;
        for (; at > 0 && seen[at - 1] > size; at--)
            seen[at] = seen[at - 1];
        seen[at] = size;
        c->all[kept++] = c->all[i];
    }
    c->count = kept;
    return NULL;
}

static rk_err *add_group(rk_explainer *e, const rk_members *members) {
    rk_values list;
    const rk_explained *first = members->items[0];
    const rk_difference *value = rk_value_difference(first);
    __attribute__((cleanup(collection_cleanup))) collection own = {.count = 0}, all = {.count = 0};
    RK_TRY(collect(e, members, false, &own));
    count_values(&own, &list);
    bool is_shape = first->cause == RK_CAUSE_SHAPE;
    size_t axis;
    if (list.count < VALUES_MIN && !(is_shape && rk_values_count_programs(members) > VALUES_MIN))
        return NULL;
    RK_AUTO(rk_pattern_text) text = {.summary = {0}};
    RK_TRY(collect(e, members, true, &all));
    if (is_shape && rk_values_are_of_axis(members, &axis))
        RK_TRY(keep_one_of_each_size(&all, axis));
    count_values(&all, &list);
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
    if (!rk_value_difference(item) || item->compile->refused || !is_comparable(item))
        return false;
    if (item->cause == RK_CAUSE_CONSTANT)
        return !is_random_size(item);
    return item->cause == RK_CAUSE_SHAPE && is_family(item->nearest, item->program) &&
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
            if (taken[k] || !may_begin(other) || !same_place(&x->items[i], other))
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
        if (item->nearest_of && rk_explain_is_same_call(item))
            g->sizes[g->size_count++] = size_in(item, rk_explained_head(item)->before);
    }
    qsort(g->sizes, g->size_count, sizeof *g->sizes, by_size);
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
        if (into->size_count < VALUES_MIN || !into->members.count)
            continue;
        const rk_explained *first = into->members.items[0];
        for (size_t k = i + 1; k < list->count; k++) {
            group *from = &list->items[k];
            if (from->size_count < VALUES_MIN || !from->members.count ||
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
           rk_explained_share_name(a, b) && is_family(a->program, b->program) &&
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

rk_err *rk_find_value_patterns(rk_explainer *e) {
    RK_AUTO(groups) list = {.count = 0};
    RK_TRY(collect_groups(e->out, &list));
    RK_TRY(merge_operations(&list));
    RK_TRY(merge_functions(&list));
    for (size_t i = 0; i < list.count; i++)
        if (list.items[i].members.count)
            RK_TRY(add_group(e, &list.items[i].members));
    return NULL;
}
