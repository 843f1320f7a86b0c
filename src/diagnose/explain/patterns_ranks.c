// Finds the first program in which two ranks differ.
#include "base/alloc.h"
#include "diagnose/explain/patterns_internal.h"

// The next request of a process for a program of the user's own; NULL at the end.
static const rk_run_compile *next_of(const rk_explainer *e, size_t process, size_t *at) {
    for (; *at < e->run->compile_count; ++*at) {
        const rk_run_compile *compile = &e->run->compiles[*at];
        const rk_known *known = e->seen[*at];
        if (compile->process == process && known && known->has_sketch &&
            !rk_sketch_is_eager(&known->sketch))
            return compile;
    }
    return NULL;
}

static const rk_explained *explained_of(const rk_explainer *e, const rk_run_compile *compile) {
    for (size_t i = 0; i < e->out->count; i++)
        if (e->out->items[i].compile == compile)
            return &e->out->items[i];
    return NULL;
}

static const rk_sketch_line *place_of_request(const rk_explainer *e,
                                              const rk_run_compile *compile) {
    for (size_t i = 0; i < e->run->compile_count; i++)
        if (&e->run->compiles[i] == compile && e->seen[i])
            return rk_sketch_place(&e->seen[i]->sketch);
    return NULL;
}

static bool is_program(const rk_run_compile *compile, const rk_run_compile *of) {
    return compile && of && strcmp(compile->program, of->program) == 0;
}

// The difference between the programs of two ranks, from a comparison of one with the other by any
// rank: a rank may have received an executable that another rank compiled. Else the difference of
// one of them from its nearest program in this run. NULL if there is neither.
static const rk_difference *find_difference(const rk_explainer *e,
                                            const rk_run_compile *const sides[2]) {
    const rk_difference *found = NULL;
    for (size_t i = 0; i < e->out->count; i++) {
        const rk_explained *item = &e->out->items[i];
        if (!rk_explained_head(item) || !item->nearest_of)
            continue;
        for (size_t k = 0; k < 2; k++)
            if (is_program(item->compile, sides[k]) && is_program(item->nearest_of, sides[1 - k]))
                return rk_explained_head(item);
        if (item->compile == sides[0] || item->compile == sides[1])
            found = rk_explained_head(item);
    }
    return found;
}

static rk_err *add_divergence(rk_explainer *e, const size_t processes[2], const rk_run_compile *a,
                              const rk_run_compile *b, size_t at) {
    const rk_run_compile *sides[] = {a, b};
    const rk_explained *members[2];
    const rk_difference *head = find_difference(e, sides);
    size_t count = 0;
    for (size_t i = 0; i < 2; i++) {
        const rk_explained *item = sides[i] ? explained_of(e, sides[i]) : NULL;
        if (item)
            members[count++] = item;
    }
    const rk_run_compile *named = a ? a : b;
    const rk_sketch_line *place = place_of_request(e, named);
    RK_AUTO(rk_pattern_text) text = {.summary = {0}};
    rk_buf_add_format(
        &text.summary,
        "ranks %u and %u request different programs, beginning with program %zu of each rank: ",
        e->run->processes[processes[0]].rank, e->run->processes[processes[1]].rank, at + 1);
    if (a && b)
        rk_buf_add_format(&text.summary, "%s is not the same in both", named->name);
    else
        rk_buf_add_format(&text.summary, "only one of them has %s", named->name);
    if (head)
        rk_buf_add_format(&text.summary, " (%s: %s → %s)",
                          head->attribute ? head->attribute
                          : head->op      ? head->op
                                          : "",
                          head->before ? head->before : "none", head->after ? head->after : "none");
    rk_buf_add_text(&text.advice,
                    "All ranks must run the same programs: compute on all of them what one of them "
                    "logs, and let only the printing depend on the rank. The rank must not be a "
                    "number in the program.");
    const char *file = head && head->file ? head->file : place ? place->file : NULL;
    return rk_pattern_add(e->out, RK_PATTERN_RANK_DIVERGENCE, members, count, &text, file,
                          head && head->file ? head->line
                          : place            ? place->line
                                             : 0);
}

// Finds the first program in which two ranks differ. Later differences follow from it.
static rk_err *compare_ranks(rk_explainer *e, size_t first, size_t second, bool *out_differ) {
    size_t i = 0, k = 0;
    for (size_t at = 0;; at++, i++, k++) {
        const rk_run_compile *a = next_of(e, first, &i), *b = next_of(e, second, &k);
        if (!a && !b)
            return NULL;
        if (a && b && strcmp(a->program, b->program) == 0)
            continue;
        // A rank that is still running and has fewer programs does not differ.
        if ((!a && !e->run->processes[first].ended) || (!b && !e->run->processes[second].ended))
            return NULL;
        *out_differ = true;
        return add_divergence(e, (const size_t[]){first, second}, a, b, at);
    }
}

rk_err *rk_find_rank_divergence(rk_explainer *e) {
    const rk_run_model *run = e->run;
    bool differ = false;
    for (size_t p = 1; p < run->process_count && !differ; p++)
        if (run->processes[p].rank != run->processes[0].rank)
            RK_TRY(compare_ranks(e, 0, p, &differ));
    return NULL;
}
