// An explanation under way, shared by explain*.c, patterns*.c and advice.c. Inside src/diagnose
// only.
#pragma once

#include "diagnose/explain/explain.h"

typedef struct rk_explainer {
    const rk_run_model *run;
    rk_earlier_runs earlier;
    const rk_corpus *library;
    rk_explanation *out;
    const rk_known **seen; // owned: by request of the run, its program; NULL: not kept
} rk_explainer;

// An earlier program, of this run or of another.
typedef struct rk_nearest_candidate {
    const rk_known *known;
    const rk_run_compile *request; // NULL: of an earlier run
    double similarity;
} rk_nearest_candidate;

// Of requests before `index`, then of earlier runs of the job, then of the rest of the store: the
// first of these that has the same program with other options or in another environment; else the
// most similar one. `known` is NULL where there is none.
RK_HIDDEN rk_nearest_candidate rk_explain_find_nearest(const rk_explainer *e, size_t index);

// Compares, and fills in differences and cause.
RK_HIDDEN RK_NODISCARD rk_err *rk_explain_compare(const rk_explainer *e, rk_explained *item);

// Looks for blocks in the program.
RK_HIDDEN RK_NODISCARD rk_err *rk_find_blocks(const rk_program_index *view, rk_blocks *out_blocks);

// What ties a program to the process that made it: a callback into it, most often.
typedef struct rk_process_reference {
    rk_span op;      // "stablehlo.custom_call"
    rk_source place; // the user's
} rk_process_reference;

// The first one that `reason` (of a bypass) names and whose place is known; false if there is none.
// Spans are borrowed from the model.
RK_HIDDEN RK_NODISCARD bool rk_find_process_reference(const rk_program_index *view,
                                                      const char *reason,
                                                      rk_process_reference *out_tie);

// After all it is like nothing.
RK_HIDDEN void rk_explained_be_first(rk_explained *item);

// What to do about it; needs cause and differences.
RK_HIDDEN RK_NODISCARD rk_err *rk_advise(rk_explained *item);

RK_HIDDEN RK_NODISCARD rk_err *rk_find_patterns(rk_explainer *e);
RK_HIDDEN RK_NODISCARD rk_err *rk_answer_questions(rk_explanation *explanation);

// The first difference that is a cause; NULL if there is none.
static inline const rk_difference *rk_explained_head(const rk_explained *item) {
    return item->differences.cause_count ? &item->differences.items[0] : NULL;
}

// Dimensions of "tensor<32x8xf32>"; false if it has none.
typedef struct rk_dims {
    long long sizes[16];
    size_t count;
} rk_dims;
RK_HIDDEN RK_NODISCARD bool rk_parse_dims(const char *type, rk_dims *out_dims);

// The only axis along which two types differ; false if there are none or several.
RK_HIDDEN RK_NODISCARD bool rk_only_axis(const char *before, const char *after, size_t *out_axis);

// Whether the heads of two are of one kind and, if they are shapes, differ along one same axis.
RK_HIDDEN RK_NODISCARD bool rk_same_axis(const rk_explained *a, const rk_explained *b);
