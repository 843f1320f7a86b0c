// Where the store is: REKINDLE_DIR or its default. Inside src/settings only.
#pragma once

#include <stdbool.h>

#include "base/status.h"

// An absolute path from what the user wrote in REKINDLE_DIR ("" or NULL: the default). Errors:
// RK_INVALID_ARGUMENT (a URL, "~name/…", too long), RK_FAILED_PRECONDITION (no home to be found).
// `*out_directory` is owned: rk_free.
RK_NODISCARD rk_err *rk_directory_resolve(const char *written, char **out_directory);

// Whether a store may be made at `directory`, an absolute path, where there is none yet: not in a
// home that belongs to another user than us or root, whom it would lock out; nor, if it
// `is_default`, by root in any folder of another user, or where nothing can be written:
// RK_PERMISSION_DENIED with the remedy. NULL where the store is there already.
RK_NODISCARD rk_err *rk_directory_check_place(const char *directory, bool is_default);

// Expands "~" and "~/…"; anything else is copied. `label` is for errors. Owned: rk_free.
RK_NODISCARD rk_err *rk_directory_expand_home(const char *label, const char *path, char **out_path);

// The same, and behind the working directory unless that is an absolute path. Owned: rk_free.
RK_NODISCARD rk_err *rk_directory_absolute(const char *label, const char *path, char **out_path);
