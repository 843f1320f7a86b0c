// Recognizes rekindle's own files in the store, by name and content; private to src/store.
//
// People point REKINDLE_DIR at folders with other files: runs/ is TensorBoard's default folder too.
// rekindle counts, removes and repairs only files that own.c recognizes. All other files are
// foreign. Add every new kind of file to own.c.
#pragma once

#include "base/sys.h"
#include "store/usage_internal.h"

// True if a regular file is rekindle's own or one of its temporary files. `path` is relative to the
// store; the file is in `place` (store/usage_internal.h). May read the first bytes of the file;
// false if they cannot be read. May block on the file system.
RK_HIDDEN RK_NODISCARD bool rk_own_file(const rk_store *store, unsigned place, const char *path,
                                        const struct stat *info);

// True if `name`, the name of a folder in runs/, has the form of a run id.
RK_HIDDEN RK_NODISCARD bool rk_own_run_name(const char *name);

RK_HIDDEN RK_NODISCARD bool rk_own_log_name(const char *name);   // a log in usage/
RK_HIDDEN RK_NODISCARD bool rk_own_claim_name(const char *name); // a claim in leases/
// True if the file begins as a lease does, or is empty.
RK_HIDDEN RK_NODISCARD bool rk_own_lease(const rk_store *store, const char *path);
// True if `name` is rekindle's own file in `folder`: usage, pins, leases or loads. For leases and
// for verdicts in loads/, also checks the first bytes of the file. For pins, also checks that the
// file is empty.
RK_HIDDEN RK_NODISCARD bool rk_own_other(const rk_store *store, const char *folder,
                                         const char *name, const struct stat *info);

// True if the file begins with these bytes, at most 128.
RK_HIDDEN RK_NODISCARD bool rk_own_begins(const rk_store *store, const char *path, rk_span start);

// True if `path` may be replaced: it does not exist, or it is rekindle's own file, which begins
// with the text `start`. A damaged file counts as rekindle's own if it is empty, begins with zeros,
// has most of `start` in place, or cannot be read because of the disk.
RK_HIDDEN RK_NODISCARD bool rk_own_may_replace(const rk_store *store, const char *path,
                                               const char *start);
// RK_FAILED_PRECONDITION, with the remedy, if `path` may not be replaced.
RK_HIDDEN RK_NODISCARD rk_err *rk_own_check_replace(const rk_store *store, const char *path,
                                                    const char *start);
