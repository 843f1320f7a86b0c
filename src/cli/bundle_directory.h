// A cache directory of torch.compile or JAX that `rekindle run` does not manage: its files go into
// the store before an export, and come out of it after an import.
#pragma once

#include "cli/bundle_plan.h"
#include "settings/settings.h"

typedef struct rk_bundle_directory_stored {
    const char *job;  // whose packs have the files: the one that was asked for, or static
    size_t too_large; // files that are larger than a pack may be
    rk_digest environments[RK_PACK_FAMILIES]; // of these packs
    size_t environment_count;
} rk_bundle_directory_stored;

// Stores the files of the directory as packs. They belong to the framework of `python`; NULL: of
// the Python in PATH. The directory is that of torch.compile or of JAX, or of both, as its files
// tell; `modules`, unless it is empty, names those that count. `job` NULL: a name for the
// framework. RK_NOT_FOUND if the directory has no such files or does not exist, or if that Python
// does not have the framework; RK_PERMISSION_DENIED if another user could have put files there.
RK_NODISCARD rk_err *rk_bundle_directory_store(const rk_settings *settings, const char *directory,
                                               const rk_opt_list *modules, const char *job,
                                               const char *python,
                                               rk_bundle_directory_stored *out_stored);

// Finds whose files of a plan belong into the directory, which may not exist. Writes nothing.
// RK_FAILED_PRECONDITION, with the remedy, if the plan has none, if those of two frameworks come
// into question, or if the directory holds files of the other framework. Files of JAX come only
// into a directory that is empty or has such files.
RK_NODISCARD rk_err *rk_bundle_directory_choose(const rk_bundle_plan *plan, const char *directory,
                                                rk_pack_family *out_family);

// Writes the files of the packs of a plan that are in the store into the directory, which is made
// if it does not exist. Files that are there stay. `*out_count`: the files written.
RK_NODISCARD rk_err *rk_bundle_directory_fill(rk_store *store, const rk_bundle_plan *plan,
                                              const char *directory, rk_pack_family family,
                                              size_t *out_count);
