// Whether a folder is a store: by the marker in it, the file REKINDLE_STORE, or, in a store that
// has none, by what else lies there (docs/format.md); private to src/store.
#pragma once

#include "store/store_path_internal.h"

#define RK_MARKER_NAME "REKINDLE_STORE"

// RK_FAILED_PRECONDITION, with the remedy, if the folder holds files and none is known to be ours,
// or if its marker is of another version. Writes the marker where it is missing, unless the store
// is readonly; a folder that refuses to be written is no error. Blocks on the file system.
RK_HIDDEN RK_NODISCARD rk_err *rk_marker_check(const rk_store *store);
