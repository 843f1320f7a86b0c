// The location of this installation. Libraries are found relative to the executable, both in the
// build folder and after an install.
#pragma once

#include "base/status.h"

#include <stdbool.h>

#define RK_PRELOAD_LIBRARY "librekindle_preload.so"
#define RK_CORE_LIBRARY    "librekindle_core.so"
#define RK_PLUGIN_LIBRARY  "librekindle_pjrt.so"

// Finds the path of this executable, with links resolved. Owned: rk_free.
RK_NODISCARD rk_err *rk_self_executable(char **out_path);

// Finds the path of one of the libraries above, and whether a readable file is there. Owned:
// rk_free.
RK_NODISCARD rk_err *rk_self_library(const char *name, char **out_path, bool *out_found);
