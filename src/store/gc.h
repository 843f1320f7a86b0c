// Garbage collection by hand (`rekindle gc`). A job does not need it: its puts evict entries
// to keep the store below its limit (rk_store_set_limit).
#pragma once

#include "store/store.h"

typedef struct rk_gc_removal {
    const char
        *what; // "executable", "program", "run", "quarantine", "plugin", "job", "leftover"; static
    const char *name; // the key, or the file's name; borrowed for the call
    uint64_t bytes;
    uint64_t age_ns; // since the last use; for files that are no entries, since they were written
    uint64_t compile_ns; // only of executables and programs
    double worth;        // of executables and programs: those with the least are removed first
} rk_gc_removal;

typedef struct rk_gc_options {
    uint64_t max_bytes;     // limit of the store, pinned entries included; UINT64_MAX: no limit
    uint64_t older_than_ns; // removes entries not used for this time; UINT64_MAX: none
    bool recent_too; // for max_bytes: also removes entries used in the last hour, after all others
    bool dry_run;    // removes nothing, only reports
    // Filters entries by their metadata (JSON; empty if the entry cannot be read). With a filter,
    // only these entries are removed and count towards max_bytes. NULL: all entries; then runs,
    // jobs, plugins and quarantine/ are collected too.
    bool (*belongs)(void *context, rk_span metadata);
    // Called for each removal; or NULL.
    void (*removed)(void *context, const rk_gc_removal *removal);
    // Called with the number of folders visited, of `all`; or NULL.
    void (*progress)(void *context, unsigned done, unsigned all);
    void *context;
} rk_gc_options;

typedef struct rk_gc_total {
    uint64_t files, bytes;
} rk_gc_total;

typedef struct rk_gc_report {
    rk_gc_total before, after; // size of the whole store
    rk_gc_total executables, programs, runs, quarantine, plugins, jobs, leftovers; // removed
    uint64_t lost_compile_ns; // compile time of the removed executables
    rk_gc_total pinned;       // would have been removed, but are pinned
    rk_gc_total recent;       // would have been removed, but were used in the last hour
} rk_gc_report;

// Collects garbage, and recounts the usage account (docs/format.md, usage/). Blocks until the whole
// store is listed. Unless dry_run, also waits for the gc lock: RK_UNAVAILABLE if another process
// holds it for 30 seconds; RK_PERMISSION_DENIED if the store is readonly.
RK_NODISCARD rk_err *rk_store_gc(rk_store *store, const rk_gc_options *options,
                                 rk_gc_report *out_report);
