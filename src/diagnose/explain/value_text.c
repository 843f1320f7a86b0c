// What a finding about the values of one place says.
#include <stdlib.h>

#include "base/alloc.h"
#include "diagnose/explain/operations_internal.h"
#include "diagnose/explain/value_place_internal.h"
#include "diagnose/explain/values_internal.h"
#include "diagnose/shapes/dims_internal.h"

static void write_values(const rk_values *list, bool sizes, size_t axis, rk_buf *out) {
    for (size_t i = 0; i < list->shown_count; i++) {
        rk_dims d;
        rk_buf_add_text(out, i ? ", " : "");
        if (sizes && rk_parse_dims(list->shown[i], &d) && axis < d.count)
            rk_buf_add_format(out, "%lld", d.sizes[axis]);
        else
            rk_buf_add_text(out, list->shown[i]);
    }
    if (list->count > RK_VALUES_SHOWN)
        rk_buf_add_format(out, ", … (%zu values)", list->count);
}

// Adds a size along an axis to those that were seen before.
static void add_size(const char *type, size_t axis, long long *sizes, size_t *count) {
    rk_dims d;
    size_t at = 0;
    if (!rk_parse_dims(type, &d) || axis >= d.count)
        return;
    while (at < *count && sizes[at] != d.sizes[axis])
        at++;
    sizes[at] = d.sizes[axis];
    *count += at == *count;
}

// Appends at most RK_VALUES_SHOWN sizes.
static void write_list(const long long *sizes, size_t count, rk_buf *out) {
    for (size_t i = 0; i < count && i < RK_VALUES_SHOWN; i++)
        rk_buf_add_format(out, "%s%lld", i ? ", " : "", sizes[i]);
    if (count > RK_VALUES_SHOWN)
        rk_buf_add_text(out, ", …");
}

// Describes a number by the sizes that it decides. Several programs may have one value of it,
// because they differ in other sizes as well. Returns false, and appends nothing, if no value is
// repeated.
static bool describe_repeated(const rk_explained *first, const rk_values *list, size_t axis,
                              rk_buf *out) {
    long long sizes[RK_VALUES_SHOWN];
    size_t count = 0;
    for (size_t i = 0; i < list->shown_count; i++)
        add_size(list->shown[i], axis, sizes, &count);
    if (count == 0 || list->count > list->shown_count || count == list->count)
        return false;
    rk_buf_add_format(out, "a number in %s took %zu values: ", rk_explained_name(first), count);
    write_list(sizes, count, out);
    rk_buf_add_format(out, "; other sizes differ as well, so these are %zu programs", list->count);
    return true;
}

// Returns whether the sizes rise by one from program to program. (Sizes that rise by more may be
// chosen, such as buckets.)
static bool rise_by_one(const long long *sizes, size_t count) {
    enum { SIZES_MIN = 4 };
    for (size_t i = 1; i < count; i++)
        if (sizes[i] != sizes[i - 1] + 1)
            return false;
    return count >= SIZES_MIN;
}

static bool grow(const rk_values *list, size_t axis) {
    long long sizes[RK_VALUES_SHOWN];
    for (size_t i = 0; i < list->shown_count; i++) {
        rk_dims d;
        if (!rk_parse_dims(list->shown[i], &d) || axis >= d.count)
            return false;
        sizes[i] = d.sizes[axis];
    }
    return rise_by_one(sizes, list->shown_count);
}

// An array that values are appended to. The one remedy is an array of a fixed size.
static void advise_on_growth(rk_buf *text) {
    rk_buf_add_text(text, "The size rises by one each time, as in an array that values are "
                          "appended to (tokens, samples, observations). Make the array as large as "
                          "it will be at the end, once, and mask the part that is not filled yet: "
                          "then one program is enough.");
}

// Operations outside of any jitted function, one for each size: there is no function to pad for.
static void advise_on_operations(size_t sizes, bool is_growth, rk_buf *text) {
    enum { FEW_SIZES = 4 };
    if (is_growth) {
        advise_on_growth(text);
        return;
    }
    if (sizes <= FEW_SIZES)
        rk_buf_add_text(text, "If these are the sizes of fixed sets of data, such as those for "
                              "training, validation and test, there is nothing to fix: each "
                              "program is compiled once and stored. Otherwise calculate");
    else
        rk_buf_add_text(text, "Calculate");
    rk_buf_add_text(text,
                    " with NumPy on the host (jax.device_get), which compiles nothing, or pad to "
                    "one size and mask the padding. If a mask selects the elements (x[mask]), use "
                    "it as a weight instead (jnp.where). Outside of any jitted function each "
                    "operation is a program of its own.");
}

