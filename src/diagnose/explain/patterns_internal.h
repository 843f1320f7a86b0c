// Finders of patterns over the compilations of a run. Inside src/diagnose only.
#pragma once

#include "diagnose/explain/explain_internal.h"
#include "diagnose/explain/pattern_internal.h"

// Each function finds one kind of pattern, or several kinds that are found in the same way.
RK_HIDDEN RK_NODISCARD rk_err *rk_find_value_patterns(rk_explainer *e); // counter, shape_family
RK_HIDDEN RK_NODISCARD rk_err *
rk_find_input_patterns(rk_explainer *e);                       // alternation, optional_inputs
RK_HIDDEN RK_NODISCARD rk_err *rk_find_drift(rk_explainer *e); // flag_drift, toolchain_drift
RK_HIDDEN RK_NODISCARD rk_err *rk_find_duplicate_storms(rk_explainer *e);
RK_HIDDEN RK_NODISCARD rk_err *rk_find_repeated_blocks(rk_explainer *e);
RK_HIDDEN RK_NODISCARD rk_err *rk_find_rank_divergence(rk_explainer *e);
RK_HIDDEN RK_NODISCARD rk_err *rk_find_fragments(rk_explainer *e);
// The same for the graphs of PyTorch/XLA in one process.
RK_HIDDEN RK_NODISCARD rk_err *rk_find_graph_fragments(rk_explainer *e, size_t process,
                                                       const rk_steps *steps, bool *out_found);
RK_HIDDEN RK_NODISCARD rk_err *rk_find_eager_startup(rk_explainer *e);
RK_HIDDEN RK_NODISCARD rk_err *rk_find_late_operations(rk_explainer *e); // fragments
RK_HIDDEN RK_NODISCARD rk_err *rk_find_growing_graphs(rk_explainer *e);  // fragments

// The beginning of the advice on operations that a library runs in the call that also runs the
// steps.
#define RK_LIBRARY_RUNS_STEPS                                                                      \
    "The library runs these operations by itself, in the call that also runs the steps. Later "    \
    "starts load them."

// Number of the first request of a process for a program; UINT64_MAX if there is none.
RK_HIDDEN uint64_t rk_first_request(const rk_explainer *e, size_t process, const rk_known *known);

// The step of that request; RK_NO_STEP if there is none, or if it is not known.
RK_HIDDEN uint64_t rk_first_step_of(const rk_explainer *e, size_t process, const rk_steps *steps,
                                    const rk_known *known);

// Returns how many programs a process had executed before a request; UINT64_MAX if it is not known.
RK_HIDDEN uint64_t rk_executions_at(const rk_explainer *e, size_t process, uint64_t request);

// Returns the number of the first request of a process for the program of its steps. This is the
// program of the user that executed the most operations in all; if the process was killed, it is
// the first large program. All earlier requests belong to the start. UINT64_MAX if there is no such
// program.
RK_HIDDEN uint64_t rk_first_step_request(const rk_explainer *e, size_t process);

// Takes the call stack of the program of the steps; empty if it is not known. The caller cleans it
// up.
RK_HIDDEN RK_NODISCARD rk_err *rk_step_stack(const rk_explainer *e, size_t process,
                                             rk_stack *out_stack);

// Returns the function that compiles a call with such a stack: "jax.jit", or that of the library
// whose objects the call takes ("eqx.filter_jit"). Static.
RK_HIDDEN const char *rk_jit_for(const rk_stack *stack);

// Finds whether a function contains the call of the program of the steps. If that is not known,
// `out_known` is false and `out_runs` true.
RK_HIDDEN RK_NODISCARD rk_err *rk_runs_steps(const rk_explainer *e, size_t process,
                                             const rk_stack_frame *function, bool *out_known,
                                             bool *out_runs);
