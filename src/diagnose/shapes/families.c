#include "diagnose/shapes/families.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

// A group with more independent axes than this gets no families: padding does not help there.
enum { MAX_AXES = 8 };

// A dimension that varies within a group, with the group's programs in order of its size.
typedef struct axis {
    size_t dim;
    size_t *order;     // owned; indices into the group
    uint8_t *is_along; // owned; by dimension: whether it belongs to this axis
} axis;

typedef struct group {
    const rk_family_program *programs;
    size_t *members; // owned; indices of programs with distinct dimensions
    size_t member_count;
    size_t dim_count;
    axis axes[MAX_AXES];
    size_t axis_count;
} group;

static void group_cleanup(group *g) {
    rk_free(g->members);
    for (size_t i = 0; i < g->axis_count; i++) {
        rk_free(g->axes[i].order);
        rk_free(g->axes[i].is_along);
    }
}

void rk_families_cleanup(rk_families *families) {
    for (size_t i = 0; i < families->count; i++) {
        rk_free(families->items[i].members);
        rk_free(families->items[i].along);
    }
    rk_free(families->items);
    *families = (rk_families){0};
}

static int64_t dim_of(const group *g, size_t member, size_t dim) {
    return g->programs[g->members[member]].dims[dim];
}

// Comparison functions for arrays of indices.

static int by_kind(const void *a, const void *b, void *context) {
    const rk_family_program *programs = context;
    size_t one = *(const size_t *)a, other = *(const size_t *)b;
    int order = strcmp(programs[one].kind, programs[other].kind);
    size_t bytes = programs[one].dim_count * sizeof(int64_t);
    if (order == 0 && bytes > 0)
        order = memcmp(programs[one].dims, programs[other].dims, bytes);
    return order != 0 ? order : (one > other) - (one < other);
}

typedef struct by_axis {
    const group *group;
    const axis *axis;
    const uint8_t *is_fixed; // by dimension: whether it is compared first; NULL: none
} by_axis;

static int compare_fixed(const by_axis *by, size_t one, size_t other) {
    for (size_t dim = 0; by->is_fixed && dim < by->group->dim_count; dim++) {
        int64_t a = dim_of(by->group, one, dim), b = dim_of(by->group, other, dim);
        if (by->is_fixed[dim] && a != b)
            return a < b ? -1 : 1;
    }
    return 0;
}

static int by_size(const void *a, const void *b, void *context) {
    const by_axis *by = context;
    size_t one = *(const size_t *)a, other = *(const size_t *)b;
    int order = compare_fixed(by, one, other);
    int64_t x = dim_of(by->group, one, by->axis->dim), y = dim_of(by->group, other, by->axis->dim);
    if (order == 0)
        order = (x > y) - (x < y);
    return order != 0 ? order : (one > other) - (one < other);
}

static bool varies(const group *g, size_t dim) {
    for (size_t i = 1; i < g->member_count; i++)
        if (dim_of(g, i, dim) != dim_of(g, 0, dim))
            return true;
    return false;
}

// Returns whether a dimension belongs to an axis: it is constant while the size of the axis is
// constant, and never falls while the size rises.
static bool goes_along(const group *g, const axis *a, size_t dim) {
    for (size_t i = 1; i < g->member_count; i++) {
        int64_t size = dim_of(g, a->order[i - 1], a->dim), next = dim_of(g, a->order[i], a->dim);
        int64_t value = dim_of(g, a->order[i - 1], dim), then = dim_of(g, a->order[i], dim);
        if (size == next ? value != then : value > then)
            return false;
    }
    return true;
}

static rk_err *add_axis(group *g, size_t dim) {
    axis *a = &g->axes[g->axis_count++];
    *a = (axis){.dim = dim,
                .order = rk_calloc(g->member_count, sizeof *a->order),
                .is_along = rk_calloc(g->dim_count, 1)};
    if (!a->order || !a->is_along)
        return rk_err_no_memory();
    for (size_t i = 0; i < g->member_count; i++)
        a->order[i] = i;
    by_axis by = {.group = g, .axis = a};
    qsort_r(a->order, g->member_count, sizeof *a->order, by_size, &by);
    for (size_t other = 0; other < g->dim_count; other++)
        a->is_along[other] = varies(g, other) && goes_along(g, a, other);
    return NULL;
}

static void drop_axis(group *g, size_t index) {
    rk_free(g->axes[index].order);
    rk_free(g->axes[index].is_along);
    g->axes[index] = g->axes[--g->axis_count];
}

// Removes an axis that another axis determines. Of two axes that determine each other the first
// stays.
static void merge_newest(group *g) {
    size_t newest = g->axis_count - 1;
    for (size_t i = 0; i < g->axis_count; i++) {
        if (i == newest)
            continue;
        if (g->axes[i].is_along[g->axes[newest].dim]) {
            drop_axis(g, newest);
            return;
        }
        if (g->axes[newest].is_along[g->axes[i].dim]) {
            drop_axis(g, i); // drop_axis moves the last axis here
            newest = newest == g->axis_count ? i : newest;
            i--;
        }
    }
}

