// Compares a program with the most similar earlier one.
#include "base/alloc.h"
#include "diagnose/diff/components.h"
#include "diagnose/diff/diff.h"
#include "diagnose/explain/explain_internal.h"

// Comparison by sketches, if a program itself was not kept.

static rk_err *add_input(rk_program_diff *diff, rk_difference_kind kind, const rk_sketch *of,
                         const rk_sketch_value *before, const rk_sketch_value *after) {
    const rk_source place = rk_sketch_source(rk_sketch_place(of));
    const rk_sketch_value *named = after ? after : before;
    const rk_difference plain = {.kind = kind};
    const rk_difference_words words = {
        .op = rk_span_text("parameter"),
        .attribute = rk_span_text(named->name),
        .before = rk_span_text(before ? before->type : ""),
        .after = rk_span_text(after ? after->type : ""),
    };
    return rk_differences_note(&diff->list, &plain, &words, &place);
}

static const char *element_of(const char *type) {
    const char *x = strrchr(type, 'x');
    return x ? x : type;
}

static rk_err *compare_sketches(const rk_sketch *a, const rk_sketch *b, rk_program_diff *diff) {
    uint32_t i = 0;
    for (; i < a->input_count && i < b->input_count; i++) {
        const rk_sketch_value *x = &a->inputs[i], *y = &b->inputs[i];
        if (strcmp(x->name, y->name) != 0)
            break;
        if (strcmp(x->type, y->type) == 0)
            continue;
        bool dtype = strcmp(element_of(x->type), element_of(y->type)) != 0;
        if (diff->cause == RK_CAUSE_FIRST)
            diff->cause = dtype ? RK_CAUSE_DTYPE : RK_CAUSE_SHAPE;
        RK_TRY(add_input(diff, dtype ? RK_DIFFERENCE_DTYPE : RK_DIFFERENCE_SHAPE, b, x, y));
    }
    if (a->input_count != b->input_count) {
        bool added = b->input_count > a->input_count;
        diff->cause = RK_CAUSE_PARAMETERS;
        return add_input(diff,
                         added ? RK_DIFFERENCE_PARAMETER_ADDED : RK_DIFFERENCE_PARAMETER_REMOVED, b,
                         added ? NULL : &a->inputs[i], added ? &b->inputs[i] : NULL);
    }
    if (diff->cause == RK_CAUSE_FIRST)
        diff->cause = a->structure == b->structure ? RK_CAUSE_CONSTANT : RK_CAUSE_STRUCTURE;
    return NULL;
}

static rk_err *compare_programs(const rk_explainer *e, const rk_loaded *after, rk_explained *item,
                                rk_program_diff *diff, rk_differences *components) {
    RK_AUTO(rk_loaded) before = {0};
    RK_TRY(rk_corpus_open(e->corpus, item->nearest, &before));
    RK_TRY(rk_diff_toolchains(before.toolchain, after->toolchain, components));
    if (after->loaded)
        RK_TRY(
            rk_diff_libraries(before.toolchain, after->toolchain, after->model, &item->libraries));
    if (before.components && after->components)
        RK_TRY(rk_diff_components(before.components, after->components, components));
    if (rk_digest_equal(&item->nearest->key.program, &item->program->key.program))
        return NULL;
    if (before.loaded && after->loaded)
        return rk_diff_programs(&before.index, &after->index, diff);
    return item->nearest->has_sketch && item->program->has_sketch
               ? compare_sketches(&item->nearest->sketch, &item->program->sketch, diff)
               : NULL;
}

// The earlier program with the fewest changes so far.
typedef struct choice {
    rk_explained best; // owns its differences and libraries; `nearest` is NULL if there is none
    size_t changes;
    bool elsewhere; // another toolchain or other devices
} choice;

static void choice_cleanup(choice *one) {
    rk_differences_cleanup(&one->best.differences);
    rk_differences_cleanup(&one->best.libraries);
}

