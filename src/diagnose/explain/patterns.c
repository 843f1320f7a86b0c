#include "diagnose/explain/patterns_internal.h"

#include <stdlib.h>

static int costly_first(const void *a, const void *b) {
    const rk_pattern *x = a, *y = b;
    if (x->lost_ns != y->lost_ns)
        return x->lost_ns > y->lost_ns ? -1 : 1;
    return (int)x->kind - (int)y->kind;
}

rk_err *rk_find_patterns(rk_explainer *e) {
    RK_TRY(rk_find_fragments(e)); // first: resets causes between the parts of one step
    RK_TRY(rk_find_value_patterns(e));
    RK_TRY(rk_find_input_patterns(e));
    RK_TRY(rk_find_run_patterns(e));
    RK_TRY(rk_find_rank_divergence(e));
    if (e->out->pattern_count)
        qsort(e->out->patterns, e->out->pattern_count, sizeof *e->out->patterns, costly_first);
    return NULL;
}
