// Checks that a folder is a store: by its marker, the file REKINDLE_STORE, or without a marker by
// its other files (docs/format.md); private to src/store.
#pragma once

#include "store/store_path_internal.h"

#define RK_MARKER_NAME "REKINDLE_STORE"

// RK_FAILED_PRECONDITION, with the remedy, if the folder has files and none of them is rekindle's
// own, or if its marker is of another version. Writes a missing marker unless the store is
// readonly; a failed write is no error. Blocks on the file system.
RK_HIDDEN RK_NODISCARD rk_err *rk_marker_check(const rk_store *store);
