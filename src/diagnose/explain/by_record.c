// Explains a request by what the journals of earlier runs record, if the earlier program is no
// longer in the store.
#include "diagnose/diff/recorded.h"
#include "diagnose/explain/explain_internal.h"

static bool is_program(const rk_run_compile *one, const rk_run_compile *of) {
    return *one->program && strcmp(one->program, of->program) == 0;
}

// The latest request of a run for the same program under another key; NULL if there is none.
static const rk_run_compile *find_in(const rk_run_model *run, const rk_run_compile *of) {
    for (size_t i = run->compile_count; i-- > 0;) {
        const rk_run_compile *one = &run->compiles[i];
        if (is_program(one, of) && *one->key && strcmp(one->key, of->key) != 0 && !one->failed &&
            one->time_ns <= of->time_ns)
            return one;
    }
    return NULL;
}

static bool is_same_program(const rk_explained *item) {
    return item->nearest && item->program &&
           rk_digest_equal(&item->nearest->key.program, &item->program->key.program);
}

static bool is_start(const rk_explainer *e, const rk_run_model *run) {
    for (size_t i = 0; i < e->start_count; i++)
        if (e->starts[i].run == run)
            return true;
    return false;
}

// Takes the differences of the settings. A failed compilation keeps its cause and its error.
static rk_err *take(rk_explained *item, rk_recorded before, rk_program_diff *diff) {
    item->recorded = before.request;
    if (item->cause == RK_CAUSE_FAILED) {
        for (size_t i = 0; i < diff->list.count; i++) {
            diff->list.items[i].order = (uint32_t)item->differences.count;
            RK_TRY(rk_differences_add(&item->differences, &diff->list.items[i]));
        }
        return NULL;
    }
    rk_explained_be_first(item);
    item->nearest_run = before.run->run;
    item->similarity = 1;
    item->cause = diff->cause;
    item->differences = diff->list;
    diff->list = (rk_differences){0};
    return NULL;
}

rk_err *rk_explain_by_record(const rk_explainer *e, rk_explained *item) {
    bool is_open = item->cause == RK_CAUSE_FIRST || item->cause == RK_CAUSE_FAILED;
    if (is_same_program(item))
        return NULL;
    for (size_t r = e->earlier.count; r-- > 0;) {
        const rk_run_model *run = &e->earlier.items[r];
        const rk_run_compile *one =
            is_open || is_start(e, run) ? find_in(run, item->compile) : NULL;
        RK_AUTO(rk_program_diff) diff = {0};
        if (!one)
            continue;
        const rk_recorded before = {run, one};
        RK_TRY(rk_diff_recorded(e->corpus, before, (rk_recorded){e->run, item->compile}, &diff));
        return diff.cause == RK_CAUSE_FIRST ? NULL : take(item, before, &diff);
    }
    return NULL;
}

static bool is_requested(const rk_explainer *e, const rk_run_compile *program) {
    for (size_t i = 0; i < e->run->compile_count; i++)
        if (is_program(&e->run->compiles[i], program))
            return true;
    return false;
}

void rk_explain_find_gone(const rk_explainer *e, size_t index, rk_explained *item) {
    const rk_start_request *of = &e->now.requests[index];
    if (item->is_eager || rk_explained_is_unread(item))
        return;
    for (size_t s = 0; s < e->start_count && !item->gone; s++) {
        const rk_run_model *run = e->starts[s].run;
        for (size_t i = 0; i < run->compile_count && !item->gone; i++) {
            const rk_start_request *one = &e->starts[s].requests[i];
            bool is_alike = one->name == of->name &&
                            (one->position == of->position || !rk_explained_is_torch(item));
            if (!is_alike || one->known || run->compiles[i].failed ||
                is_requested(e, &run->compiles[i]))
                continue;
            item->gone = &run->compiles[i];
            item->gone_run = run->run;
        }
    }
}
