// The summary of a run: what `rekindle runs` and `rekindle stats --all` show of it, kept in
// runs/<run>/summary.json beside its journals, so that they need not be read again
// (docs/journal.md). A part of target rk_journal_read.
//
// A summary is derived. It names every journal of the run with its size and modification time;
// where one differs, or the summary is missing, damaged or of another version, the journals are
// read.
#pragma once

#include "journal/read.h"

// The version of the file. A counter that is computed in another way, or a member that changes its
// meaning, needs a new one; a member more does not, since a summary that lacks one is not used.
enum { RK_RUN_SUMMARY_VERSION = 1, RK_RUN_SUMMARY_MAX_BYTES = 1 << 20 };
#define RK_RUN_SUMMARY_NAME "summary.json"

// A program that is not kept, and how often it was asked for.
typedef struct rk_run_unkept {
    char *name;   // owned
    char *reason; // owned
    rk_run_hex program;
    uint64_t count;
} rk_run_unkept;

typedef struct rk_run_summary {
    // With all its events where the journals were read. From a summary: without events, and of a
    // process without argv, executable, way_in, counts and warm-up.
    rk_run_model run;
    rk_run_totals totals;  // of this run alone
    rk_run_unkept *unkept; // owned; in the order first seen
    size_t unkept_count;
    bool was_kept; // it came from the summary's file
} rk_run_summary;

void rk_run_summary_cleanup(rk_run_summary *summary); // frees and zeroes

// Summary of a run whose journals were read. `model` is consumed: it is empty afterwards.
// `*out_summary` must be zeroed; owned: rk_run_summary_cleanup, also after an error.
RK_NODISCARD rk_err *rk_run_summary_of(rk_run_model *model, rk_run_summary *out_summary);

// From the summary's file where it fits, else from the journals. Errors and ownership as of
// rk_run_load.
RK_NODISCARD rk_err *rk_run_summary_load(const char *store_directory, const char *run,
                                         rk_run_summary *out_summary);

// True if a summary would tell the same as the journals to every rekindle: each journal begins with
// a start event that names this run, every line was understood, and none is missing.
RK_NODISCARD bool rk_run_summary_is_whole(const rk_run_summary *summary);

// Writes the file: a reader sees the old one or the new one. It gets the modification time of the
// newest journal, by which `gc` knows the age of a run. It is not synced to the disk: a damaged one
// is not used. The store's folders must be the user's (base/tree.h). Errors: RK_RESOURCE_EXHAUSTED
// (it would be larger than RK_RUN_SUMMARY_MAX_BYTES: a run with very many programs has none), or
// what the system said; then nothing is left behind.
RK_NODISCARD rk_err *rk_run_summary_keep(const char *store_directory,
                                         const rk_run_summary *summary);
