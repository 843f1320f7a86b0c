#include "diagnose/explain/patterns_internal.h"

#include <stdlib.h>

static int costly_first(const void *a, const void *b) {
    const rk_pattern *x = a, *y = b;
    if (x->is_after_causes != y->is_after_causes)
        return x->is_after_causes ? 1 : -1;
    // A better start is worth more than a better program that compiles once.
    if (x->is_after_causes && x->kind != y->kind)
        return x->kind == RK_PATTERN_EAGER_STARTUP ? -1 : 1;
    if (x->lost_ns != y->lost_ns)
        return x->lost_ns > y->lost_ns ? -1 : 1;
    return (int)x->kind - (int)y->kind;
}

static bool is_advice(rk_pattern_kind kind) {
    return kind == RK_PATTERN_REPEATED_BLOCKS || kind == RK_PATTERN_EAGER_STARTUP;
}

// The highest cost of a cause: of one compilation, or of a pattern.
static uint64_t highest_cost_ns(const rk_explanation *x) {
    uint64_t highest = 0;
    for (size_t i = 0; i < x->count; i++) {
        uint64_t cost = rk_explained_cost_ns(&x->items[i]);
        if (x->items[i].cause != RK_CAUSE_FIRST && cost > highest)
            highest = cost;
    }
    for (size_t i = 0; i < x->pattern_count; i++)
        if (!is_advice(x->patterns[i].kind) && x->patterns[i].lost_ns > highest)
            highest = x->patterns[i].lost_ns;
    return highest;
}

// Returns whether a program has a cause since an earlier start. Operations of the start may then be
// compiled again for the same reason, such as a larger model.
static bool changed_since_start(const rk_explanation *x) {
    for (size_t i = 0; i < x->count; i++) {
        const rk_explained *item = &x->items[i];
        if (item->cause != RK_CAUSE_FIRST && item->nearest && !item->nearest_of)
            return true;
    }
    return false;
}

// Advice comes after the causes. Advice on the start comes first if it costs more than any cause,
// and nothing changed since an earlier start.
static void order(rk_explanation *x) {
    uint64_t highest = changed_since_start(x) ? UINT64_MAX : highest_cost_ns(x);
    for (size_t i = 0; i < x->pattern_count; i++) {
        rk_pattern *pattern = &x->patterns[i];
        pattern->is_after_causes =
            is_advice(pattern->kind) &&
            (pattern->kind == RK_PATTERN_REPEATED_BLOCKS || pattern->lost_ns <= highest);
    }
    if (x->pattern_count)
        qsort(x->patterns, x->pattern_count, sizeof *x->patterns, costly_first);
}

rk_err *rk_find_patterns(rk_explainer *e) {
    RK_TRY(rk_find_fragments(e));     // first: resets causes between the parts of one step
    RK_TRY(rk_find_eager_startup(e)); // resets causes of operations of the start
    RK_TRY(rk_find_late_operations(e));
    RK_TRY(rk_find_growing_graphs(e));
    RK_TRY(rk_find_value_patterns(e));
    RK_TRY(rk_find_input_patterns(e));
    RK_TRY(rk_find_drift(e));
    RK_TRY(rk_find_duplicate_storms(e));
    RK_TRY(rk_find_repeated_blocks(e));
    RK_TRY(rk_find_rank_divergence(e));
    order(e->out);
    return NULL;
}
