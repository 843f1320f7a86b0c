// Stores the files of a directory that no pack of the job has.
#pragma once

#include "pack/files.h"
#include "pack/job.h"

// Stores new files in new packs, one or more for each module. A new pack takes over the files of
// smaller packs, which are then removed, so that a job has few packs and each file is in one;
// pinned packs stay. Packs that are marked as outdated are removed. Files that changed after
// `youngest_ns` are left out: they may still be written. Counts what it does. Only after
// rk_pack_job_learn. Returns the first error, after it has tried all modules.
RK_NODISCARD rk_err *rk_pack_keep(rk_pack_job *job, int directory_fd, const rk_pack_files *files,
                                  uint64_t youngest_ns);

// The same for one module.
RK_NODISCARD rk_err *rk_pack_keep_module(rk_pack_job *job, int directory_fd, rk_pack_module module,
                                         const rk_pack_files *files, uint64_t youngest_ns);

// True if a pack has this version of the file, by its time and size.
bool rk_pack_keep_is_known(const rk_pack_job *job, const rk_pack_file *file);
