// Finds inputs that come and go: gradients that are created and then accumulated, and optional
// keys.
#include "base/alloc.h"
#include "diagnose/explain/patterns_internal.h"

static bool is_input(const rk_difference *d) {
    return !d->follows &&
           (d->kind == RK_DIFFERENCE_PARAMETER_ADDED ||
            d->kind == RK_DIFFERENCE_PARAMETER_REMOVED) &&
           d->op && strcmp(d->op, "parameter") == 0;
}

static size_t count_inputs(const rk_explained *item) {
    size_t count = 0;
    for (size_t i = 0; i < item->differences.count; i++)
        count += is_input(&item->differences.items[i]);
    return count;
}

static bool same_function(const rk_explained *a, const rk_explained *b) {
    const rk_difference *x = rk_explained_head(a), *y = rk_explained_head(b);
    bool same_name = rk_span_equal(rk_program_index_bare_name(rk_span_text(a->compile->name)),
                                   rk_program_index_bare_name(rk_span_text(b->compile->name)));
    return same_name && (!x->file || !y->file || strcmp(x->file, y->file) == 0);
}

static void write_names(const rk_members *members, rk_buf *out) {
    enum { SHOWN = 4 };
    const char *seen[SHOWN] = {NULL};
    size_t count = 0, more = 0;
    for (size_t i = 0; i < members->count; i++) {
        for (size_t k = 0; k < members->items[i]->differences.count; k++) {
            const rk_difference *d = &members->items[i]->differences.items[k];
            size_t at = 0;
            if (!is_input(d) || !d->attribute)
                continue;
            while (at < count && strcmp(seen[at], d->attribute) != 0)
                at++;
            if (at < count)
                continue;
            if (count < SHOWN)
                seen[count++] = d->attribute;
            else
                more++;
        }
    }
    for (size_t i = 0; i < count; i++)
        rk_buf_add_format(out, "%s%s", i ? ", " : "", seen[i]);
    if (more)
        rk_buf_add_format(out, " and %zu more", more);
}

static rk_err *add_group(rk_explainer *e, const rk_members *members, rk_pattern_kind kind) {
    const rk_explained *first = members->items[0];
    const rk_difference *head = rk_explained_head(first);
    RK_AUTO(rk_pattern_text) text = {.summary = {0}};
    if (kind == RK_PATTERN_ALTERNATION)
        rk_buf_add_format(&text.summary,
                          "%s is two programs that take turns: one creates %zu values, the other "
                          "takes them as inputs and adds to them (",
                          rk_explained_name(first), count_inputs(first));
    else
        rk_buf_add_format(
            &text.summary,
            "%s was compiled for %zu sets of inputs; some inputs are not always there (",
            rk_explained_name(first), members->count + 1);
    write_names(members, &text.summary);
    rk_buf_add_text(&text.summary, ")");
    rk_buf_add_text(&text.advice, first->advice ? first->advice : "");
    return rk_pattern_add(e->out, kind, members->items, members->count, &text, head->file,
                          head->line);
}

static bool belongs(const rk_explained *item, rk_pattern_kind kind) {
    return item->cause == RK_CAUSE_PARAMETERS && item->nearest_of && rk_explained_head(item) &&
           count_inputs(item) && item->accumulates == (kind == RK_PATTERN_ALTERNATION);
}

static rk_err *find(rk_explainer *e, rk_pattern_kind kind, size_t least) {
    const rk_explanation *x = e->out;
    rk_autofree bool *taken = rk_calloc(x->count + 1, sizeof *taken);
    if (!taken)
        return rk_err_no_memory();
    for (size_t i = 0; i < x->count; i++) {
        if (taken[i] || !belongs(&x->items[i], kind))
            continue;
        RK_AUTO(rk_members) members = {0};
        for (size_t k = i; k < x->count; k++) {
            if (taken[k] || !belongs(&x->items[k], kind) ||
                !same_function(&x->items[i], &x->items[k]))
                continue;
            taken[k] = true;
            RK_TRY(rk_members_add(&members, &x->items[k]));
        }
        if (members.count >= least)
            RK_TRY(add_group(e, &members, kind));
    }
    return NULL;
}

// One more set of inputs may be a second way to call the function. Two more mean that the inputs
// depend on the batch.
rk_err *rk_find_input_patterns(rk_explainer *e) {
    RK_TRY(find(e, RK_PATTERN_ALTERNATION, 1));
    return find(e, RK_PATTERN_OPTIONAL_INPUTS, 2);
}
