// The directory that a job's torch.compile uses. It has the same path at every start of the job on
// a machine: <base>/rekindle-<uid>/<job>-<16 digits>, where <base> is TMPDIR or /tmp. It exists
// only while the job runs; packs in the store keep what is in it (torch/packs.h).
//
// A lock file beside it tells whether a job uses it. The lock is inherited by the job's command, so
// that it is held as long as one of its processes may use the directory. The first start makes the
// directory anew, and so removes what a killed one has left. Starts at the same time share it. The
// last one removes it.
//
// Functions may block on the file system. Not thread-safe.
#pragma once

#include "base/buf.h"
#include "base/digest.h"

typedef struct rk_torch_directory {
    char *path;  // owned; absolute
    char *lock;  // owned; path of the lock file
    int fd;      // owned; of the directory; -1: not open
    int lock_fd; // owned; -1: not locked
    int job_fd;  // owned; a lock of its own, which the command inherits; -1: none
    bool is_new; // nobody else was using it
} rk_torch_directory;
void rk_torch_directory_cleanup(rk_torch_directory *directory); // closes; removes nothing

// Makes or joins the directory. While `out_directory->is_new`, others wait until
// rk_torch_directory_share. Errors name the path and the remedy: RK_PERMISSION_DENIED if another
// user owns it; RK_UNAVAILABLE if another start fills it for longer than `wait_ms`.
// `out_directory` is owned: rk_torch_directory_cleanup, also after an error.
RK_NODISCARD rk_err *rk_torch_directory_open(const char *base, const char *job,
                                             const rk_digest *identity, unsigned wait_ms,
                                             rk_torch_directory *out_directory);

// Lets other starts join. Call when the directory is filled.
void rk_torch_directory_share(rk_torch_directory *directory);

// After the job: true if nobody else uses the directory. Then nobody can join any more, until
// rk_torch_directory_remove or rk_torch_directory_cleanup.
RK_NODISCARD bool rk_torch_directory_claim(rk_torch_directory *directory);

// Removes the directory and its lock file. Only after rk_torch_directory_claim returned true, or
// while `is_new`. Best effort: the next start removes what stays.
void rk_torch_directory_remove(rk_torch_directory *directory);