bool rk_values_are_of_operations(const rk_members *members) {
    return members->items[0]->is_eager && members->items[0]->cause == RK_CAUSE_SHAPE;
}

// Appends the names of the operations: "jit__mean, jit__argmax and 4 more". Returns how many there
// are.
static size_t add_names(const rk_members *members, rk_buf *out) {
    enum { SHOWN = 3, NAMES_MAX = 32 };
    const rk_explained *names[NAMES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < members->count; i++) {
        size_t at = 0;
        while (at < count && !rk_explained_share_name(members->items[i], names[at]))
            at++;
        if (at == count && count < NAMES_MAX)
            names[count++] = members->items[i];
    }
    for (size_t i = 0; i < count && i < SHOWN; i++)
        rk_buf_add_format(out, "%s%s",
                          i == 0                           ? ""
                          : i + 1 < count || count > SHOWN ? ", "
                                                           : " and ",
                          rk_explained_name(names[i]));
    if (count > SHOWN)
        rk_buf_add_format(out, " and %zu more", count - SHOWN);
    return count;
}

// Appends the lines of the first file that call the operations: "; lines 241, 243 and 255".
static void add_lines(const rk_members *members, rk_buf *out) {
    enum { LINES_MAX = 6 };
    const rk_difference *first = rk_explained_head(members->items[0]);
    uint32_t lines[LINES_MAX];
    size_t count = 0;
    bool more = false;
    for (size_t i = 0; i < members->count && first->file; i++) {
        const rk_difference *d = rk_explained_head(members->items[i]);
        size_t at = 0;
        while (at < count && lines[at] != d->line)
            at++;
        if (at < count || !rk_same_text(d->file, first->file))
            continue;
        more |= count == LINES_MAX;
        if (count < LINES_MAX)
            lines[count++] = d->line;
    }
    if (count < 2)
        return;
    rk_buf_add_text(out, "; lines ");
    rk_add_line_numbers(lines, count, more ? "others" : NULL, out);
}

// The package that calls the operations; empty: the user's own lines do.
static rk_span package_of(const rk_members *members) {
    const char *file = members->items[0]->program->sketch.call.file;
    return rk_source_package(rk_span_text(file ? file : ""));
}

// The sizes of all members along the axis, in the order of the requests. `sizes` has space for two
// for each member. Returns how many there are.
static size_t sizes_of_all(const rk_members *members, size_t axis, long long *sizes) {
    size_t count = 0;
    for (size_t i = 0; i < members->count; i++) {
        const rk_explained *item = members->items[i];
        const rk_difference *d = rk_value_difference(item);
        if (rk_value_counts_before(item, d))
            add_size(d->before, axis, sizes, &count);
        add_size(d->after, axis, sizes, &count);
    }
    return count;
}

static rk_err *describe_operations(const rk_members *members, size_t axis, rk_pattern_text *text) {
    rk_autofree long long *sizes = rk_calloc(2 * members->count + 1, sizeof *sizes);
    if (!sizes)
        return rk_err_no_memory();
    size_t count = add_names(members, &text->summary);
    size_t size_count = sizes_of_all(members, axis, sizes);
    const rk_difference *head = rk_explained_head(members->items[0]);
    if (count == 1 && head->attribute)
        rk_buf_add_format(&text->summary, " (%s)", head->attribute);
    rk_buf_add_format(&text->summary,
                      "%s took %zu sizes along axis %zu: ", count > 1 ? " together" : "",
                      size_count, axis);
    write_list(sizes, size_count, &text->summary);
    rk_buf_add_text(&text->summary, "; each has a program of its own");
    add_lines(members, &text->summary);
    rk_span package = package_of(members);
    if (package.len)
        rk_buf_add_format(&text->advice,
                          "The package %.*s calls these operations outside of any jitted function. "
                          "Your source can only change what it passes to the package.",
                          (int)package.len, (const char *)package.data);
    else
        advise_on_operations(size_count, rise_by_one(sizes, size_count), &text->advice);
    return NULL;
}

