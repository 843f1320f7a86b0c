// One finding for the graphs of PyTorch/XLA that take inputs of other sizes, which one line of the
// source makes. Graphs and their inputs have no names, and a step may be several graphs.
#include <stdlib.h>

#include "base/alloc.h"
#include "diagnose/explain/value_place_internal.h"
#include "diagnose/explain/values_internal.h"
#include "diagnose/shapes/dims_internal.h"

typedef struct axis_size {
    size_t axis;
    long long size;
} axis_size;

typedef struct line_sizes {
    rk_members members;
    axis_size *sizes; // each once; owned
    size_t size_count, size_capacity;
    const rk_known **programs; // some more than once; owned; elements are borrowed
    size_t program_count, program_capacity;
} line_sizes;

static void line_sizes_cleanup(line_sizes *list) {
    rk_members_cleanup(&list->members);
    rk_free(list->sizes);
    rk_free(list->programs);
}

static rk_err *add_size(line_sizes *list, size_t axis, long long size) {
    for (size_t i = 0; i < list->size_count; i++)
        if (list->sizes[i].axis == axis && list->sizes[i].size == size)
            return NULL;
    if (list->size_count == list->size_capacity) {
        size_t capacity = list->size_capacity ? 2 * list->size_capacity : 32;
        axis_size *grown = rk_realloc(list->sizes, capacity * sizeof *grown);
        if (!grown)
            return rk_err_no_memory();
        list->sizes = grown;
        list->size_capacity = capacity;
    }
    list->sizes[list->size_count++] = (axis_size){.axis = axis, .size = size};
    return NULL;
}

static rk_err *add_program(line_sizes *list, const rk_known *program) {
    if (list->program_count == list->program_capacity) {
        size_t capacity = list->program_capacity ? 2 * list->program_capacity : 32;
        const rk_known **grown = rk_realloc(list->programs, capacity * sizeof(rk_known *));
        if (!grown)
            return rk_err_no_memory();
        list->programs = grown;
        list->program_capacity = capacity;
    }
    list->programs[list->program_count++] = program;
    return NULL;
}

// Adds the sizes of two types along the axes along which they differ. Types of other ranks have
// none. `counts_before`: this run has the earlier one.
static rk_err *add_difference(line_sizes *list, const char *before, const char *after,
                              bool counts_before) {
    rk_dims a, b;
    if (!rk_parse_dims(before, &a) || !rk_parse_dims(after, &b) || a.count != b.count)
        return NULL;
    for (size_t i = 0; i < a.count; i++) {
        if (a.sizes[i] == b.sizes[i])
            continue;
        RK_TRY(add_size(list, i, b.sizes[i]));
        if (counts_before)
            RK_TRY(add_size(list, i, a.sizes[i]));
    }
    return NULL;
}

static bool has_input(const rk_known *program, const char *type) {
    if (!program || !program->has_sketch)
        return false;
    for (uint32_t i = 0; i < program->sketch.input_count; i++)
        if (rk_same_text(program->sketch.inputs[i].type, type))
            return true;
    return false;
}

// Returns whether each program of the group has an input of this type: the size is another one than
// in an earlier start, such as the width of a layer, but does not change in this one.
static bool is_in_each(const rk_members *group, const char *type) {
    enum { GROUP_MAX = 256 }; // each difference of each program asks
    if (group->count > GROUP_MAX)
        return false;
    for (size_t i = 0; i < group->count; i++)
        if (!has_input(group->items[i]->program, type))
            return false;
    return group->count > 1;
}

