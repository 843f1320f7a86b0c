// The directory that a job's torch.compile uses: <base>/<job>-<16 digits>, where <base> is
// RK_TORCH_BASE in the user's cache (rk_settings_cache). It has the same path at every start of the
// job on a machine. Like torch's own directory it stays: no start and no end of a job removes a
// file in it that is complete. Starts at the same time share it.
//
// A start of mode refresh makes a new directory, <job>-<16 digits>.2 and so on, and later starts
// use that one.
//
// A start holds a shared lock (flock) on the directory while its job runs, and sets the directory's
// time of modification. `rekindle gc` removes directories that no start used for 30 days.
//
// Functions may block on the file system. Not thread-safe.
#pragma once

#include "base/buf.h"
#include "base/digest.h"
#include "pack/files.h"

#define RK_TORCH_BASE "torch-compile" // name of <base>

typedef struct rk_torch_directory {
    char *path; // owned; absolute; NULL: none
    int fd;     // owned; holds the lock; -1: none
} rk_torch_directory;
void rk_torch_directory_cleanup(rk_torch_directory *directory); // closes; removes nothing

typedef struct rk_torch_directory_wish {
    const char *base; // absolute
    const char *job;
    const rk_digest *identity; // of the user's job, its environment and its store
    bool makes;                // the directory is made if there is none
    bool is_fresh;             // a new one is made
} rk_torch_directory_wish;

// Opens the directory, and locks it. Neither `makes` nor `is_fresh`: `out_directory->path` is NULL
// if there is none. Errors name the path and the remedy: RK_PERMISSION_DENIED if another user could
// write there; RK_FAILED_PRECONDITION if torch.compile cannot use such a path; RK_UNAVAILABLE if
// `rekindle gc` has been removing the directory for a second.
// `out_directory` is owned: rk_torch_directory_cleanup, also after an error.
RK_NODISCARD rk_err *rk_torch_directory_open(const rk_torch_directory_wish *wish,
                                             rk_torch_directory *out_directory);

// Fails, with the remedy, if a job that uses the directory would fail: nothing can be written into
// it, no library can be loaded from it, or its file system has no locks.
RK_NODISCARD rk_err *rk_torch_directory_check(const rk_torch_directory *directory);

// True if no other start uses the directory. Keeps the shared lock, and sets the directory's time.
RK_NODISCARD bool rk_torch_directory_is_alone(rk_torch_directory *directory);

// Removes the files among `files` that a killed job or a machine that lost its power has left
// unfinished: torch.compile loads a cut library, and the job dies. Only if no other start uses the
// directory, and only files that nobody changed for RK_TORCH_UNFINISHED_NS: on NFS, starts on other
// machines do not show. Best effort.
#define RK_TORCH_UNFINISHED_NS (UINT64_C(20) * 1000000000)
void rk_torch_directory_mend(rk_torch_directory *directory, const rk_pack_files *files);

typedef struct rk_torch_unused {
    const char *name; // of the directory; borrowed for the call
    uint64_t bytes;   // of the files in it
    uint64_t age_ns;  // since the last start
} rk_torch_unused;

// Removes the directories in `base` that no start used for RK_TORCH_UNUSED_NS, and that are not
// locked; `dry_run`: only reports. Calls `visit` for each. Best effort: the next call removes what
// stays. Waits for no lock.
#define RK_TORCH_UNUSED_NS (UINT64_C(30) * 24 * 3600 * 1000000000)
RK_NODISCARD rk_err *rk_torch_directories_collect(const char *base, bool dry_run,
                                                  void (*visit)(void *context,
                                                                const rk_torch_unused *unused),
                                                  void *context);
