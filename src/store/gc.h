// Collecting: making the store as small as it is meant to be, by hand (`rekindle gc`). What a job
// stores makes room for itself (rk_store_set_limit), so that nobody needs to.
#pragma once

#include "store/store.h"

typedef struct rk_gc_removal {
    const char
        *what; // "executable", "program", "run", "quarantine", "plugin", "job", "leftover"; static
    const char *name; // the key, or the file's name; borrowed for the visit
    uint64_t bytes;
    uint64_t age_ns;     // since it was last used, or written
    uint64_t compile_ns; // of executables and programs
} rk_gc_removal;

typedef struct rk_gc_options {
    uint64_t max_bytes;     // of all that is collected, pins included; UINT64_MAX: no limit
    uint64_t older_than_ns; // entries that were not used for so long go; UINT64_MAX: none for that
    bool recent_too; // to keep to max_bytes, also what was used in the last hour goes, last of all
    bool dry_run;
    // Which entries are meant, by their metadata (JSON; empty where the entry cannot be read);
    // NULL: all, and then runs, plugins and quarantine/ are collected too. With a filter max_bytes
    // is for these entries alone.
    bool (*belongs)(void *context, rk_span metadata);
    // Told of each removal; NULL is fine.
    void (*removed)(void *context, const rk_gc_removal *removal);
    // Told how many of `all` folders were visited; NULL is fine.
    void (*progress)(void *context, unsigned done, unsigned all);
    void *context;
} rk_gc_options;

typedef struct rk_gc_total {
    uint64_t files, bytes;
} rk_gc_total;

typedef struct rk_gc_report {
    rk_gc_total before, after; // of all that counts
    rk_gc_total executables, programs, runs, quarantine, plugins, jobs, leftovers; // removed
    uint64_t lost_compile_ns; // what compiling the removed executables took
    rk_gc_total pinned;       // kept because of a pin, though it would have gone
    rk_gc_total recent;       // kept because it was used in the last hour
} rk_gc_report;

// Collects. The account (docs/format.md, usage/) is made new by the way. Fails with
// RK_UNAVAILABLE if another process has been at it for 30 seconds. Blocks for as long as listing
// the store takes.
RK_NODISCARD rk_err *rk_store_gc(rk_store *store, const rk_gc_options *options,
                                 rk_gc_report *out_report);
