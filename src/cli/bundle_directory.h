// A cache directory of torch.compile that is not one of `rekindle run`: its files go into the store
// before an export, and come out of it after an import.
#pragma once

#include "cli/bundle_plan.h"
#include "settings/settings.h"

// Stores the files of the directory as packs of the job. They belong to the torch of `python`;
// NULL: of the Python in PATH. RK_NOT_FOUND if there is no such torch, or no directory;
// RK_PERMISSION_DENIED if another user could have put files there.
RK_NODISCARD rk_err *rk_bundle_directory_store(const rk_settings *settings, const char *directory,
                                               const char *job, const char *python);

// Writes the files of the packs of a plan that are in the store into the directory, which is made
// if it does not exist. Files that are there stay. `*out_count`: the files written.
RK_NODISCARD rk_err *rk_bundle_directory_fill(rk_store *store, const rk_bundle_plan *plan,
                                              const char *directory, size_t *out_count);
