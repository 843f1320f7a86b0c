#include "diagnose/explain/pattern_internal.h"

#include <stdlib.h>

#include "base/alloc.h"

void rk_pattern_text_cleanup(rk_pattern_text *text) {
    rk_buf_cleanup(&text->summary);
    rk_buf_cleanup(&text->advice);
}

void rk_members_cleanup(rk_members *members) {
    rk_free(members->items);
    *members = (rk_members){0};
}

rk_err *rk_members_add(rk_members *members, const rk_explained *item) {
    if (members->count == members->capacity) {
        size_t capacity = members->capacity ? 2 * members->capacity : 16;
        const rk_explained **items = rk_realloc(members->items, capacity * sizeof(rk_explained *));
        if (!items)
            return rk_err_no_memory();
        members->items = items;
        members->capacity = capacity;
    }
    members->items[members->count++] = item;
    return NULL;
}

uint64_t rk_members_cost_ns(const rk_members *members) {
    uint64_t sum = 0;
    for (size_t i = 0; i < members->count; i++)
        sum += rk_explained_cost_ns(members->items[i]);
    return sum;
}

static int by_number(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

void rk_add_line_numbers(uint32_t *lines, size_t count, const char *others, rk_buf *out) {
    if (count)
        qsort(lines, count, sizeof *lines, by_number);
    for (size_t i = 0; i < count; i++)
        rk_buf_add_format(out, "%s%u",
                          !i                        ? ""
                          : i + 1 < count || others ? ", "
                                                    : " and ",
                          lines[i]);
    if (others)
        rk_buf_add_format(out, " and %s", others);
}

static int costliest_first(const void *a, const void *b) {
    const rk_line_cost *x = a, *y = b;
    if (x->cost_ns != y->cost_ns)
        return x->cost_ns > y->cost_ns ? -1 : 1;
    return (x->frame->line > y->frame->line) - (x->frame->line < y->frame->line);
}

void rk_sort_costly_lines(rk_line_cost *lines, size_t count) {
    qsort(lines, count, sizeof *lines, costliest_first);
}

void rk_add_costly_lines(const rk_line_cost *lines, size_t count, rk_buf *out) {
    enum { NAMED_MAX = 4 };
    rk_buf_add_text(out, count == 1 ? "line " : "lines ");
    for (size_t i = 0; i < count && i < NAMED_MAX; i++)
        rk_buf_add_format(out, "%s%u",
                          !i              ? ""
                          : i + 1 < count ? ", "
                                          : " and ",
                          lines[i].frame->line);
    if (count > NAMED_MAX)
        rk_buf_add_format(out, " and %zu more", count - NAMED_MAX);
}

static rk_err *fill(rk_pattern *pattern, const rk_explained *const *members, size_t count,
                    rk_pattern_text *text, const char *file) {
    pattern->members = rk_calloc(count + 1, sizeof(rk_explained *));
    pattern->summary = rk_strdup(rk_buf_text(&text->summary));
    pattern->advice = rk_strdup(rk_buf_text(&text->advice));
    if (!pattern->members || !pattern->summary || !pattern->advice || text->summary.failed ||
        text->advice.failed)
        return rk_err_no_memory();
    for (size_t i = 0; i < count; i++) {
        pattern->members[i] = members[i];
        pattern->lost_ns += rk_explained_cost_ns(members[i]);
    }
    pattern->member_count = count;
    return rk_difference_text(rk_span_text(file ? file : ""), &pattern->file);
}

rk_err *rk_pattern_add(rk_explanation *x, rk_pattern_kind kind, const rk_explained *const *members,
                       size_t count, rk_pattern_text *text, const char *file, uint32_t line) {
    rk_pattern *patterns = rk_realloc(x->patterns, (x->pattern_count + 1) * sizeof *patterns);
    if (!patterns)
        return rk_err_no_memory();
    x->patterns = patterns;
    rk_pattern *pattern = &patterns[x->pattern_count++];
    *pattern = (rk_pattern){.kind = kind, .line = file ? line : 0};
    return fill(pattern, members, count, text, file);
}

const char *rk_members_usual_advice(const rk_members *members) {
    enum { MEMBERS_MAX = 64 };
    size_t count = members->count < MEMBERS_MAX ? members->count : MEMBERS_MAX, most = 0;
    const char *best = NULL;
    for (size_t i = 0; i < count; i++) {
        size_t same = 0;
        for (size_t k = 0; k < count; k++)
            same += rk_same_text(members->items[i]->advice, members->items[k]->advice);
        if (same > most) {
            most = same;
            best = members->items[i]->advice;
        }
    }
    return best ? best : "";
}