// Appends the other inputs of the members whose sizes differ, if there are any, and returns whether
// there are.
static bool adds_other_inputs(const rk_members *members, rk_buf *out) {
    enum { SHOWN = 3, NAMES_MAX = 64 };
    const char *names[NAMES_MAX];
    size_t count = 0;
    const rk_difference *value = rk_value_difference(members->items[0]);
    for (size_t i = 0; i < members->count; i++) {
        const rk_differences *list = &members->items[i]->differences;
        for (size_t k = 0; k < list->count && count < NAMES_MAX; k++) {
            const rk_difference *d = &list->items[k];
            size_t at = 0;
            if (d->kind != RK_DIFFERENCE_SHAPE || !d->attribute || !rk_is_of_input(d) ||
                rk_same_text(d->attribute, value->attribute))
                continue;
            while (at < count && strcmp(names[at], d->attribute) != 0)
                at++;
            if (at == count)
                names[count++] = d->attribute;
        }
    }
    for (size_t i = 0; i < count && i < SHOWN; i++)
        rk_buf_add_format(out, "%s%s",
                          !i                               ? "; "
                          : i + 1 < count || count > SHOWN ? ", "
                                                           : " and ",
                          names[i]);
    if (count > SHOWN)
        rk_buf_add_format(out, " and %zu more", count - SHOWN);
    if (count)
        rk_buf_add_text(out, count == 1 ? " has other sizes, too" : " have other sizes, too");
    return count > 0;
}

// Returns whether one of the first `end` members is the program, or was compared with it.
static bool has_program(const rk_members *members, size_t end, const rk_known *program) {
    for (size_t i = 0; i < end; i++) {
        const rk_explained *item = members->items[i];
        if (item->program == program ||
            (item->nearest == program && rk_value_counts_before(item, rk_value_difference(item))))
            return true;
    }
    return false;
}

size_t rk_values_count_programs(const rk_members *members) {
    size_t count = 0;
    for (size_t i = 0; i < members->count; i++) {
        const rk_explained *item = members->items[i];
        count += !has_program(members, i, item->program);
        count += item->nearest != item->program &&
                 rk_value_counts_before(item, rk_value_difference(item)) &&
                 !has_program(members, i, item->nearest);
    }
    return count;
}

// One axis of one input.
typedef struct axis_place {
    const char *attribute;
    size_t axis;
} axis_place;

static bool is_at(const rk_difference *d, const axis_place *place) {
    size_t axis;
    return d->kind == RK_DIFFERENCE_SHAPE && rk_is_of_input(d) && d->attribute &&
           rk_only_axis(d->before, d->after, &axis) && axis == place->axis &&
           strcmp(d->attribute, place->attribute) == 0;
}

// Finds the axes of inputs that are causes, in order. Returns how many there are, at most `most`; 0
// if another kind of difference is a cause as well.
static size_t find_places(const rk_members *members, axis_place *out_places, size_t most) {
    size_t count = 0;
    for (size_t i = 0; i < members->count; i++) {
        const rk_differences *list = &members->items[i]->differences;
        for (size_t k = 0; k < list->cause_count; k++) {
            const rk_difference *d = &list->items[k];
            axis_place place = {.attribute = d->attribute};
            size_t at = 0;
            if (d->kind != RK_DIFFERENCE_SHAPE || !d->attribute || !rk_is_of_input(d) ||
                !rk_only_axis(d->before, d->after, &place.axis))
                return 0;
            while (at < count && !is_at(d, &out_places[at]))
                at++;
            if (at == count && count == most)
                return 0;
            if (at == count)
                out_places[count++] = place;
        }
    }
    return count;
}

// Appends the sizes of one axis: "tgt took 3 sizes along axis 1: 8, 12, 20".
static void write_sizes(const rk_members *members, const axis_place *place, long long *sizes,
                        rk_buf *out) {
    size_t count = 0;
    for (size_t i = 0; i < members->count; i++) {
        const rk_explained *item = members->items[i];
        for (size_t k = 0; k < item->differences.count; k++) {
            const rk_difference *d = &item->differences.items[k];
            if (!is_at(d, place))
                continue;
            if (rk_value_counts_before(item, d))
                add_size(d->before, place->axis, sizes, &count);
            add_size(d->after, place->axis, sizes, &count);
            break;
        }
    }
    rk_buf_add_format(out, " took %zu size%s along axis %zu: ", count, count == 1 ? "" : "s",
                      place->axis);
    write_list(sizes, count, out);
}

// Describes programs of one function whose inputs vary along several axes, each by itself. Returns
// false, and appends nothing, if the axes are not known.
static bool describe_axes(const rk_members *members, rk_buf *out) {
    enum { PLACES_MAX = 4 };
    axis_place places[PLACES_MAX];
    const rk_explained *first = members->items[0];
    size_t count = find_places(members, places, PLACES_MAX);
    rk_autofree long long *sizes = rk_calloc(2 * members->count + 1, sizeof *sizes);
    if (count < 2 || !sizes || !first->program->sketch.is_mlir)
        return false;
    for (size_t i = 0; i < count; i++) {
        rk_buf_add_format(out, "%s%s", i ? "; " : "", places[i].attribute);
        if (!i)
            rk_buf_add_format(out, " of %s", rk_explained_name(first));
        write_sizes(members, &places[i], sizes, out);
    }
    rk_buf_add_format(
        out, ". These are %zu programs of one function, one for each combination that occurred",
        rk_values_count_programs(members));
    return true;
}

