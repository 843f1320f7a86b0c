// Finds programs that one process requested again and again.
#include "diagnose/explain/patterns_internal.h"

enum { AGAIN_MIN = 2 }; // at least three requests

// Repeated compilations of an operation of the framework that cost less than this are not reported.
#define NOISE_NS ((uint64_t)100 * 1000000)

static const rk_sketch_line *place_of(const rk_explained *item) {
    return item->program && item->program->has_sketch ? rk_sketch_place(&item->program->sketch)
                                                      : NULL;
}

static bool is_of_storm(const rk_explained *item, const rk_explained *first) {
    return item->cause == RK_CAUSE_DUPLICATE && item->compile->process == first->compile->process &&
           strcmp(item->compile->key, first->compile->key) == 0;
}

static rk_err *add(rk_explainer *e, const rk_members *members) {
    const rk_explained *first = members->items[0];
    const rk_sketch_line *place = place_of(first);
    RK_AUTO(rk_pattern_text) text = {.summary = {0}};
    rk_buf_add_format(&text.summary,
                      "one process requested the same program %s %zu times: the framework "
                      "traced it again each time",
                      rk_explained_name(first), members->count + 1);
    rk_buf_add_text(&text.advice, first->advice ? first->advice : "");
    return rk_pattern_add(e->out, RK_PATTERN_DUPLICATE_STORM, members->items, members->count, &text,
                          place ? place->file : NULL, place ? place->line : 0);
}

// Operations of the framework, and control flow outside of any jitted function.
static bool is_of_framework(const rk_explained *item) {
    return item->is_eager || (item->program && item->program->has_sketch &&
                              rk_sketch_is_primitive(&item->program->sketch));
}

// The framework requests some of its own operations again, for a value of another kind, and loads
// them in a moment: no source line of the user changes that. What it only loads is never reported.
static void forget_noise(rk_explainer *e, const rk_explained *first) {
    rk_explanation *x = e->out;
    uint64_t cost_ns = 0;
    for (size_t i = 0; i < x->count; i++)
        if (is_of_storm(&x->items[i], first) && !x->items[i].is_loaded)
            cost_ns += rk_explained_cost_ns(&x->items[i]);
    if (!is_of_framework(first) || cost_ns >= NOISE_NS)
        return;
    const rk_run_compile *compile = first->compile;
    for (size_t i = 0; i < x->count; i++) {
        rk_explained *item = &x->items[i];
        if (item->cause == RK_CAUSE_DUPLICATE && item->compile->process == compile->process &&
            strcmp(item->compile->key, compile->key) == 0)
            rk_explained_be_first(item);
    }
}

rk_err *rk_find_duplicate_storms(rk_explainer *e) {
    const rk_explanation *x = e->out;
    for (size_t i = 0; i < x->count; i++) {
        const rk_explained *first = &x->items[i];
        bool is_first = first->cause == RK_CAUSE_DUPLICATE;
        for (size_t k = 0; k < i && is_first; k++)
            is_first = !is_of_storm(&x->items[k], first);
        if (!is_first)
            continue;
        forget_noise(e, first);
        RK_AUTO(rk_members) members = {0};
        for (size_t k = i; k < x->count; k++)
            if (is_of_storm(&x->items[k], first))
                RK_TRY(rk_members_add(&members, &x->items[k]));
        if (members.count >= AGAIN_MIN)
            RK_TRY(add(e, &members));
    }
    return NULL;
}
