// The verdicts about a bundle for this machine: one for each environment of its entries. Results of
// autotuning have one of their own.
#pragma once

#include "cli/bundle_machine.h"

typedef struct rk_bundle_group {
    char *id; // owned; the environment, whether it is autotuning, and the namespace
    rk_bundle_verdict verdict;
} rk_bundle_group;

typedef struct rk_bundle_groups {
    rk_bundle_group *items; // owned
    size_t count;
    const rk_machine *machine;  // borrowed
    const rk_bundle_head *head; // borrowed
} rk_bundle_groups;
void rk_bundle_groups_cleanup(rk_bundle_groups *groups);

// Returns the index of the group of an entry, and judges it if it is the first of its group.
RK_NODISCARD rk_err *rk_bundle_groups_of_entry(rk_bundle_groups *groups, const rk_entry *entry,
                                               size_t *out_index);

// Returns the index of the group of an item. Reads the item only if its attributes do not tell.
RK_NODISCARD rk_err *rk_bundle_groups_of_item(rk_bundle_groups *groups, const rk_bundle *bundle,
                                              const rk_bundle_module *module,
                                              const rk_bundle_item *item,
                                              const rk_bundle_part *part, size_t *out_index);

// RK_NOT_FOUND if the Python that was asked for has none of the frameworks of the packs.
RK_NODISCARD rk_err *rk_bundle_groups_check_python(const rk_bundle_groups *groups);

// The group that describes the bundle: that of the environment in the header, or else the first;
// not one that is blocked, if there is another such group. NULL if there is no group.
const rk_bundle_group *rk_bundle_groups_main(const rk_bundle_groups *groups);

// The mismatches as a table for people. Owned: free.
char *rk_bundle_mismatches_text(const json_t *mismatches);
