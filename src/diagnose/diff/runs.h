// Compares two runs: their environments, the programs that both runs requested, and the programs
// that only one run requested. A program that only the later run requested is compared with the
// most similar program of the earlier run. For the command line only.
#pragma once

#include "diagnose/diff/diff.h"
#include "diagnose/explain/corpus.h"
#include "journal/read.h"
#include "store/removals.h"

// A program that only one run requested, or with other options than the other run.
typedef struct rk_run_only {
    const rk_run_compile *request; // its first request; borrowed from the run
    const rk_known *program;       // borrowed from the corpus; NULL: not kept
    const rk_run_compile *nearest; // most similar program of the other run; NULL: none
    double similarity;             // from 0 to 1
    rk_program_diff diff;          // from the nearest to this one
    // A program of the same name that only the other run requested. The two cannot be compared,
    // because one of them is not in the store; `removal`: what removed it.
    const rk_run_compile *unread_with; // borrowed; NULL: none
    bool unread_is_kept;               // the other one is in the store
    rk_removal removal;
} rk_run_only;

typedef struct rk_run_only_list {
    rk_run_only *items; // owned; in order of the requests
    size_t count;
} rk_run_only_list;

typedef struct rk_run_diff {
    // Differences between the first clients of the two runs: flags, variables, versions, topology.
    rk_differences environment;
    size_t in_both; // distinct programs
    // Programs in both runs that have no key in common: their options or environment differ.
    size_t under_other_keys;
    // Of these, the programs that were compiled with other options, and the others (another
    // environment, or unknown), each compared with the same program of the earlier run. The
    // differences are digests if the journals do not say more.
    rk_run_only_list other_options, other_environment;
    // Programs in both runs, under one key, that the later run compiled again. `diff` has the
    // reason: the executable was removed, or was never stored.
    rk_run_only_list again;
    // `only_before` has no `nearest` and no `diff`.
    rk_run_only_list only_before, only_after;
} rk_run_diff;

// Both runs and the corpus must outlive the result. Owned by the caller: rk_run_diff_cleanup, also
// after an error.
RK_NODISCARD rk_err *rk_diff_runs(const rk_run_model *before, const rk_run_model *after,
                                  const rk_corpus *corpus, rk_run_diff *out_diff);
void rk_run_diff_cleanup(rk_run_diff *diff);
