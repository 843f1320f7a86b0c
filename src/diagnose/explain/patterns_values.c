// Finds a place that takes one value after another: a counter, or a size that grows.
#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "diagnose/explain/operations_internal.h"
#include "diagnose/explain/patterns_internal.h"
#include "diagnose/shapes/dims_internal.h"

enum { VALUES_MIN = 3, VALUES_SHOWN = 8 };

static bool same_text(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

// Returns whether the earlier program may be another value of the same place. A counter that goes
// on after a restart is compared with programs of the earlier start. Jobs run operations of the
// framework with other values from start to start.
static bool is_comparable(const rk_explained *item) {
    return item->nearest_of || (item->nearest_run && !item->is_eager);
}

// Returns whether two programs differ only in shapes. Programs of one name, made by one line of the
// source, may be of several functions.
static bool is_family(const rk_known *a, const rk_known *b) {
    return a && b && a->has_sketch && b->has_sketch && rk_same_operations(&a->sketch, &b->sketch);
}

// Returns whether two compilations differ at the same place of the same function, only by the
// value.
static bool same_place(const rk_explained *a, const rk_explained *b) {
    const rk_difference *x = rk_explained_head(a), *y = rk_explained_head(b);
    return a->cause == b->cause && is_comparable(a) && is_comparable(b) && x && y &&
           rk_explained_share_name(a, b) && x->kind == y->kind && x->line == y->line &&
           same_text(x->file, y->file) && same_text(x->attribute, y->attribute) &&
           (x->line || same_text(x->op, y->op)) &&
           (a->cause != RK_CAUSE_SHAPE || is_family(a->program, b->program));
}

// The distinct values of a group, the first ones in order of appearance.
typedef struct values {
    const char *shown[VALUES_SHOWN];
    size_t shown_count, count;
} values;

static void show_value(values *list, const char *value) {
    for (size_t i = 0; i < list->shown_count; i++)
        if (strcmp(list->shown[i], value) == 0)
            return;
    if (list->shown_count < VALUES_SHOWN)
        list->shown[list->shown_count++] = value;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// The value before counts only if this run requested it, and the same line calls it.
static rk_err *collect_values(const rk_members *members, values *out_values) {
    rk_autofree const char **all = rk_calloc(2 * members->count + 1, sizeof *all);
    size_t count = 0;
    *out_values = (values){.count = 0};
    if (!all)
        return rk_err_no_memory();
    for (size_t i = 0; i < members->count; i++) {
        const rk_difference *head = rk_explained_head(members->items[i]);
        if (head->before && members->items[i]->nearest_of &&
            rk_explain_is_same_call(members->items[i]))
            all[count++] = head->before;
        if (head->after)
            all[count++] = head->after;
    }
    for (size_t i = 0; i < count; i++)
        show_value(out_values, all[i]);
    if (count)
        qsort(all, count, sizeof *all, by_text);
    for (size_t i = 0; i < count; i++)
        out_values->count += i == 0 || strcmp(all[i - 1], all[i]) != 0;
    return NULL;
}

static void write_values(const values *list, bool sizes, size_t axis, rk_buf *out) {
    for (size_t i = 0; i < list->shown_count; i++) {
        rk_dims d;
        rk_buf_add_text(out, i ? ", " : "");
        if (sizes && rk_parse_dims(list->shown[i], &d) && axis < d.count)
            rk_buf_add_format(out, "%lld", d.sizes[axis]);
        else
            rk_buf_add_text(out, list->shown[i]);
    }
    if (list->count > VALUES_SHOWN)
        rk_buf_add_format(out, ", … (%zu values)", list->count);
}

// Returns the advice that most of the members have: the others may differ in more than the value.
static const char *usual_advice(const rk_members *members) {
    enum { MEMBERS_MAX = 64 };
    size_t count = members->count < MEMBERS_MAX ? members->count : MEMBERS_MAX, most = 0;
    const char *best = NULL;
    for (size_t i = 0; i < count; i++) {
        size_t same = 0;
        for (size_t k = 0; k < count; k++)
            same += same_text(members->items[i]->advice, members->items[k]->advice);
        if (same > most) {
            most = same;
            best = members->items[i]->advice;
        }
    }
    return best ? best : "";
}

static void describe(const rk_members *members, const values *list, rk_pattern_text *text) {
    const rk_explained *first = members->items[0];
    const rk_difference *head = rk_explained_head(first);
    size_t axis = 0;
    bool sizes = rk_only_axis(head->before, head->after, &axis);
    bool is_shape = first->cause == RK_CAUSE_SHAPE;
    if (is_shape)
        rk_buf_add_format(&text->summary, "%s of %s took %zu sizes along axis %zu: ",
                          head->attribute ? head->attribute : "an input", rk_explained_name(first),
                          list->count, axis);
    else
        rk_buf_add_format(&text->summary,
                          "a number in %s took %zu values: ", rk_explained_name(first),
                          list->count);
    write_values(list, sizes, axis, &text->summary);
    rk_buf_add_format(&text->summary, "; each has a program of its own");
    if (is_shape)
        rk_advise_on_sizes(rk_explained_is_torch(first), list->count, &text->advice);
    if (is_shape && first->is_eager)
        rk_buf_add_text(&text->advice, " This operation runs outside of any jitted function; "
                                       "inside one, it has no program of its own.");
    if (!is_shape)
        rk_buf_add_text(&text->advice, usual_advice(members));
}

static rk_err *add_group(rk_explainer *e, const rk_members *members) {
    values list;
    const rk_explained *first = members->items[0];
    const rk_difference *head = rk_explained_head(first);
    RK_TRY(collect_values(members, &list));
    bool is_shape = first->cause == RK_CAUSE_SHAPE;
    if (list.count < VALUES_MIN)
        return NULL;
    RK_AUTO(rk_pattern_text) text = {.summary = {0}};
    describe(members, &list, &text);
    return rk_pattern_add(e->out, is_shape ? RK_PATTERN_SHAPE_FAMILY : RK_PATTERN_COUNTER,
                          members->items, members->count, &text, head->file, head->line);
}

// Another number of random keys or values is a size, which follows from what the job does.
static bool is_random_size(const rk_explained *item) {
    return rk_explained_head(item)->kind == RK_DIFFERENCE_SHAPE && item->program &&
           item->program->has_sketch && rk_is_random_helper(&item->program->sketch);
}

static bool may_begin(const rk_explained *item) {
    size_t axis;
    const rk_difference *head = rk_explained_head(item);
    if (!head || !is_comparable(item) ||
        (head->kind == RK_DIFFERENCE_SHAPE && !rk_only_axis(head->before, head->after, &axis)))
        return false;
    if (item->cause == RK_CAUSE_CONSTANT)
        return !is_random_size(item);
    return item->cause == RK_CAUSE_SHAPE && is_family(item->nearest, item->program);
}

rk_err *rk_find_value_patterns(rk_explainer *e) {
    const rk_explanation *x = e->out;
    rk_autofree bool *taken = rk_calloc(x->count + 1, sizeof *taken);
    if (!taken)
        return rk_err_no_memory();
    for (size_t i = 0; i < x->count; i++) {
        if (taken[i] || !may_begin(&x->items[i]))
            continue;
        RK_AUTO(rk_members) members = {0};
        for (size_t k = i; k < x->count; k++) {
            const rk_explained *other = &x->items[k];
            if (taken[k] || !may_begin(other) || !same_place(&x->items[i], other) ||
                !rk_same_axis(&x->items[i], other))
                continue;
            taken[k] = true;
            RK_TRY(rk_members_add(&members, other));
        }
        RK_TRY(add_group(e, &members));
    }
    return NULL;
}