// Adds what a compilation says about the inputs of the line.
static rk_err *add_member(line_sizes *list, const rk_members *group, const rk_explained *item,
                          const rk_difference *place) {
    bool counts_before = rk_value_counts_before(item, place);
    RK_TRY(rk_members_add(&list->members, item));
    RK_TRY(add_program(list, item->program));
    if (counts_before)
        RK_TRY(add_program(list, item->nearest));
    for (size_t i = 0; i < item->differences.cause_count; i++) {
        const rk_difference *d = &item->differences.items[i];
        if (d->kind == RK_DIFFERENCE_SHAPE && rk_is_of_input(d) && rk_is_on_same_line(d, place) &&
            (item->nearest_of || !is_in_each(group, d->after)))
            RK_TRY(add_difference(list, d->before, d->after, counts_before));
    }
    return NULL;
}

static bool has_axis(const line_sizes *list, size_t axis) {
    for (size_t i = 0; i < list->size_count; i++)
        if (list->sizes[i].axis == axis)
            return true;
    return false;
}

// Returns whether two types differ only along axes that have several sizes already. Else the two
// inputs at one position may be two tensors.
static bool is_same_tensor(const line_sizes *list, const char *before, const char *after) {
    rk_dims a, b;
    if (!rk_parse_dims(before, &a) || !rk_parse_dims(after, &b) || a.count != b.count)
        return false;
    for (size_t i = 0; i < a.count; i++)
        if (a.sizes[i] != b.sizes[i] && !has_axis(list, i))
            return false;
    return true;
}

// Adds a group, and what other programs of the process have in place of its inputs.
static rk_err *add_group(const rk_explainer *e, line_sizes *list, const rk_members *group) {
    RK_AUTO(rk_collected) all = {.count = 0};
    const rk_difference *value = rk_value_difference(group->items[0]);
    for (size_t i = 0; i < group->count; i++)
        RK_TRY(add_member(list, group, group->items[i], value));
    RK_TRY(rk_values_collect(e, group, true, &all));
    for (size_t i = 0; i < all.count; i++)
        if (is_same_tensor(list, value->after, all.all[i]))
            RK_TRY(add_difference(list, value->after, all.all[i], true));
    for (size_t i = 0; i < all.requested_count; i++)
        RK_TRY(add_program(list, all.requested[i]));
    return NULL;
}

static int by_axis(const void *a, const void *b) {
    const axis_size *x = a, *y = b;
    if (x->axis != y->axis)
        return x->axis < y->axis ? -1 : 1;
    return rk_compare_sizes(&x->size, &y->size);
}

// The number of sizes along the axis of `sizes[from]`; `sizes` is sorted.
static size_t count_along(const line_sizes *list, size_t from) {
    size_t count = 1;
    while (from + count < list->size_count &&
           list->sizes[from + count].axis == list->sizes[from].axis)
        count++;
    return count;
}

// The axis with the most sizes. Returns how many it has.
static size_t find_most(const line_sizes *list, size_t *out_axis) {
    size_t most = 0;
    for (size_t i = 0, count; i < list->size_count; i += count) {
        count = count_along(list, i);
        if (count <= most)
            continue;
        most = count;
        *out_axis = list->sizes[i].axis;
    }
    return most;
}

// Appends "at least 8 sizes along axis 0 (2, 4, …) and at least 3 sizes along axis 1 (7, 8, 9)".
// Returns the number of axes. Programs that were not compared with others may have more sizes.
static size_t write_axes(const line_sizes *list, rk_buf *out) {
    size_t axes = 0;
    for (size_t i = 0, count; i < list->size_count; i += count, axes++) {
        count = count_along(list, i);
        rk_buf_add_format(out, "%sat least %zu size%s along axis %zu (",
                          !i                              ? ""
                          : i + count == list->size_count ? " and "
                                                          : ", ",
                          count, count == 1 ? "" : "s", list->sizes[i].axis);
        for (size_t k = 0; k < count && k < RK_VALUES_SHOWN; k++)
            rk_buf_add_format(out, "%s%lld", k ? ", " : "", list->sizes[i + k].size);
        rk_buf_add_text(out, count > RK_VALUES_SHOWN ? ", …)" : ")");
    }
    return axes;
}

