// Wraps a plugin's table: gives the plugin a slot, and makes the table that the framework gets.
#pragma once

#include "pjrt/abi.h"

// Returns the table to give to a framework instead of `real`: a copy with the watched entries
// replaced. Returns `real` itself if rekindle is off or inert or the table is already wrapped, and,
// with a warning, if its format or API version is unknown or no slot is left. The same table gives
// the same result every time. NULL only if `real` is NULL. Thread-safe.
const PJRT_Api *rk_wrap_table(const PJRT_Api *real);

// Warns, once, that a plugin is not watched because no slot is left. `get_api`: its GetPjrtApi.
void rk_wrap_warn_too_many(const void *get_api);
