// The graphs of PyTorch/XLA that a process executed, and the places where they cut a step. Inside
// src/diagnose only.
#pragma once

#include "diagnose/explain/explain_internal.h"

// A graph that a process executed.
typedef struct rk_graph {
    const rk_known *known;
    const rk_explained *item; // its compilation in this process; NULL: it was loaded
    uint64_t executions;
    const rk_run_compile *request; // the first one in this process; NULL: unknown
    uint64_t step;                 // of that request; RK_NO_STEP: unknown
    size_t group;                  // index of one of its versions
} rk_graph;

typedef struct rk_graphs {
    rk_graph *items; // owned
    size_t count;
    uint64_t steps;
    bool is_guess;            // step detection found no steps
    double executions, reads; // in each step
    size_t parts;             // groups that recur in the steps
} rk_graphs;

RK_HIDDEN void rk_graphs_cleanup(rk_graphs *list);

// Returns how often the versions of a graph were executed. `group`: see rk_graph.
RK_HIDDEN uint64_t rk_graphs_executions(const rk_graphs *list, size_t group);

// Returns whether versions of graph `at` are executed in three quarters of the steps. The first one
// must be requested early enough: an evaluation after a few steps may execute a graph as often.
RK_HIDDEN bool rk_graphs_recur(const rk_graphs *list, size_t at);

enum { RK_CUT_LINES_MAX = 4 };

// Where a step is cut.
typedef struct rk_cut_place {
    char *file; // owned; NULL: unknown
    uint32_t line;
    uint32_t call;    // the line of the step that calls a function around `line`; 0: none
    bool is_read;     // `line` makes a value that is read
    bool is_backward; // `line` computes gradients, and the cut is inside
    // Other lines of the file that make values that are read.
    uint32_t others[RK_CUT_LINES_MAX];
    size_t other_count;
    bool has_more_others;
} rk_cut_place;

RK_HIDDEN void rk_cut_place_cleanup(rk_cut_place *place);

// The part with the most operations: a step in one piece compiles it, too. NULL if nothing recurs.
RK_HIDDEN const rk_graph *rk_graphs_largest_part(const rk_graphs *list);

// Finds the line that makes a result of the graph that was cut. If the largest part has operations
// of this line, too, a function calculates numbers for several lines: then `call` is the innermost
// line that leads to the result and to no operation of the largest part.
RK_HIDDEN RK_NODISCARD rk_err *rk_graphs_find_place(const rk_explainer *e, const rk_graphs *list,
                                                    rk_cut_place *out);
