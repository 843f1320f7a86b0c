// Limits of what is no entry: runs, quarantine/, plugins/; private to src/store.
#pragma once

#include "store/evict_internal.h"

// Counts what is rekindle's own (store/own_internal.h) in these places into `table`, as they are
// afterwards, and removes the oldest of each where they are more than they may be. `max_bytes` is
// the cap of the whole store. `options` (for its callback) and `report` may be NULL.
RK_HIDDEN RK_NODISCARD rk_err *rk_others_collect(const rk_survey *survey, uint64_t max_bytes,
                                                 const rk_gc_options *options,
                                                 rk_usage_table *table, rk_gc_report *report);
