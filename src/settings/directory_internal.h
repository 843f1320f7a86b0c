// Location of the store: REKINDLE_DIR or its default. Private to src/settings.
#pragma once

#include <stdbool.h>

#include "base/status.h"

// Returns the absolute path of the store. `written` is the value of REKINDLE_DIR; "" or NULL stands
// for the default. Errors: RK_INVALID_ARGUMENT (a URL, "~name/…", too long), RK_FAILED_PRECONDITION
// (no home directory found). `*out_directory` is owned: rk_free.
RK_NODISCARD rk_err *rk_directory_resolve(const char *written, char **out_directory);

// Checks whether a new store may be made at `directory`, an absolute path. NULL if it may, or if
// `directory` exists. RK_PERMISSION_DENIED, with the remedy, in these cases:
// - `directory` is in a home directory whose owner is neither the effective user nor root: the
//   store would lock the owner out;
// - `is_default` is true, the effective user is root, and the nearest existing folder belongs to
//   another user;
// - `is_default` is true, and the nearest existing folder is not writable.
RK_NODISCARD rk_err *rk_directory_check_place(const char *directory, bool is_default);

// Expands "~" and "~/…"; copies any other path. `label` is for errors. Owned: rk_free.
RK_NODISCARD rk_err *rk_directory_expand_home(const char *label, const char *path, char **out_path);

// As rk_directory_expand_home, and also makes a relative path absolute, from the working directory.
// Owned: rk_free.
RK_NODISCARD rk_err *rk_directory_absolute(const char *label, const char *path, char **out_path);
