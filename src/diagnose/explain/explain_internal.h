// State of an explanation, shared by the files of explain/. Inside src/diagnose only.
#pragma once

#include "diagnose/explain/explain.h"

typedef struct rk_explainer {
    const rk_run_model *run;
    rk_earlier_runs earlier;
    const rk_corpus *corpus;
    rk_explanation *out;
    const rk_known **seen; // borrowed: program of each request of the run; NULL: not kept
} rk_explainer;

// An earlier program, of this run or of an earlier one.
typedef struct rk_nearest_candidate {
    const rk_known *known;
    const rk_run_compile *request; // NULL: the program is of an earlier run
    double similarity;
} rk_nearest_candidate;

// Finds the earlier program that request `index` is compared with: the same program with other
// options or in another environment, else the most similar program. Each of the two searches covers
// first the earlier requests of this run, then earlier runs of the job, then the rest of the store.
// `known` is NULL if no program is found.
RK_HIDDEN rk_nearest_candidate rk_explain_find_nearest(const rk_explainer *e, size_t index);

// Compares an item with its nearest program, and fills in the differences and the cause. `loaded`
// is the item's own program.
RK_HIDDEN RK_NODISCARD rk_err *rk_explain_compare(const rk_explainer *e, const rk_loaded *loaded,
                                                  rk_explained *item);

// Finds repeated blocks in a program.
RK_HIDDEN RK_NODISCARD rk_err *rk_find_blocks(const rk_program_index *index, rk_blocks *out_blocks);

// An operation that binds a program to the process that made it: most often a callback into the
// process.
typedef struct rk_process_reference {
    rk_span op;      // "stablehlo.custom_call"
    rk_source place; // the user's
} rk_process_reference;

// Finds the first process reference whose source line is known and that `reason`, the reason of a
// bypass, names. False if there is none. Spans are borrowed from the model.
RK_HIDDEN RK_NODISCARD bool rk_find_process_reference(const rk_program_index *index,
                                                      const char *reason,
                                                      rk_process_reference *out_reference);

// Fills in the advice. Needs the cause and the differences.
RK_HIDDEN RK_NODISCARD rk_err *rk_advise(rk_explained *item);

RK_HIDDEN RK_NODISCARD rk_err *rk_find_patterns(rk_explainer *e);
RK_HIDDEN RK_NODISCARD rk_err *rk_answer_questions(rk_explanation *explanation);
