// Finders of patterns over the compilations of a run. Inside src/diagnose only.
#pragma once

#include "diagnose/explain/explain_internal.h"

typedef struct rk_pattern_text {
    rk_buf summary, advice;
} rk_pattern_text;
void rk_pattern_text_cleanup(rk_pattern_text *text);

// Adds a pattern. Copies the members and the texts. `file` may be NULL.
RK_HIDDEN RK_NODISCARD rk_err *rk_add_pattern(rk_explainer *e, rk_pattern_kind kind,
                                              const rk_explained *const *members, size_t count,
                                              rk_pattern_text *text, const char *file,
                                              uint32_t line);

// Growing list of members of a pattern.
typedef struct rk_members {
    const rk_explained **items; // owned
    size_t count, capacity;
} rk_members;
void rk_members_cleanup(rk_members *members);
RK_HIDDEN RK_NODISCARD rk_err *rk_members_add(rk_members *members, const rk_explained *item);

// Each finds patterns of one kind, or of kinds that are found in the same way.
RK_HIDDEN RK_NODISCARD rk_err *rk_find_value_patterns(rk_explainer *e); // counter, shape_family
RK_HIDDEN RK_NODISCARD rk_err *
rk_find_input_patterns(rk_explainer *e); // alternation, optional_inputs
RK_HIDDEN RK_NODISCARD rk_err *
rk_find_run_patterns(rk_explainer *e); // flag_drift, duplicate_storm, …
RK_HIDDEN RK_NODISCARD rk_err *rk_find_rank_divergence(rk_explainer *e);
RK_HIDDEN RK_NODISCARD rk_err *rk_find_fragments(rk_explainer *e);
