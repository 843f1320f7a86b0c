#include "diagnose/explain/explain_internal.h"

uint64_t rk_explain_executions(const rk_run_model *run, const rk_run_compile *of) {
    uint64_t executions = 0;
    for (size_t i = 0; i < run->executed_count; i++)
        if (run->executed[i].process == of->process && strcmp(run->executed[i].key, of->key) == 0)
            executions = run->executed[i].executions; // a later item replaces this one
    return executions;
}

bool rk_explain_runs_as_often(const rk_run_model *run, const rk_explained *item) {
    uint64_t executions = rk_explain_executions(run, item->compile);
    return executions > 0 && executions == rk_explain_executions(run, item->nearest_of);
}
