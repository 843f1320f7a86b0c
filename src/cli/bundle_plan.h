// Decides, before anything is written, what `rekindle bundle import` does with each item.
#pragma once

#include "cli/bundle_groups.h"
#include "pack/module.h"

typedef enum rk_bundle_fate {
    RK_FATE_IMPORT,
    RK_FATE_PRESENT, // a sound entry of that key, or a manifest of that job, is there already
    RK_FATE_REFUSED,
} rk_bundle_fate;

typedef struct rk_bundle_planned {
    const rk_bundle_module *module; // borrowed from the bundle
    const rk_bundle_item *item;     // borrowed from the bundle
    rk_bundle_part part;
    rk_pack_family family; // of a pack
    rk_bundle_fate fate;
    const char *why; // of a refusal; borrowed from `groups`
    uint64_t bytes;
    rk_digest start;  // of an entry: the digest of its start, which decided about it
    bool is_replaced; // a damaged file is in its place
} rk_bundle_planned;

typedef struct rk_bundle_plan {
    const rk_bundle *bundle;    // borrowed
    const rk_opt_list *modules; // borrowed; the wanted ones; empty: all
    rk_bundle_planned *items;   // owned
    size_t count;
    rk_bundle_groups groups; // `machine` and `head` are set by the caller
} rk_bundle_plan;
void rk_bundle_plan_cleanup(rk_bundle_plan *plan);

// Decides about every item of the wanted modules, and of those that this version knows. Reads
// manifests and the starts of entries, whose digests are not checked yet
// (rk_bundle_part_check_entry). `force`: differences that are only warnings do not matter. Errors:
// RK_DATA_LOSS and others of bundle/bundle.h for an item that cannot be used; RK_ABORTED, with the
// differences as details, if no entry is usable here.
RK_NODISCARD rk_err *rk_bundle_plan_make(rk_bundle_plan *plan, bool force);

// Finds what is in the store already: a sound entry of the same key and kind, or a manifest of the
// same job and rank. `store` is NULL if there is none.
RK_NODISCARD rk_err *rk_bundle_plan_find_present(rk_bundle_plan *plan, rk_store *store);

// True if the store has a manifest of that job and rank, or a sound entry.
RK_NODISCARD rk_err *rk_bundle_plan_is_present(rk_store *store, rk_bundle_planned *planned,
                                               bool *out_is_present);

// Bytes of the items that are to be imported.
uint64_t rk_bundle_plan_bytes(const rk_bundle_plan *plan);
