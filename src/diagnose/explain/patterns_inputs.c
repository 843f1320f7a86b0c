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
           count_inputs(item) && !item->is_startup &&
           item->accumulates == (kind == RK_PATTERN_ALTERNATION);
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

// How often the process executed the program; UINT64_MAX if it is not known.
static uint64_t count_executions(const rk_run_model *run, const rk_run_compile *of) {
    uint64_t count = UINT64_MAX;
    for (size_t i = 0; i < run->executed_count; i++)
        if (run->executed[i].process == of->process && strcmp(run->executed[i].key, of->key) == 0)
            count = run->executed[i].executions; // the last one counts
    return count;
}

// Returns whether the program that creates the values runs again after the program that adds to
// them: itself, or a later version of it.
static bool creates_again(const rk_explainer *e, const rk_explained *item) {
    if (count_executions(e->run, item->nearest_of) > 1)
        return true;
    for (size_t i = 0; i < e->out->count; i++) {
        const rk_explained *other = &e->out->items[i];
        if (other->nearest == item->nearest && !other->accumulates &&
            other->compile->process == item->compile->process &&
            other->compile->seq > item->compile->seq)
            return true;
    }
    return false;
}

// Gradients that are created only once, in the first step, alternate with nothing. Each job that
// accumulates compiles these two programs.
static void forgive_first_creation(rk_explainer *e) {
    for (size_t i = 0; i < e->out->count; i++) {
        rk_explained *item = &e->out->items[i];
        if (item->accumulates && item->cause == RK_CAUSE_PARAMETERS && item->nearest_of &&
            item->nearest_of->process == item->compile->process && !creates_again(e, item))
            rk_explained_be_first(item);
    }
}

// One more set of inputs may be a second way to call the function. Two more mean that the inputs
// depend on the batch.
rk_err *rk_find_input_patterns(rk_explainer *e) {
    forgive_first_creation(e);
    RK_TRY(find(e, RK_PATTERN_ALTERNATION, 1));
    return find(e, RK_PATTERN_OPTIONAL_INPUTS, 2);
}
