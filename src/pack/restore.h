// Writes the files of a pack into the directory of a job.
#pragma once

#include "pack/pack.h"

// The sums of several restores.
typedef struct rk_pack_restored {
    uint64_t written, bytes; // files that were missing
    uint64_t present;        // files that were there, perhaps with another content
    uint64_t failed;         // files that are missing still, or may be
    bool is_full;            // the file system takes no more: restore nothing else into it
} rk_pack_restored;

// True if the file system takes nothing more: it is full or readonly.
bool rk_pack_restore_is_full(const rk_err *err);

// Writes the items that are missing, with their times and permissions; files that are there stay as
// they are. Each file appears with its whole content. Nothing is synced. `path` is the path of the
// directory, for errors. Goes on after a file that fails, unless the file system is full or
// readonly. Adds to `sums`. Returns the first error.
RK_NODISCARD rk_err *rk_pack_restore(int directory_fd, const char *path, const rk_pack_item *items,
                                     size_t count, rk_pack_restored *sums);
