#include "diagnose/diff/difference.h"

#include "base/alloc.h"

// Differences that follow from others are shown on demand only. They must not fill the list before
// all causes are in it.
enum { FOLLOWERS_MAX = 64 };

const char *rk_difference_kind_name(rk_difference_kind kind) {
    static const char *const names[RK_DIFFERENCE_KIND_COUNT] = {
        "shape",     "dtype",           "constant",          "op_added", "op_removed",
        "attribute", "parameter_added", "parameter_removed", "sharding", "option",
        "flag",      "variable",        "version",           "topology",
    };
    return names[kind];
}

const char *rk_cause_name(rk_cause cause) {
    static const char *const names[RK_CAUSE_COUNT] = {
        "first",    "shape",   "dtype",       "constant",    "structure", "parameters",
        "sharding", "options", "environment", "toolchain",   "device",    "duplicate",
        "evicted",  "damaged", "removed",     "uncacheable", "failed",
    };
    return names[cause];
}

const char *rk_cause_words(rk_cause cause) {
    static const char *const words[RK_CAUSE_COUNT] = {
        [RK_CAUSE_FIRST] = "a new program",
        [RK_CAUSE_SHAPE] = "another shape",
        [RK_CAUSE_DTYPE] = "another type",
        [RK_CAUSE_CONSTANT] = "another constant",
        [RK_CAUSE_STRUCTURE] = "other operations",
        [RK_CAUSE_PARAMETERS] = "other inputs or results",
        [RK_CAUSE_SHARDING] = "another sharding",
        [RK_CAUSE_OPTIONS] = "other compile options",
        [RK_CAUSE_ENVIRONMENT] = "other flags or variables",
        [RK_CAUSE_TOOLCHAIN] = "another version",
        [RK_CAUSE_DEVICE] = "other devices",
        [RK_CAUSE_DUPLICATE] = "the same program again",
        [RK_CAUSE_EVICTED] = "evicted from the store",
        [RK_CAUSE_DAMAGED] = "an entry that could not be used",
        [RK_CAUSE_REMOVED] = "removed from the store",
        [RK_CAUSE_UNCACHEABLE] = "not stored",
        [RK_CAUSE_FAILED] = "a failed compilation",
    };
    return words[cause];
}

bool rk_is_of_input(const rk_difference *difference) {
    return difference->op && strcmp(difference->op, "parameter") == 0;
}

bool rk_is_on_same_line(const rk_difference *a, const rk_difference *b) {
    return a->line == b->line && rk_same_text(a->file, b->file);
}

bool rk_is_of_result(const rk_difference *difference) {
    return difference->op && strcmp(difference->op, "result") == 0;
}

bool rk_is_on_line_of_user(const rk_difference *d) {
    return d->file && rk_file_owner_of(rk_span_text(d->file)) == RK_FILE_USER;
}

bool rk_is_input_of_one_side(const rk_difference *d) {
    return rk_is_of_input(d) &&
           (d->kind == RK_DIFFERENCE_PARAMETER_ADDED || d->kind == RK_DIFFERENCE_PARAMETER_REMOVED);
}

void rk_differences_move(rk_differences *list, size_t from, size_t to) {
    const rk_difference moved = list->items[from];
    for (size_t i = from; i > to; i--)
        list->items[i] = list->items[i - 1];
    list->items[to] = moved;
}

void rk_differences_number(rk_differences *list) {
    for (size_t i = 0; i < list->count; i++)
        list->items[i].order = (uint32_t)i;
}