// Appends the other lines of the file whose inputs have other sizes in the same programs: "; inputs
// on lines 86 and 90 have other sizes, too". Returns whether there are any.
static bool write_other_lines(const line_sizes *list, const rk_difference *place, rk_buf *out) {
    enum { LINES_MAX = 4 };
    uint32_t lines[LINES_MAX];
    size_t count = 0;
    bool more = false;
    for (size_t i = 0; i < list->members.count; i++) {
        const rk_differences *all = &list->members.items[i]->differences;
        for (size_t k = 0; k < all->cause_count; k++) {
            const rk_difference *d = &all->items[k];
            size_t at = 0;
            if (d->kind != RK_DIFFERENCE_SHAPE || !rk_is_of_input(d) || !d->line ||
                !rk_same_text(d->file, place->file) || d->line == place->line)
                continue;
            while (at < count && lines[at] != d->line)
                at++;
            more |= at == LINES_MAX;
            if (at == count && count < LINES_MAX)
                lines[count++] = d->line;
        }
    }
    if (!count)
        return false;
    rk_buf_add_text(out, count > 1 || more ? "; inputs on lines " : "; inputs on line ");
    rk_add_line_numbers(lines, count, more ? "others" : NULL, out);
    rk_buf_add_text(out, " have other sizes, too");
    return true;
}

// The member that the advice is written for: the costliest whose size differs along the axis.
static const rk_explained *find_typical(const line_sizes *list, size_t axis) {
    const rk_explained *best = list->members.items[0];
    bool is_along = false;
    for (size_t i = 0; i < list->members.count; i++) {
        const rk_explained *item = list->members.items[i];
        size_t its;
        bool along = rk_value_is_of_axis(rk_value_difference(item), &its) && its == axis;
        if (along < is_along ||
            (along == is_along && rk_explained_cost_ns(item) <= rk_explained_cost_ns(best)))
            continue;
        best = item;
        is_along = along;
    }
    return best;
}

static rk_err *add_finding(rk_explainer *e, line_sizes *list, size_t most, size_t axis,
                           size_t programs) {
    const rk_difference *place = rk_value_difference(list->members.items[0]);
    RK_AUTO(rk_pattern_text) text = {.summary = {0}};
    rk_buf_add_text(&text.summary, "inputs on this line took ");
    bool several = write_axes(list, &text.summary) > 1;
    rk_buf_add_format(&text.summary, " in at least %zu programs", programs);
    several |= write_other_lines(list, place, &text.summary);
    if (several)
        rk_buf_add_text(&text.advice, "Several inputs or axes have other sizes: what follows is "
                                      "meant for each of them. ");
    if (most < RK_VALUES_MIN) // such as a last batch
        rk_buf_add_text(&text.advice, rk_members_usual_advice(&list->members));
    else
        rk_advise_on_sizes(find_typical(list, axis), most, &text.advice);
    return rk_pattern_add(e->out, RK_PATTERN_SHAPE_FAMILY, list->members.items, list->members.count,
                          &text, place->file, place->line);
}

rk_err *rk_add_sizes_of_line(rk_explainer *e, rk_members *const *groups, size_t count,
                             bool *out_added) {
    RK_AUTO(line_sizes) list = {.size_count = 0};
    size_t axis = 0;
    for (size_t i = 0; i < count; i++)
        RK_TRY(add_group(e, &list, groups[i]));
    if (list.size_count)
        qsort(list.sizes, list.size_count, sizeof *list.sizes, by_axis);
    size_t most = find_most(&list, &axis),
           programs = rk_count_distinct(list.programs, list.program_count);
    bool are_many = programs > count * RK_VALUES_MIN; // not only a full batch and a smaller one
    for (size_t i = 0; i < count; i++)                // a group that is a finding alone
        are_many |= rk_values_count_programs(groups[i]) > RK_VALUES_MIN;
    *out_added = most >= RK_VALUES_MIN || (most > 1 && are_many);
    return *out_added ? add_finding(e, &list, most, axis, programs) : NULL;
}
