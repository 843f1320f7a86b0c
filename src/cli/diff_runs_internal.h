// What the parts of the comparison of two runs share. Inside src/cli/diff_runs*.c only.
#pragma once

#include "cli/diff_view.h"
#include "diagnose/diff/runs.h"
#include "journal/summary.h"

// One of the two runs.
typedef struct rk_diff_run {
    rk_run_summary summary;
    rk_buf command; // as rk_run_command_add writes it; empty if unknown
    rk_buf number;  // as --run takes it: "-2", or the name of the run
} rk_diff_run;

// The name of a program: that of its request, or that in its sketch. Borrowed.
const char *rk_diff_runs_name(const rk_run_only *item);

RK_NODISCARD rk_err *rk_diff_runs_print(const rk_diff_run *a, const rk_diff_run *b,
                                        const rk_run_diff *diff, const rk_diff_how *how);