static rk_err *find_axes(group *g, bool *out_too_many) {
    *out_too_many = false;
    for (size_t dim = 0; dim < g->dim_count; dim++) {
        bool known = !varies(g, dim);
        for (size_t i = 0; i < g->axis_count && !known; i++)
            known = g->axes[i].is_along[dim];
        if (known)
            continue;
        *out_too_many = g->axis_count == MAX_AXES;
        if (*out_too_many)
            return NULL;
        RK_TRY(add_axis(g, dim));
        merge_newest(g);
    }
    return NULL;
}

static rk_err *add_family(const group *g, const axis *a, const size_t *members, size_t count,
                          rk_families *out) {
    if (out->count == out->capacity) {
        size_t larger = out->capacity ? 2 * out->capacity : 8;
        rk_family *items = rk_realloc(out->items, larger * sizeof *items);
        if (!items)
            return rk_err_no_memory();
        out->items = items;
        out->capacity = larger;
    }
    rk_family *family = &out->items[out->count++];
    *family = (rk_family){.members = rk_calloc(count, sizeof *family->members),
                          .along = rk_calloc(g->dim_count, sizeof *family->along),
                          .axis = a->dim};
    if (!family->members || !family->along)
        return rk_err_no_memory();
    for (size_t i = 0; i < count; i++)
        family->members[family->member_count++] = g->members[members[i]];
    for (size_t dim = 0; dim < g->dim_count; dim++)
        if (a->is_along[dim])
            family->along[family->along_count++] = dim;
    return NULL;
}

// Makes the families of one axis. Once sorted, members that are equal in all but the axis are
// adjacent.
static rk_err *split(const group *g, axis *a, rk_families *out) {
    rk_autofree uint8_t *is_fixed = rk_calloc(g->dim_count, 1);
    if (!is_fixed)
        return rk_err_no_memory();
    for (size_t dim = 0; dim < g->dim_count; dim++)
        is_fixed[dim] = !a->is_along[dim];
    by_axis by = {.group = g, .axis = a, .is_fixed = is_fixed};
    qsort_r(a->order, g->member_count, sizeof *a->order, by_size, &by);
    size_t begin = 0;
    for (size_t i = 1; i <= g->member_count; i++) {
        if (i < g->member_count && compare_fixed(&by, a->order[begin], a->order[i]) == 0)
            continue;
        if (i - begin > 1)
            RK_TRY(add_family(g, a, &a->order[begin], i - begin, out));
        begin = i;
    }
    return NULL;
}

// `order`: indices of programs of one kind; programs with equal dimensions are adjacent.
static rk_err *add_group(const rk_family_program *programs, const size_t *order, size_t count,
                         rk_families *out) {
    __attribute__((cleanup(group_cleanup))) group g = {
        .programs = programs,
        .dim_count = programs[order[0]].dim_count,
        .members = rk_calloc(count, sizeof *g.members),
    };
    if (!g.members)
        return rk_err_no_memory();
    for (size_t i = 0; i < count; i++)
        if (i == 0 || memcmp(programs[order[i]].dims, programs[order[i - 1]].dims,
                             g.dim_count * sizeof(int64_t)) != 0)
            g.members[g.member_count++] = order[i];
    bool too_many;
    RK_TRY(find_axes(&g, &too_many));
    for (size_t i = 0; i < g.axis_count && !too_many; i++)
        RK_TRY(split(&g, &g.axes[i], out));
    return NULL;
}

static int by_first(const void *a, const void *b) {
    const rk_family *one = a, *other = b;
    size_t x = one->members[0], y = other->members[0];
    return x != y ? (x > y) - (x < y) : (one->axis > other->axis) - (one->axis < other->axis);
}

rk_err *rk_families_find(const rk_family_program *programs, size_t count,
                         rk_families *out_families) {
    rk_autofree size_t *order = rk_calloc(count + 1, sizeof *order);
    if (!order)
        return rk_err_no_memory();
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    qsort_r(order, count, sizeof *order, by_kind, (void *)(uintptr_t)programs);
    size_t begin = 0;
    for (size_t i = 1; i <= count; i++) {
        if (i < count && strcmp(programs[order[begin]].kind, programs[order[i]].kind) == 0)
            continue;
        if (i > begin && programs[order[begin]].dim_count > 0)
            RK_TRY(add_group(programs, &order[begin], i - begin, out_families));
        begin = i;
    }
    if (out_families->count > 0)
        qsort(out_families->items, out_families->count, sizeof *out_families->items, by_first);
    return NULL;
}
