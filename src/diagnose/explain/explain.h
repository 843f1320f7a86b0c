// Explains why a run compiled its programs. Compares each compilation with the most similar earlier
// program, lists the differences and classifies the cause. Then finds patterns over all
// compilations (patterns.c). Reads the journals and the store; for the command line only.
#pragma once

#include "diagnose/explain/explanation.h"

// Earlier runs; their journals show which executables were stored. May be empty.
typedef struct rk_earlier_runs {
    const rk_run_model *items; // the newest last
    size_t count;
} rk_earlier_runs;

// Explains a run. All arguments must outlive the explanation. Owned by the caller:
// rk_explanation_cleanup, also after an error.
RK_NODISCARD rk_err *rk_explain(const rk_run_model *run, rk_earlier_runs earlier,
                                const rk_corpus *corpus, rk_explanation *out_explanation);