bool rk_same_text(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

bool rk_is_slice(rk_span op) {
    return rk_span_is(op, "hlo.slice") || rk_span_is(op, "stablehlo.slice");
}

bool rk_is_of_slice(const rk_difference *d) {
    return d->kind == RK_DIFFERENCE_ATTRIBUTE && d->op && rk_is_slice(rk_span_text(d->op));
}

static void free_text(rk_difference *difference) {
    rk_free(difference->function);
    rk_free(difference->op);
    rk_free(difference->attribute);
    rk_free(difference->before);
    rk_free(difference->after);
    rk_free(difference->file);
    rk_free(difference->constant);
    rk_free(difference->constant_file);
    rk_stack_cleanup(&difference->stack);
}

void rk_differences_cleanup(rk_differences *list) {
    for (size_t i = 0; i < list->count; i++)
        free_text(&list->items[i]);
    rk_free(list->items);
    *list = (rk_differences){0};
}

static bool is_full(const rk_differences *list, bool follows) {
    size_t followers = list->count - list->cause_count;
    return list->count >= RK_DIFFERENCES_MAX || (follows && followers >= FOLLOWERS_MAX);
}

rk_err *rk_differences_add(rk_differences *list, rk_difference *difference) {
    rk_difference taken = *difference;
    *difference = (rk_difference){0};
    if (is_full(list, taken.follows)) {
        list->left_out++;
        free_text(&taken);
        return NULL;
    }
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 8;
        rk_difference *items = rk_realloc(list->items, capacity * sizeof *items);
        if (!items) {
            free_text(&taken);
            return rk_err_no_memory();
        }
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = taken;
    list->cause_count += !taken.follows;
    return NULL;
}

static bool is_after(const rk_difference *a, const rk_difference *b) {
    return a->follows != b->follows ? a->follows : a->order > b->order;
}

// Insertion sort: the list is short and nearly sorted, and the order must be stable.
void rk_differences_sort(rk_differences *list) {
    list->cause_count = 0;
    for (size_t i = 0; i < list->count; i++) {
        rk_difference one = list->items[i];
        size_t at = i;
        for (; at > 0 && is_after(&list->items[at - 1], &one); at--)
            list->items[at] = list->items[at - 1];
        list->items[at] = one;
        list->cause_count += !one.follows;
    }
}

rk_err *rk_difference_text(rk_span text, char **out_text) {
    *out_text = NULL;
    if (!text.len)
        return NULL;
    *out_text = rk_strndup((const char *)text.data, text.len);
    return *out_text ? NULL : rk_err_no_memory();
}

static rk_err *copy(rk_difference *d, const rk_difference_words *words, const rk_source *place) {
    const struct {
        rk_span text;
        char **copy;
    } parts[] = {
        {words->function, &d->function},   {words->op, &d->op},
        {words->attribute, &d->attribute}, {words->before, &d->before},
        {words->after, &d->after},         {place->file, &d->file},
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(parts); i++)
        RK_TRY(rk_difference_text(parts[i].text, parts[i].copy));
    d->line = place->line;
    return d->follows ? NULL : rk_stack_take(place, &d->stack);
}

rk_err *rk_differences_note(rk_differences *list, const rk_difference *plain,
                            const rk_difference_words *words, const rk_source *place) {
    rk_difference d = *plain;
    if (is_full(list, d.follows)) {
        list->left_out++;
        return NULL;
    }
    rk_err *err = copy(&d, words, place);
    if (!err)
        return rk_differences_add(list, &d);
    free_text(&d);
    return err;
}

void rk_differences_note_other(rk_differences *list, const rk_source *place, rk_span before,
                               rk_span after) {
    for (size_t i = 0; i < list->count; i++) {
        rk_difference *d = &list->items[i];
        if (d->kind == RK_DIFFERENCE_CONSTANT && !d->follows && d->file && d->before && d->after &&
            d->line == place->line && rk_span_is(place->file, d->file))
            d->has_others |= !rk_span_is(before, d->before) || !rk_span_is(after, d->after);
    }
}

static bool has_zero_instead(const rk_difference *d) {
    return d->constant && strcmp(d->constant, "0") == 0;
}

bool rk_was_zero(const rk_difference *d) {
    return d->kind == RK_DIFFERENCE_PARAMETER_ADDED && has_zero_instead(d);
}

static bool is_zero_on_one_side(const rk_difference *d) {
    return rk_is_input_of_one_side(d) && has_zero_instead(d);
}

static bool are_most(const rk_differences *list, bool (*is)(const rk_difference *d)) {
    enum { ZEROS_MIN = 4 };
    size_t zeros = 0;
    for (size_t i = 0; i < list->cause_count; i++)
        zeros += is(&list->items[i]);
    return zeros >= ZEROS_MIN && 2 * zeros >= list->cause_count;
}

bool rk_differences_take_what_was_zero(const rk_differences *list) {
    return are_most(list, rk_was_zero);
}

bool rk_differences_are_of_zeros(const rk_differences *list) {
    return are_most(list, is_zero_on_one_side);
}
