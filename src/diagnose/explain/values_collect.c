// Collects the values of a finding: those of its compilations, and of other programs of the same
// function that the process requested.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "diagnose/explain/operations_internal.h"
#include "diagnose/explain/value_place_internal.h"
#include "diagnose/explain/values_internal.h"
#include "diagnose/shapes/dims_internal.h"

// A counter that goes on after a restart is compared with programs of the earlier start. Jobs run
// operations of the framework with other values from start to start.
bool rk_value_is_comparable(const rk_explained *item) {
    return item->nearest_of || (item->nearest_run && !item->is_eager);
}

bool rk_is_size_family(const rk_known *a, const rk_known *b) {
    if (!a || !b || !a->has_sketch || !b->has_sketch)
        return false;
    const rk_sketch *one = &a->sketch, *other = &b->sketch;
    return rk_same_operations(one, other) ||
           (one->input_count == other->input_count && one->result_count == other->result_count &&
            rk_have_same_kinds(one, other));
}

bool rk_is_value_of_same_place(const rk_explained *a, const rk_explained *b) {
    const rk_difference *place = rk_value_difference(a);
    return a->cause == b->cause && rk_value_is_comparable(a) && rk_value_is_comparable(b) &&
           place && rk_explained_share_name(a, b) && rk_value_at(b, place) &&
           (a->cause != RK_CAUSE_SHAPE || rk_is_size_family(a->program, b->program));
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

void rk_collected_cleanup(rk_collected *c) {
    rk_free(c->all);
    rk_free(c->requested);
    rk_members_cleanup(&c->items);
}

// The value before counts only if this run requested it, and the same line calls it.
static void add_values(rk_collected *c, const rk_explained *item, const rk_difference *d) {
    if (d->before && rk_value_counts_before(item, d))
        c->all[c->count++] = d->before;
    if (d->after)
        c->all[c->count++] = d->after;
}

// Adds the sizes of the input in all programs of the function that the process requested. Other
// findings may be about them, or they were loaded.
static void add_sizes_of_requests(const rk_explainer *e, const rk_explained *first,
                                  rk_collected *c) {
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
            !rk_is_size_family(first->program, known) ||
            (rk_explained_is_torch(first) && !rk_value_has_line(known, value)))
            continue;
        const char *type = type_of_input(&known->sketch, value);
        if (!type)
            continue;
        c->all[c->count++] = type;
        c->requested[c->requested_count++] = known;
    }
}

// A number may be a cause of a compilation that another finding is about.
static rk_err *add_other(rk_collected *c, const rk_explained *first, const rk_explained *item) {
    const rk_difference *other =
        item->compile->process == first->compile->process && !item->is_eager && !first->is_eager
            ? value_of_other(item, rk_value_difference(first))
            : NULL;
    if (!other)
        return NULL;
    add_values(c, item, other);
    return rk_members_add(&c->items, item);
}

static void add_member(rk_collected *c, const rk_explained *first, const rk_explained *item) {
    if (rk_is_value_of_same_place(first, item)) // else another operation, with the same sizes
        add_values(c, item, rk_value_at(item, rk_value_difference(first)));
}

rk_err *rk_values_collect(const rk_explainer *e, const rk_members *members, bool are_all,
                          rk_collected *c) {
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

size_t rk_count_distinct(const rk_known **programs, size_t count) {
    size_t distinct = 0;
    if (count)
        qsort(programs, count, sizeof *programs, by_address);
    for (size_t i = 0; i < count; i++)
        distinct += !i || programs[i] != programs[i - 1];
    return distinct;
}

void rk_values_count(rk_collected *c, rk_values *out_values) {
    *out_values = (rk_values){.count = 0};
    for (size_t i = 0; i < c->count; i++)
        show_value(out_values, c->all[i]);
    if (c->count)
        qsort(c->all, c->count, sizeof *c->all, by_text);
    for (size_t i = 0; i < c->count; i++)
        out_values->count += i == 0 || strcmp(c->all[i - 1], c->all[i]) != 0;
    out_values->programs = c->requested_count ? rk_count_distinct(c->requested, c->requested_count)
                                              : rk_values_count_programs(&c->items);
}

rk_err *rk_values_keep_one_of_each_size(rk_collected *c, size_t axis) {
    rk_autofree long long *seen = rk_calloc(c->count + 1, sizeof *seen);
    size_t kept = 0;
    if (!seen)
        return rk_err_no_memory();
    for (size_t i = 0; i < c->count; i++) {
        rk_dims d;
        if (!rk_parse_dims(c->all[i], &d) || axis >= d.count)
            continue;
        const long long size = d.sizes[axis];
        if (kept && bsearch(&size, seen, kept, sizeof *seen, rk_compare_sizes))
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
