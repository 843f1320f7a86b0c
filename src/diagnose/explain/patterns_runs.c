// Finds patterns between runs, between ranks, and within one program.
#include "base/alloc.h"
#include "diagnose/explain/patterns_internal.h"

// Flags and variables that changed between runs.

static bool is_drift(const rk_explained *item) {
    const rk_difference *head = rk_explained_head(item);
    return head && !item->nearest_of && item->cause == RK_CAUSE_ENVIRONMENT &&
           strcmp(item->compile->reason, "refresh") != 0;
}

enum { FLAGS_SHOWN = 6 };

static rk_err *find_flag_drift(rk_explainer *e) {
    RK_AUTO(rk_members) members = {0};
    for (size_t i = 0; i < e->out->count; i++)
        if (is_drift(&e->out->items[i]))
            RK_TRY(rk_members_add(&members, &e->out->items[i]));
    if (!members.count)
        return NULL;
    const rk_explained *first = members.items[0];
    const rk_difference *head = rk_explained_head(first);
    RK_AUTO(rk_pattern_text) text = {.summary = {0}};
    rk_buf_add_format(&text.summary,
                      "%zu program%s compiled again because flags or variables changed since the "
                      "previous run: %s went from %s to %s",
                      members.count, members.count == 1 ? " was" : "s were",
                      head->attribute ? head->attribute : "", head->before ? head->before : "none",
                      head->after ? head->after : "none");
    for (size_t i = 1; i < first->differences.cause_count && i < FLAGS_SHOWN; i++) {
        const rk_difference *more = &first->differences.items[i];
        rk_buf_add_format(&text.summary, ", %s from %s to %s",
                          more->attribute ? more->attribute : "",
                          more->before ? more->before : "none", more->after ? more->after : "none");
    }
    if (first->differences.cause_count > FLAGS_SHOWN)
        rk_buf_add_format(&text.summary, ", and %zu more",
                          first->differences.cause_count - FLAGS_SHOWN);
    rk_buf_add_text(&text.advice, first->advice ? first->advice : "");
    return rk_pattern_add(e->out, RK_PATTERN_FLAG_DRIFT, members.items, members.count, &text, NULL,
                          0);
}

// The same program again and again in one process.

static const rk_sketch_line *place_of(const rk_explained *item) {
    return item->program && item->program->has_sketch ? rk_sketch_place(&item->program->sketch)
                                                      : NULL;
}

static bool is_of_storm(const rk_explained *item, const rk_explained *first) {
    return item->cause == RK_CAUSE_DUPLICATE && item->compile->process == first->compile->process &&
           strcmp(item->compile->key, first->compile->key) == 0;
}

static rk_err *find_duplicate_storms(rk_explainer *e) {
    enum { AGAIN_MIN = 2 }; // at least three requests
    const rk_explanation *x = e->out;
    for (size_t i = 0; i < x->count; i++) {
        const rk_explained *first = &x->items[i];
        bool is_first = first->cause == RK_CAUSE_DUPLICATE;
        for (size_t k = 0; k < i && is_first; k++)
            is_first = !is_of_storm(&x->items[k], first);
        if (!is_first)
            continue;
        RK_AUTO(rk_members) members = {0};
        for (size_t k = i; k < x->count; k++)
            if (is_of_storm(&x->items[k], first))
                RK_TRY(rk_members_add(&members, &x->items[k]));
        if (members.count < AGAIN_MIN)
            continue;
        RK_AUTO(rk_pattern_text) text = {.summary = {0}};
        const rk_sketch_line *place = place_of(first);
        rk_buf_add_format(&text.summary,
                          "one process requested the same program %s %zu times: the framework "
                          "traced it again each time",
                          rk_explained_name(first), members.count + 1);
        rk_buf_add_text(&text.advice, first->advice ? first->advice : "");
        RK_TRY(rk_pattern_add(e->out, RK_PATTERN_DUPLICATE_STORM, members.items, members.count,
                              &text, place ? place->file : NULL, place ? place->line : 0));
    }
    return NULL;
}

// Unrolled layers.

static rk_err *add_blocks(rk_explainer *e, const rk_explained *item) {
    const rk_blocks *blocks = &item->blocks;
    bool torch = rk_explained_is_torch(item);
    RK_AUTO(rk_pattern_text) text = {.summary = {0}};
    rk_buf_add_format(&text.summary,
                      "%s holds %u equal blocks of %u operations each, one after the other: all of "
                      "them are compiled",
                      rk_explained_name(item), blocks->count, blocks->op_count);
    if (blocks->custom_kernel)
        rk_buf_add_text(&text.advice,
                        "A scan over the layers compiles one of them, but here there are custom "
                        "kernels inside, which not every scan allows: ");
    rk_buf_add_text(&text.advice,
                    torch
                        ? "scan_layers (torch_xla.experimental.scan_layers) compiles one layer "
                          "instead of all. Its conditions: the layers are homogeneous (same "
                          "shapes and structure), no Pallas kernel inside, and their forward is "
                          "pure (no buffers written, no random state)."
                        : "jax.lax.scan over stacked parameters (flax: nn.scan) compiles one "
                          "layer instead of all. Its conditions: the layers are homogeneous (same "
                          "shapes and structure), no Pallas kernel that scan cannot hold, and no "
                          "side effects.");
    const rk_explained *const members[] = {item};
    return rk_pattern_add(e->out, RK_PATTERN_REPEATED_BLOCKS, members, 1, &text, blocks->file,
                          blocks->line);
}

// Reports a function once, by its costliest program.
static rk_err *find_repeated_blocks(rk_explainer *e) {
    const rk_explanation *x = e->out;
    for (size_t i = 0; i < x->count; i++) {
        const rk_explained *item = &x->items[i];
        bool is_worst = item->blocks.count > 0;
        for (size_t k = 0; k < x->count && is_worst; k++) {
            const rk_explained *other = &x->items[k];
            uint64_t mine = rk_explained_cost_ns(item), theirs = rk_explained_cost_ns(other);
            if (k != i && other->blocks.count && other->blocks.line == item->blocks.line &&
                strcmp(other->compile->name, rk_explained_name(item)) == 0)
                is_worst = theirs < mine || (theirs == mine && i < k);
        }
        if (is_worst)
            RK_TRY(add_blocks(e, item));
    }
    return NULL;
}

rk_err *rk_find_run_patterns(rk_explainer *e) {
    RK_TRY(find_flag_drift(e));
    RK_TRY(find_duplicate_storms(e));
    return find_repeated_blocks(e);
}

// Ranks.

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
    rk_buf_add_format(&text.summary, "ranks %u and %u differ from their program %zu on: ",
                      e->run->processes[processes[0]].rank, e->run->processes[processes[1]].rank,
                      at + 1);
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
                    "logs, and let only the printing depend on the rank; no rank as a number in "
                    "the program.");
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
