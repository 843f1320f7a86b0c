// Selects what `rekindle bundle export` packs: entries of the store, and manifests of jobs.
#pragma once

#include "cli/entries.h"
#include "cli/opt.h"
#include "cli/out.h"

// What the user asked for. At most one of these is set; none: the last run's job.
typedef struct rk_bundle_wish {
    const char *job, *run; // NULL if not given
    bool all;
    const rk_opt_list *modules;    // of --module; empty: all
    const rk_digest *environments; // of the packs; NULL: all
    size_t environment_count;
    char *const *keys; // operands
    size_t key_count;
} rk_bundle_wish;

// A manifest to pack: of one rank of a job.
typedef struct rk_bundle_manifest {
    char *job; // owned
    uint32_t rank;
} rk_bundle_manifest;

typedef struct rk_bundle_selection {
    rk_kept_list entries;          // sorted by key; `pack` of each is examined
    rk_bundle_manifest *manifests; // owned
    size_t manifest_count;
    char *job, *run;  // owned; NULL if no single one was selected
    char *newest_run; // owned; the run whose environment describes the bundle; NULL: none
    size_t absent;    // programs of the run or job whose entries are not in the store
} rk_bundle_selection;
void rk_bundle_selection_cleanup(rk_bundle_selection *selection);

// RK_NOT_FOUND if there is nothing to export; the message says why. `out_selection` must be zeroed.
RK_NODISCARD rk_err *rk_bundle_select(rk_store *store, const rk_bundle_wish *wish,
                                      rk_bundle_selection *out_selection);
