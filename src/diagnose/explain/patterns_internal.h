// Finders of patterns over the compilations of a run. Inside src/diagnose only.
#pragma once

#include "diagnose/explain/explain_internal.h"
#include "diagnose/explain/pattern_internal.h"

// Each function finds one kind of pattern, or several kinds that are found in the same way.
RK_HIDDEN RK_NODISCARD rk_err *rk_find_value_patterns(rk_explainer *e); // counter, shape_family
RK_HIDDEN RK_NODISCARD rk_err *
rk_find_input_patterns(rk_explainer *e); // alternation, optional_inputs
RK_HIDDEN RK_NODISCARD rk_err *
rk_find_run_patterns(rk_explainer *e); // flag_drift, duplicate_storm, …
RK_HIDDEN RK_NODISCARD rk_err *rk_find_rank_divergence(rk_explainer *e);
RK_HIDDEN RK_NODISCARD rk_err *rk_find_fragments(rk_explainer *e);
// The same for the graphs of PyTorch/XLA in one process.
RK_HIDDEN RK_NODISCARD rk_err *rk_find_graph_fragments(rk_explainer *e, size_t process,
                                                       bool *out_found);
