// Packs of torch.compile's caches that a bundle brings.
#pragma once

#include "cli/bundle_plan.h"

// Adds an imported pack to the list of its job.
RK_NODISCARD rk_err *rk_bundle_pack_list(rk_store *store, const rk_bundle *bundle,
                                         const rk_bundle_planned *one);
