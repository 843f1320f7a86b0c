// Finds the program of the steps, and where it is called: what comes before it is the start.
#include <string.h>

#include "diagnose/explain/operations_internal.h"
#include "diagnose/explain/patterns_internal.h"

uint64_t rk_first_request(const rk_explainer *e, size_t process, const rk_known *known) {
    for (size_t i = 0; i < e->run->compile_count; i++)
        if (e->run->compiles[i].process == process && e->seen[i] == known)
            return e->run->compiles[i].seq;
    return UINT64_MAX;
}

uint64_t rk_first_step_of(const rk_explainer *e, size_t process, const rk_steps *steps,
                          const rk_known *known) {
    for (size_t i = 0; i < e->run->compile_count; i++)
        if (e->run->compiles[i].process == process && e->seen[i] == known)
            return rk_steps_of_compile(steps, &e->run->compiles[i]);
    return RK_NO_STEP;
}

uint64_t rk_executions_at(const rk_explainer *e, size_t process, uint64_t request) {
    for (size_t i = 0; i < e->run->compile_count; i++) {
        const rk_run_compile *compile = &e->run->compiles[i];
        if (compile->process == process && compile->seq == request && compile->has_executions)
            return compile->executions;
    }
    return UINT64_MAX;
}

static bool is_of_user(const rk_known *known) {
    return known && known->has_sketch && !rk_is_framework_operation(&known->sketch);
}

// The first of the user's large programs, for a process that was killed: its journal does not say
// how often it executed a program.
static const rk_known *find_first_large(const rk_explainer *e, size_t process) {
    enum { PARTS_OF_LARGEST = 4 };
    uint32_t largest = 0;
    for (size_t i = 0; i < e->run->compile_count; i++)
        if (e->run->compiles[i].process == process && is_of_user(e->seen[i]) &&
            e->seen[i]->sketch.op_count > largest)
            largest = e->seen[i]->sketch.op_count;
    for (size_t i = 0; i < e->run->compile_count; i++)
        if (e->run->compiles[i].process == process && is_of_user(e->seen[i]) &&
            (uint64_t)PARTS_OF_LARGEST * e->seen[i]->sketch.op_count >= largest)
            return e->seen[i];
    return NULL;
}

// The program of the steps: of the user's own programs, the one that executed the most operations.
// (A small function of the start may be executed more often.) NULL if there is none.
static const rk_known *find_step(const rk_explainer *e, size_t process) {
    const rk_known *step = NULL;
    double most = 0;
    bool says = false;
    for (size_t i = 0; i < e->run->executed_count; i++) {
        const rk_run_executed *executed = &e->run->executed[i];
        if (executed->process != process)
            continue;
        const rk_known *known = rk_corpus_find(e->corpus, executed->key);
        says = true;
        if (!is_of_user(known))
            continue;
        double work = (double)executed->executions * known->sketch.op_count;
        step = work > most ? known : step;
        most = work > most ? work : most;
    }
    return says ? step : find_first_large(e, process);
}

// Returns whether the program is a version of the step: the same function, called on the same line,
// for another size of its inputs, for example.
static bool is_version(const rk_known *known, const rk_known *step) {
    return is_of_user(known) && known->name && step->name && strcmp(known->name, step->name) == 0 &&
           known->sketch.call.hash == step->sketch.call.hash &&
           2 * (uint64_t)known->sketch.op_count >= step->sketch.op_count;
}

uint64_t rk_first_step_request(const rk_explainer *e, size_t process) {
    const rk_known *step = find_step(e, process);
    for (size_t i = 0; step && i < e->run->compile_count; i++)
        if (e->run->compiles[i].process == process && is_version(e->seen[i], step))
            return e->run->compiles[i].seq;
    return step ? rk_first_request(e, process, step) : UINT64_MAX;
}

rk_err *rk_step_stack(const rk_explainer *e, size_t process, rk_stack *out_stack) {
    RK_AUTO(rk_loaded) loaded = {0};
    const rk_known *step = find_step(e, process);
    if (step)
        RK_TRY(rk_corpus_open(e->corpus, step, &loaded));
    return loaded.loaded ? rk_stack_take(&loaded.index.call, out_stack) : NULL;
}

rk_err *rk_runs_steps(const rk_explainer *e, size_t process, const rk_stack_frame *function,
                      bool *out_known, bool *out_runs) {
    RK_AUTO(rk_stack) stack = {0};
    RK_TRY(rk_step_stack(e, process, &stack));
    *out_known = stack.count > 0;
    *out_runs = stack.count == 0;
    for (size_t i = 0; i < stack.count; i++)
        *out_runs |= rk_is_same_function(&stack.frames[i], function);
    return NULL;
}
