// The structural difference of two programs, of whatever format: functions and operations are
// aligned in order, shapes and constants compared apart from structure, and what follows from
// something else (a changed input changes the shapes of everything behind it) is told apart from
// what does not.
#pragma once

#include "diagnose/diff/difference.h"
#include "diagnose/diff/program_index.h"

typedef struct rk_program_diff {
    rk_differences list; // of the program alone; causes first
    rk_cause cause;      // RK_CAUSE_FIRST: nothing differs
    // The later program takes values to which the earlier one's additions were only added: a
    // gradient that is accumulated instead of created.
    bool accumulates;
    size_t matched, added, removed; // operations
} rk_program_diff;

// Linear memory; time linear but for a logarithm. Fails only with RK_RESOURCE_EXHAUSTED. `out_diff`
// is owned: rk_program_diff_cleanup, also after an error.
RK_NODISCARD rk_err *rk_diff_programs(const rk_program_index *before, const rk_program_index *after,
                                      rk_program_diff *out_diff);
void rk_program_diff_cleanup(rk_program_diff *diff);
