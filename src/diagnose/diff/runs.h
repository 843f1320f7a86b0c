// Two runs compared: where they ran, which programs both asked for, and what each program of one
// run alone nearly is in the other. For the command line only.
#pragma once

#include "diagnose/diff/diff.h"
#include "diagnose/explain/corpus.h"
#include "journal/read.h"

// A program of one run alone.
typedef struct rk_run_only {
    const rk_run_compile *request; // the first for it; borrowed from the run
    const rk_known *program;       // borrowed from the library; NULL: not kept
    const rk_run_compile *nearest; // of the other run; NULL: it is like none there
    double similarity;             // from 0 to 1
    rk_program_diff diff;          // from the nearest to this one
} rk_run_only;

typedef struct rk_run_only_list {
    rk_run_only *items; // owned; in the order they were asked for
    size_t count;
} rk_run_only_list;

typedef struct rk_run_diff {
    rk_differences environment; // of the runs' first clients; flags, variables, versions, topology
    size_t in_both;             // distinct programs
    size_t under_other_keys;    // those of them that no key is the same of: options or environment
    rk_run_only_list only_before, only_after; // the former without nearest and differences
} rk_run_diff;

// Both runs and the library must outlive it. Owned: rk_run_diff_cleanup, also after an error.
RK_NODISCARD rk_err *rk_diff_runs(const rk_run_model *before, const rk_run_model *after,
                                  const rk_corpus *library, rk_run_diff *out_diff);
void rk_run_diff_cleanup(rk_run_diff *diff);
