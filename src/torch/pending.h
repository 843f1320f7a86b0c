// After a job: finds the files that no pack has, and stores them.
#pragma once

#include "torch/session.h"

// Stores new files in new packs, one or more for each module. A new pack takes over the files of
// smaller packs, which are then removed, so that a job has few packs and each file is in one;
// pinned packs stay. First learns what other starts have stored meanwhile. `is_settled`: nobody
// writes into the directory any more. Otherwise files that changed within the last seconds are left
// out. `replaces`: packs that are marked as outdated are removed; else their files count as known.
// Returns the first error, after it has tried all modules.
RK_NODISCARD rk_err *rk_torch_pending_keep(rk_torch_session *session, bool is_settled,
                                           bool replaces);
