// Packs that a bundle brings.
#pragma once

#include "cli/bundle_plan.h"

// Adds an imported pack to the list of its job.
RK_NODISCARD rk_err *rk_bundle_pack_list(rk_store *store, const rk_bundle *bundle,
                                         const rk_bundle_planned *one);

// Checks that the names in a pack belong to its module, before anything is published. Holds one
// pack in memory. RK_DATA_LOSS, with the reason.
RK_NODISCARD rk_err *rk_bundle_pack_check(const rk_bundle *bundle, const rk_bundle_planned *one);