bool rk_values_are_of_axis(const rk_members *members, size_t *out_axis) {
    const rk_difference *value = rk_value_difference(members->items[0]);
    size_t axis;
    *out_axis = 0;
    if (!rk_only_axis(value->before, value->after, out_axis))
        return false;
    for (size_t i = 1; i < members->count; i++) {
        const rk_difference *d = rk_value_at(members->items[i], value);
        if (d && !rk_only_axis(d->before, d->after, &axis))
            return false;
    }
    return true;
}

static bool is_in_more_programs(const rk_explained *first, const rk_values *list) {
    return !rk_explain_is_array(first) && list->programs > list->count;
}

// Returns whether the values are positions in tensors of PyTorch/XLA. A line may have several
// slices, so the values may be those of several positions, and others may be unknown.
static bool are_positions(const rk_explained *first) {
    return rk_explained_is_torch(first) && rk_explain_moves_slice_first(first) &&
           rk_value_difference(first)->line;
}

// Appends "a number in jit_step took 12 values in at least 23 programs: ".
static void add_number(const rk_explained *first, const rk_values *list, rk_buf *out) {
    bool is_array = rk_explain_is_array(first);
    if (are_positions(first))
        rk_buf_add_format(out, "positions on this line took at least %zu values", list->count);
    else
        rk_buf_add_format(out, "%s in %s took %zu values", is_array ? "an array" : "a number",
                          rk_explained_name(first), list->count);
    if (is_in_more_programs(first, list))
        rk_buf_add_format(out, " in at least %zu programs", list->programs);
    rk_buf_add_text(out, is_array ? "" : ": ");
}

rk_err *rk_values_describe(const rk_members *members, const rk_values *list,
                           rk_pattern_text *text) {
    const rk_explained *first = members->items[0];
    const rk_difference *value = rk_value_difference(first);
    size_t axis;
    bool sizes = rk_values_are_of_axis(members, &axis), is_shape = first->cause == RK_CAUSE_SHAPE;
    if (rk_values_are_of_operations(members))
        return describe_operations(members, axis, text);
    if (is_shape && describe_axes(members, &text->summary)) {
        rk_buf_add_text(&text->advice, "Several inputs or axes have other sizes: what follows is "
                                       "meant for each of them. ");
        rk_advise_on_sizes(members->items[0], rk_values_count_programs(members), &text->advice);
        return NULL;
    }
    bool is_repeated = !is_shape && sizes && !rk_explain_is_array(first) &&
                       describe_repeated(first, list, axis, &text->summary);
    if (is_shape)
        rk_buf_add_format(&text->summary, "%s of %s took %zu %s",
                          value->attribute ? value->attribute : "an input",
                          rk_explained_name(first), list->count, sizes ? "sizes" : "shapes");
    if (is_shape && sizes)
        rk_buf_add_format(&text->summary, " along axis %zu", axis);
    // Graphs have no names, so other graphs of the step may have this input under another number.
    if (is_shape && rk_explained_is_torch(first))
        rk_buf_add_format(&text->summary, " in %zu programs", list->programs);
    if (is_shape)
        rk_buf_add_text(&text->summary, ": ");
    else if (!is_repeated)
        add_number(first, list, &text->summary);
    if (!rk_explain_is_array(first) && !is_repeated)
        write_values(list, sizes, axis, &text->summary);
    if (!is_repeated)
        rk_buf_add_text(&text->summary, (!is_shape || rk_explained_is_torch(first)) &&
                                                is_in_more_programs(first, list)
                                            ? "; these programs differ in more than this"
                                            : "; each has a program of its own");
    if (is_shape && adds_other_inputs(members, &text->summary))
        rk_buf_add_text(&text->advice, "Several inputs have other sizes: what follows is meant for "
                                       "each of them. ");
    if (is_shape && sizes && first->program->sketch.is_mlir && grow(list, axis))
        advise_on_growth(&text->advice);
    else if (is_shape && sizes)
        rk_advise_on_sizes(first, list->count, &text->advice);
    else
        rk_buf_add_text(&text->advice, rk_members_usual_advice(members));
    return NULL;
}
