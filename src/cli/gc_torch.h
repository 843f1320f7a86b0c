// `rekindle gc`: removes directories of torch.compile that no start used for 30 days.
#pragma once

#include "store/gc.h"

// Visits the directories of this user, whatever store their jobs used. Calls `removed` for each
// with `what` "torch_compile". Adds to `total`. A user without a home directory has none.
RK_NODISCARD rk_err *rk_gc_torch(bool dry_run,
                                 void (*removed)(void *context, const rk_gc_removal *removal),
                                 void *context, rk_gc_total *total);
