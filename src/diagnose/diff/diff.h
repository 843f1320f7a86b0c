// Structural difference of two programs of any format. Functions and operations are aligned in
// order; shapes and constants are compared separately from the structure. A difference is a cause,
// or it follows from another difference: a changed input changes the shapes of all later values.
#pragma once

#include "diagnose/diff/difference.h"
#include "diagnose/diff/program_index.h"

typedef struct rk_program_diff {
    rk_differences list; // differences of the programs alone; causes first
    rk_cause cause;      // RK_CAUSE_FIRST: nothing differs
    // The later program accumulates gradients that the earlier program creates: it has new inputs,
    // and adds most of them to values that it returns.
    bool accumulates;
    // Only with RK_CAUSE_STRUCTURE: each returns one value, and makes it on a line of the source
    // that the other one lacks.
    bool returns_other_line;
    // Only with RK_CAUSE_STRUCTURE and RK_CAUSE_PARAMETERS: each returns one value, and makes it on
    // another line of a package. Pyro checks a value for NaN on one line, and for infinity on
    // another one.
    bool returns_other_package_line;
    size_t matched, added, removed; // operations
} rk_program_diff;

// Compares two programs. Memory O(n), time O(n log n). Fails only with RK_RESOURCE_EXHAUSTED.
// `out_diff` is owned by the caller: rk_program_diff_cleanup, also after an error.
RK_NODISCARD rk_err *rk_diff_programs(const rk_program_index *before, const rk_program_index *after,
                                      rk_program_diff *out_diff);
void rk_program_diff_cleanup(rk_program_diff *diff);