static bool same_text(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_same_change(const rk_difference *a, const rk_difference *b) {
    return a->kind == b->kind && a->line == b->line && same_text(a->attribute, b->attribute) &&
           same_text(a->before, b->before) && same_text(a->after, b->after) &&
           same_text(a->file, b->file);
}

// Returns whether a program that this run compiled before shows the same change since an earlier
// start. One changed learning rate changes several programs.
static bool is_known_change(const void *context, const rk_difference *difference) {
    const rk_explanation *x = context;
    for (size_t i = 0; i < x->count; i++) {
        const rk_explained *item = &x->items[i];
        for (size_t k = 0; k < item->differences.cause_count && item->nearest; k++)
            if (!item->nearest_of && is_same_change(&item->differences.items[k], difference))
                return true;
    }
    return false;
}

// Compares the item with one candidate. `trial` must be cleaned up, also after an error. Its
// cause is RK_CAUSE_FIRST if nothing differs.
static rk_err *try_candidate(const rk_explainer *e, const rk_loaded *loaded,
                             const rk_nearest_candidate *candidate, choice *trial) {
    RK_AUTO(rk_program_diff) diff = {0};
    RK_AUTO(rk_differences) components = {0};
    rk_explained *item = &trial->best;
    item->nearest = candidate->known;
    item->nearest_of = candidate->request;
    item->nearest_run = candidate->run;
    item->similarity = candidate->similarity;
    RK_TRY(compare_programs(e, loaded, item, &diff, &components));
    trial->elsewhere =
        diff.cause == RK_CAUSE_TOOLCHAIN || rk_rules_over_program(rk_components_cause(&components));
    trial->changes = rk_count_changes(&diff.list, is_known_change, e->out) +
                     rk_count_changes(&components, is_known_change, e->out);
    RK_TRY(rk_join_components(&diff, &components));
    item->cause = diff.cause;
    item->accumulates = diff.accumulates;
    item->differences = diff.list;
    diff.list = (rk_differences){0};
    return NULL;
}

// A program of an earlier start in the same environment says more than one of the latest start in
// another. A sibling is compared only with what an earlier start offers.
static bool is_better(const choice *a, const choice *b, unsigned source) {
    if (!b->best.nearest)
        return true;
    if (a->elsewhere != b->elsewhere)
        return b->elsewhere && source != RK_NEAREST_SIBLING;
    return a->changes < b->changes;
}

static rk_err *try_source(const rk_explainer *e, size_t index, const rk_loaded *loaded,
                          const rk_explained *item, unsigned source, choice *best) {
    rk_nearest_candidate candidates[RK_COUNTERPARTS_MAX];
    size_t count = rk_explain_candidates(e, index, source, candidates);
    // Nothing can be closer than one change: the candidates of a source are sorted.
    for (size_t i = 0; i < count && (!best->best.nearest || best->changes > 1 || best->elsewhere);
         i++) {
        if (candidates[i].known == best->best.nearest)
            continue;
        choice trial = {.best = {.compile = item->compile, .program = item->program}};
        rk_err *err = try_candidate(e, loaded, &candidates[i], &trial);
        if (!err && trial.best.cause != RK_CAUSE_FIRST && is_better(&trial, best, source)) {
            choice_cleanup(best);
            *best = trial;
            continue;
        }
        choice_cleanup(&trial);
        RK_TRY(err);
    }
    return NULL;
}

static rk_err *choose(const rk_explainer *e, size_t index, const rk_loaded *loaded,
                      const rk_explained *item, choice *best) {
    // The framework's own operations are compared with those of the same line first, and a program
    // that the last start had no counterpart of with the programs that it comes in addition to.
    if (item->is_eager || rk_explain_is_additional(e, index))
        RK_TRY(try_source(e, index, loaded, item, RK_NEAREST_SIBLING, best));
    for (unsigned source = 0; source < RK_NEAREST_SOURCE_COUNT; source++) {
        bool last_resort = source == RK_NEAREST_OTHER_JOB;
        if (!last_resort || !best->best.nearest)
            RK_TRY(try_source(e, index, loaded, item, source, best));
    }
    return NULL;
}

rk_err *rk_explain_compare(const rk_explainer *e, size_t index, const rk_loaded *loaded,
                           rk_explained *item) {
    choice best = {.changes = 0};
    rk_err *err = choose(e, index, loaded, item, &best);
    if (err || !best.best.nearest) {
        choice_cleanup(&best);
        return err;
    }
    item->nearest = best.best.nearest;
    item->nearest_of = best.best.nearest_of;
    item->nearest_run = best.best.nearest_run;
    item->similarity = best.best.similarity;
    item->cause = best.best.cause;
    item->accumulates = best.best.accumulates;
    item->differences = best.best.differences;
    item->libraries = best.best.libraries;
    return NULL;
}
