// Looks for a program in the journals of earlier runs: it was compiled, stored, or lost.
#include "diagnose/explain/explain_internal.h"

static bool is_of(const rk_run_hex key, const rk_run_compile *of) {
    return of->key[0] && strcmp(key, of->key) == 0;
}

static void note(rk_past *past, rk_past_kind kind, const char *run, const char *reason,
                 uint64_t time_ns) {
    if (kind > past->kind || (kind == past->kind && time_ns > past->time_ns))
        *past = (rk_past){kind, run, reason, time_ns};
}

// Returns whether the run stored the executable after that time: the request came too early.
static bool stored_later(const rk_run_model *run, const rk_run_compile *of, uint64_t before_ns) {
    for (size_t i = 0; i < run->stored_count; i++)
        if (is_of(run->stored[i].key, of) && run->stored[i].stored &&
            run->stored[i].time_ns > before_ns)
            return true;
    return false;
}

// Events after `before_ns` do not count: another run may go on at the same time.
static void look_at_run(const rk_run_model *run, const rk_run_compile *of, uint64_t before_ns,
                        rk_past *past) {
    for (size_t i = 0; i < run->compile_count; i++) {
        const rk_run_compile *one = &run->compiles[i];
        if (!is_of(one->key, of) || one->time_ns > before_ns || one->failed)
            continue;
        bool hit = one->outcome == RK_OUTCOME_HIT;
        if (!hit && stored_later(run, of, before_ns))
            continue;
        note(past,
             hit                        ? RK_PAST_STORED
             : rk_run_is_lost(run, one) ? RK_PAST_LOST
                                        : RK_PAST_COMPILED,
             run->run, NULL, one->time_ns);
    }
    for (size_t i = 0; i < run->stored_count; i++) {
        const rk_run_stored *one = &run->stored[i];
        if (!is_of(one->key, of) || one->time_ns > before_ns)
            continue;
        note(past, one->stored ? RK_PAST_STORED : RK_PAST_COMPILED, run->run,
             one->stored ? NULL : one->reason, one->time_ns);
    }
}

rk_past rk_explain_past(const rk_explainer *e, const rk_run_compile *of) {
    rk_past past = {.kind = RK_PAST_UNKNOWN};
    uint64_t before_ns = of->time_ns > of->request_ns ? of->time_ns - of->request_ns : 0;
    for (size_t i = e->earlier.count; i-- > 0 && past.kind != RK_PAST_STORED;)
        look_at_run(&e->earlier.items[i], of, before_ns, &past);
    return past;
}
