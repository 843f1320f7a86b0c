// Finds the earlier programs that a request may be compared with.
#include "diagnose/explain/explain_internal.h"

// A job's name ends in a digest of its arguments (settings/job.c), which change when a user changes
// a learning rate. The name before it is that of the script.
static size_t script_chars(const char *job) {
    enum { DIGEST_CHARS = 12 };
    size_t len = strlen(job);
    bool derived = len > DIGEST_CHARS + 1 && job[len - DIGEST_CHARS - 1] == '-' &&
                   strspn(job + len - DIGEST_CHARS, "0123456789abcdef") == DIGEST_CHARS;
    return derived ? len - DIGEST_CHARS - 1 : len;
}

static bool same_script(const char *a, const char *b) {
    size_t len = script_chars(a);
    return len && len == script_chars(b) && memcmp(a, b, len) == 0;
}

static rk_err *add_start(rk_explainer *e, const rk_run_model *run) {
    return rk_start_make(run, e->corpus, &e->starts[e->start_count++]);
}

// Takes the latest starts of the same script, and the latest start with the same arguments even if
// it is older.
rk_err *rk_explain_find_starts(rk_explainer *e) {
    bool same_job = false;
    RK_TRY(rk_start_make(e->run, e->corpus, &e->now));
    for (size_t i = e->earlier.count; i-- > 0 && e->start_count < RK_EXPLAIN_STARTS_MAX;) {
        const rk_run_model *run = &e->earlier.items[i];
        bool is_job = *e->run->job && strcmp(run->job, e->run->job) == 0;
        bool is_last_place = e->start_count + 1 == RK_EXPLAIN_STARTS_MAX;
        if (!same_script(run->job, e->run->job) || !run->compile_count ||
            (is_last_place && !is_job && !same_job))
            continue;
        same_job |= is_job;
        RK_TRY(add_start(e, run));
    }
    return NULL;
}

bool rk_explain_is_additional(const rk_explainer *e, size_t index) {
    const rk_start_request *of = &e->now.requests[index];
    bool same_name = false;
    for (size_t s = 0; s < e->start_count; s++) {
        for (size_t i = 0; i < e->starts[s].run->compile_count; i++) {
            const rk_start_request *request = &e->starts[s].requests[i];
            if (request->name == of->name && request->position >= of->position)
                return false;
            same_name |= request->name == of->name;
        }
    }
    return same_name;
}

// The latest request of this run, before request `index`, for a program that an earlier run
// compiled. NULL if there is none.
static const rk_run_compile *request_in_run(const rk_explainer *e, size_t index,
                                            const rk_known *known) {
    const rk_run_compile *of = &e->run->compiles[index], *found = NULL;
    for (size_t i = 0; i < e->run->compile_count; i++) {
        const rk_run_compile *request = &e->run->compiles[i];
        bool before = request->process == of->process ? request->seq < of->seq
                                                      : request->time_ns < of->time_ns;
        if (e->seen[i] == known && before)
            found = request;
    }
    return found;
}

static size_t take_counterparts(const rk_explainer *e, size_t index, const rk_start *start,
                                rk_nearest_candidate *out_candidates) {
    rk_counterparts list;
    rk_counterparts_find(start, &e->now, index, &list);
    for (size_t i = 0; i < list.count; i++) {
        const rk_counterpart *one = &list.items[i];
        const rk_run_compile *request =
            start == &e->now ? one->request : request_in_run(e, index, one->known);
        out_candidates[i] = (rk_nearest_candidate){
            .known = one->known,
            .request = request,
            .run = request ? e->run->run : start->run->run,
            .similarity = one->similarity,
            .failed = one->failed,
        };
    }
    return list.count;
}

static bool same_program(const rk_known *a, const rk_known *b) {
    return rk_digest_equal(&a->key.program, &b->key.program);
}

// A program of another job is considered only if both programs have source lines, or the same
// operations.
static bool may_be_of_other_job(const rk_known *a, const rk_known *b) {
    return (a->sketch.line_count && b->sketch.line_count) ||
           a->sketch.structure == b->sketch.structure;
}

static bool is_of_source(const rk_explainer *e, const rk_known *known, const rk_known *of,
                         unsigned source) {
    if (source == RK_NEAREST_SAME_PROGRAM)
        return same_program(known, of);
    if (same_script(known->job, e->run->job) != (source == RK_NEAREST_OLDER))
        return false;
    return source == RK_NEAREST_OLDER || may_be_of_other_job(known, of);
}

// Returns whether the compiler refused the program in the latest earlier run that requested it.
static bool has_failed(const rk_explainer *e, const rk_known *known) {
    for (size_t r = e->earlier.count; r-- > 0;)
        for (size_t i = e->earlier.items[r].compile_count; i-- > 0;) {
            const rk_run_compile *one = &e->earlier.items[r].compiles[i];
            if (strcmp(one->key, known->hex) == 0)
                return one->failed && !one->refused;
        }
    return false;
}

// Searches the store: of equally similar programs the latest wins.
static size_t search_store(const rk_explainer *e, size_t index, unsigned source,
                           rk_nearest_candidate *out_candidate) {
    const rk_known *of = e->seen[index];
    rk_nearest_candidate best = {0};
    for (size_t i = 0; i < e->corpus->count; i++) {
        const rk_known *known = &e->corpus->items[i];
        if (known == of || known->created_ns >= e->run->start_ns ||
            strcmp(known->run, e->run->run) == 0 || !is_of_source(e, known, of, source))
            continue;
        double similarity = source == RK_NEAREST_SAME_PROGRAM ? 1
                            : known->has_sketch && of->has_sketch
                                ? rk_sketch_similarity(&known->sketch, &of->sketch, false)
                                : 0;
        if (similarity > best.similarity || (similarity > 0 && similarity == best.similarity &&
                                             known->created_ns > best.known->created_ns))
            best =
                (rk_nearest_candidate){.known = known, .run = known->run, .similarity = similarity};
    }
    if (!best.known)
        return 0;
    best.failed = has_failed(e, best.known);
    best.request = request_in_run(e, index, best.known);
    best.run = best.request ? e->run->run : best.run;
    *out_candidate = best;
    return 1;
}

size_t rk_explain_candidates(const rk_explainer *e, size_t index, unsigned source,
                             rk_nearest_candidate *out_candidates) {
    if (!e->seen[index])
        return 0;
    if (source < RK_EXPLAIN_STARTS_MAX)
        return source < e->start_count
                   ? take_counterparts(e, index, &e->starts[source], out_candidates)
                   : 0;
    if (source == RK_NEAREST_SIBLING)
        return take_counterparts(e, index, &e->now, out_candidates);
    return search_store(e, index, source, out_candidates);
}
