// Finds the most similar earlier program.
#include "diagnose/explain/explain_internal.h"

static bool is_before(const rk_run_compile *a, const rk_run_compile *b) {
    if (a->process == b->process)
        return a->seq < b->seq;
    return a->time_ns < b->time_ns;
}

static bool same_program(const rk_known *a, const rk_known *b) {
    return rk_digest_equal(&a->key.program, &b->key.program);
}

static void consider(rk_nearest_candidate *best, const rk_known *known,
                     const rk_run_compile *request, const rk_known *of, bool same_source) {
    double similarity = same_program(known, of) ? 1
                        : known->has_sketch && of->has_sketch
                            ? rk_sketch_similarity(&known->sketch, &of->sketch, same_source)
                            : 0;
    // Of equally similar programs the latest wins.
    if (similarity > 0 && similarity >= best->similarity)
        *best = (rk_nearest_candidate){known, request, similarity};
}

// Searches the earlier requests of this run, of any process.
static rk_nearest_candidate find_in_run(const rk_explainer *e, size_t index, bool exact) {
    const rk_run_compile *of = &e->run->compiles[index];
    rk_nearest_candidate best = {0};
    for (size_t i = 0; i < e->run->compile_count; i++) {
        const rk_known *known = e->seen[i];
        const rk_run_compile *request = &e->run->compiles[i];
        if (known && known != e->seen[index] && is_before(request, of) &&
            (!exact || same_program(known, e->seen[index])))
            consider(&best, known, request, e->seen[index], true);
    }
    return best;
}

static bool is_of_run(const rk_explainer *e, const rk_known *known) {
    return strcmp(known->run, e->run->run) == 0;
}

// A program of another job is considered only if both programs have source lines, or the same
// operations.
static bool may_be_of_other_job(const rk_known *a, const rk_known *b) {
    return (a->sketch.line_count && b->sketch.line_count) ||
           a->sketch.structure == b->sketch.structure;
}

// Searches the programs of earlier runs: of this job, or of other jobs.
static rk_nearest_candidate find_before(const rk_explainer *e, size_t index, bool same_job,
                                        bool exact) {
    const rk_known *of = e->seen[index];
    rk_nearest_candidate best = {0};
    for (size_t i = 0; i < e->corpus->count; i++) {
        const rk_known *known = &e->corpus->items[i];
        bool is_job = *known->job && strcmp(known->job, e->run->job) == 0;
        if (known == of || is_of_run(e, known) || is_job != same_job ||
            known->created_ns >= e->run->start_ns || (exact && !same_program(known, of)))
            continue;
        if (!same_job && !exact && !may_be_of_other_job(known, of))
            continue;
        rk_nearest_candidate one = {0};
        consider(&one, known, NULL, of, false);
        if (one.similarity > best.similarity ||
            (one.similarity > 0 && one.similarity == best.similarity &&
             known->created_ns > best.known->created_ns))
            best = one;
    }
    return best;
}

rk_nearest_candidate rk_explain_find_nearest(const rk_explainer *e, size_t index) {
    rk_nearest_candidate best = {0};
    for (int exact = 1; exact >= 0 && !best.known; exact--) {
        best = find_in_run(e, index, exact);
        for (int same_job = 1; same_job >= 0 && !best.known; same_job--)
            best = find_before(e, index, same_job, exact);
    }
    return best;
}
