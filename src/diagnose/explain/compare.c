// Compares a program with the most similar earlier one.
#include "diagnose/diff/known.h"
#include "diagnose/explain/explain_internal.h"

// The earlier program with the fewest changes so far.
typedef struct choice {
    rk_nearest_candidate candidate; // `known` is NULL if there is none
    rk_known_diff diff;             // owned
} choice;

// Returns whether a program that this run compiled before shows the same change since an earlier
// start. One changed learning rate changes several programs.
static bool is_known_change(const void *context, const rk_difference *difference) {
    const rk_explanation *x = context;
    for (size_t i = 0; i < x->count; i++) {
        const rk_explained *item = &x->items[i];
        if (item->nearest && !item->nearest_of && rk_has_change(&item->differences, difference))
            return true;
    }
    return false;
}

// A program of an earlier start in the same environment says more than one of the latest start in
// another. A sibling is compared only with what an earlier start offers.
static bool is_better(const choice *a, const choice *b, unsigned source) {
    if (!b->candidate.known)
        return true;
    if (a->diff.elsewhere != b->diff.elsewhere)
        return b->diff.elsewhere && source != RK_NEAREST_SIBLING;
    return a->diff.changes < b->diff.changes;
}

// Nothing can be closer than one change: the candidates of a source are sorted.
static bool is_final(const choice *best) {
    return best->candidate.known && best->diff.changes <= 1 && !best->diff.elsewhere;
}

static rk_err *try_source(const rk_explainer *e, size_t index, const rk_loaded *loaded,
                          const rk_explained *item, unsigned source, choice *best) {
    rk_nearest_candidate candidates[RK_COUNTERPARTS_MAX];
    if (is_final(best))
        return NULL;
    size_t count = rk_explain_candidates(e, index, source, candidates);
    const rk_known_changes changes = {is_known_change, e->out};
    for (size_t i = 0; i < count && !is_final(best); i++) {
        if (candidates[i].known == best->candidate.known)
            continue;
        choice trial = {.candidate = candidates[i]};
        rk_err *err = rk_diff_known(e->corpus, candidates[i].known, item->program, loaded, changes,
                                    &trial.diff);
        if (!err && trial.diff.diff.cause != RK_CAUSE_FIRST && is_better(&trial, best, source)) {
            rk_known_diff_cleanup(&best->diff);
            *best = trial;
            continue;
        }
        rk_known_diff_cleanup(&trial.diff);
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
        if (!last_resort || !best->candidate.known)
            RK_TRY(try_source(e, index, loaded, item, source, best));
    }
    return NULL;
}

rk_err *rk_explain_compare(const rk_explainer *e, size_t index, const rk_loaded *loaded,
                           rk_explained *item) {
    choice best = {.candidate = {.known = NULL}};
    rk_err *err = choose(e, index, loaded, item, &best);
    if (err || !best.candidate.known) {
        rk_known_diff_cleanup(&best.diff);
        return err;
    }
    item->nearest = best.candidate.known;
    item->nearest_of = best.candidate.request;
    item->nearest_run = best.candidate.run;
    item->similarity = best.candidate.similarity;
    item->cause = best.diff.diff.cause;
    item->accumulates = best.diff.diff.accumulates;
    item->differences = best.diff.diff.list;
    item->libraries = best.diff.libraries;
    return NULL;
}
