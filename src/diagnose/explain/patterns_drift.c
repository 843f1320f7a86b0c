// Finds flags, variables and versions that changed since earlier runs: one pattern for all programs
// that were compiled again because of the same changes.
#include "base/alloc.h"
#include "diagnose/explain/patterns_internal.h"

enum { CHANGES_SHOWN = 6 };

// Kinds of differences that a pattern is about.
typedef struct subject {
    rk_pattern_kind pattern;
    rk_cause cause;
    rk_difference_kind first, last; // range of kinds
    const char *what;               // "flags or variables"
} subject;

static const subject FLAGS = {RK_PATTERN_FLAG_DRIFT, RK_CAUSE_ENVIRONMENT, RK_DIFFERENCE_FLAG,
                              RK_DIFFERENCE_VARIABLE, "flags or variables"};
static const subject VERSIONS = {RK_PATTERN_TOOLCHAIN_DRIFT, RK_CAUSE_TOOLCHAIN,
                                 RK_DIFFERENCE_VERSION, RK_DIFFERENCE_VERSION, "versions"};

static bool is_about(const subject *s, const rk_difference *d) {
    return !d->follows && d->kind >= s->first && d->kind <= s->last;
}

// The next difference of an item that the pattern is about; NULL at the end.
static const rk_difference *next_change(const subject *s, const rk_explained *item, size_t *at) {
    while (*at < item->differences.count) {
        const rk_difference *d = &item->differences.items[(*at)++];
        if (is_about(s, d))
            return d;
    }
    return NULL;
}

static bool belongs(const subject *s, const rk_explained *item) {
    size_t at = 0;
    return item->cause == s->cause && !item->nearest_of &&
           strcmp(item->compile->reason, "refresh") != 0 && next_change(s, item, &at);
}

static bool same_change(const rk_difference *a, const rk_difference *b) {
    return a->kind == b->kind && rk_same_text(a->attribute, b->attribute) &&
           rk_same_text(a->before, b->before) && rk_same_text(a->after, b->after);
}

static size_t count_changes(const subject *s, const rk_explained *item) {
    size_t at = 0, count = 0;
    while (next_change(s, item, &at))
        count++;
    return count;
}

// Returns whether two programs may be of one upgrade: they share a change, and contradict each
// other in none. A program that the new version writes in another way has one change more.
static bool fit_together(const subject *s, const rk_explained *a, const rk_explained *b) {
    size_t i = 0, common = 0;
    const rk_difference *x, *y;
    while ((x = next_change(s, a, &i))) {
        size_t k = 0;
        while ((y = next_change(s, b, &k)) &&
               !(y->kind == x->kind && rk_same_text(x->attribute, y->attribute)))
            continue;
        if (y && !same_change(x, y))
            return false;
        common += y != NULL;
    }
    return common > 0;
}

// A program is not counted among those that other flags explain.
static bool same_changes(const subject *s, const rk_explained *a, const rk_explained *b) {
    size_t i = 0, k = 0;
    if (s == &VERSIONS)
        return fit_together(s, a, b);
    for (;;) {
        const rk_difference *x = next_change(s, a, &i), *y = next_change(s, b, &k);
        if (!x || !y)
            return x == y;
        if (!same_change(x, y))
            return false;
    }
}

// A digest, which a reader cannot compare with anything.
static bool is_build(const rk_difference *d) {
    return d->attribute && (strcmp(d->attribute, "plugin.build_id") == 0 ||
                            strcmp(d->attribute, "plugin.digest") == 0);
}

static void add_change(const rk_difference *d, size_t number, rk_buf *out) {
    if (is_build(d)) {
        rk_buf_add_format(out, "%sthe plugin is another build", number ? ", " : "");
        return;
    }
    rk_buf_add_format(out, "%s%s%s from %s to %s", number ? ", " : "",
                      d->attribute ? d->attribute : "", number ? "" : " went",
                      d->before ? d->before : "none", d->after ? d->after : "none");
}

static void add_changes(const subject *s, const rk_explained *item, rk_buf *out) {
    size_t count = 0;
    for (int builds = 0; builds < 2; builds++) {
        size_t at = 0;
        const rk_difference *d;
        while ((d = next_change(s, item, &at))) {
            if (is_build(d) != builds)
                continue;
            if (count < CHANGES_SHOWN)
                add_change(d, count, out);
            count++;
        }
    }
    if (count > CHANGES_SHOWN)
        rk_buf_add_format(out, ", and %zu more", count - CHANGES_SHOWN);
}

static rk_err *add_group(rk_explainer *e, const subject *s, const rk_members *members) {
    const rk_explained *first = members->items[0];
    RK_AUTO(rk_pattern_text) text = {.summary = {0}};
    for (size_t i = 1; i < members->count; i++)
        if (count_changes(s, members->items[i]) > count_changes(s, first))
            first = members->items[i];
    rk_buf_add_format(&text.summary,
                      "%zu program%s compiled again because %s changed since an earlier run: ",
                      members->count, members->count == 1 ? " was" : "s were", s->what);
    add_changes(s, first, &text.summary);
    size_t at = 0;
    if (s == &VERSIONS && next_change(&FLAGS, first, &at)) {
        rk_buf_add_text(&text.summary, "; flags or variables changed, too: ");
        add_changes(&FLAGS, first, &text.summary);
    }
    rk_buf_add_text(&text.advice, first->advice ? first->advice : "");
    return rk_pattern_add(e->out, s->pattern, members->items, members->count, &text, NULL, 0);
}

static rk_err *find(rk_explainer *e, const subject *s) {
    const rk_explanation *x = e->out;
    rk_autofree bool *taken = rk_calloc(x->count + 1, sizeof *taken);
    if (!taken)
        return rk_err_no_memory();
    for (size_t i = 0; i < x->count; i++) {
        if (taken[i] || !belongs(s, &x->items[i]))
            continue;
        RK_AUTO(rk_members) members = {0};
        for (size_t k = i; k < x->count; k++) {
            if (taken[k] || !belongs(s, &x->items[k]) ||
                !same_changes(s, &x->items[i], &x->items[k]))
                continue;
            taken[k] = true;
            RK_TRY(rk_members_add(&members, &x->items[k]));
        }
        RK_TRY(add_group(e, s, &members));
    }
    return NULL;
}

rk_err *rk_find_drift(rk_explainer *e) {
    RK_TRY(find(e, &FLAGS));
    return find(e, &VERSIONS);
}
