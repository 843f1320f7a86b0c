// The table for a missing plugin.
#pragma once

#include "base/status.h"
#include "pjrt/abi.h"

// Returns a table whose entries return an error with the text of `problem`, which is consumed. All
// calls return the same table, with the problem of the first call. Lives as long as the process.
// Thread-safe.
const PJRT_Api *rk_absent_table(rk_err *problem);
