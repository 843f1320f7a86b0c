// Makes, stores and reads summaries of runs. A summary has the data that `rekindle runs` and
// `rekindle stats --all` show of a run. It is kept in runs/<run>/summary.json, so that the journals
// of the run need not be read again (docs/journal.md). Part of target rk_journal_read.
//
// A summary is derived data. It names every journal of the run with size and modification time. If
// a journal differs, or if the summary is missing, damaged or of another version, the journals are
// read instead.
#pragma once

#include "journal/read.h"

// The version of the file. A changed meaning or computation of a member needs a new version. A new
// member does not: a summary that lacks a member is not used.
enum { RK_RUN_SUMMARY_VERSION = 1, RK_RUN_SUMMARY_MAX_BYTES = 1 << 20 };
#define RK_RUN_SUMMARY_NAME "summary.json"

// A program that bypassed the cache, with the number of its requests.
typedef struct rk_run_unkept {
    char *name;   // owned
    char *reason; // owned
    rk_run_hex program;
    uint64_t count;
} rk_run_unkept;

typedef struct rk_run_summary {
    // With all events if the journals were read. From a summary file: without events, and processes
    // lack argv, executable, way_in, counts and warm-up.
    rk_run_model run;
    rk_run_totals totals;  // of this run only
    rk_run_unkept *unkept; // owned; in order of first appearance
    size_t unkept_count;
    bool was_kept;      // read from the summary file
    bool lacks_members; // the file is older than a counter: the journals are read instead
} rk_run_summary;

void rk_run_summary_cleanup(rk_run_summary *summary); // frees and zeroes

// Makes the summary of a run whose journals were read. `model` is consumed: it is empty afterwards.
// `*out_summary` must be zeroed; owned: rk_run_summary_cleanup, also after an error.
RK_NODISCARD rk_err *rk_run_summary_of(rk_run_model *model, rk_run_summary *out_summary);

// Reads the summary file if it matches the journals, else the journals. `*out_summary` must be
// zeroed; owned: rk_run_summary_cleanup, also after an error. Errors as for rk_run_load.
RK_NODISCARD rk_err *rk_run_summary_load(const char *store_directory, const char *run,
                                         rk_run_summary *out_summary);

// True if a summary is equivalent to the journals for every version of rekindle: each journal has a
// start event that names this run, every complete line was understood, and no line is missing.
RK_NODISCARD bool rk_run_summary_is_whole(const rk_run_summary *summary);

// Writes the summary file atomically: a reader sees the old or the new one. The file gets the
// modification time of the newest journal, because `gc` takes the age of a run from its files. The
// file is not synced to the disk, because a damaged one is not used. The store's folders must
// belong to the user (base/tree.h). Errors: RK_RESOURCE_EXHAUSTED (larger than
// RK_RUN_SUMMARY_MAX_BYTES; a run with very many programs has no summary file), or a system error.
// After an error no file is left behind.
RK_NODISCARD rk_err *rk_run_summary_keep(const char *store_directory,
                                         const rk_run_summary *summary);
