// Keeps the folders without entries within their limits: quarantine/, plugins/, jobs/ and runs/;
// private to src/store.
#pragma once

#include "store/evict_internal.h"

// Removes the oldest items of each place until the place is within its limits. Counts the remaining
// items into `table`. Considers only rekindle's own files (store/own_internal.h). `max_bytes` is
// the limit of the whole store. Only the callback in `options` is used. `options` and `report` may
// be NULL.
RK_HIDDEN RK_NODISCARD rk_err *rk_others_collect(const rk_survey *survey, uint64_t max_bytes,
                                                 const rk_gc_options *options,
                                                 rk_usage_table *table, rk_gc_report *report);
