// Which files of the store are rekindle's own, by name and content; private to src/store.
//
// People point REKINDLE_DIR at folders that hold other things: runs/ is TensorBoard's default too.
// Nothing is counted, removed or repaired that is not on the list in own.c. A new kind of file gets
// a line there.
#pragma once

#include "base/sys.h"
#include "store/usage_internal.h"

// True if the regular file `path` (below the store, in this place) is rekindle's own. Reads its
// first bytes. What cannot be read is not. May block on the file system.
RK_HIDDEN RK_NODISCARD bool rk_own_file(const rk_store *store, unsigned place, const char *path,
                                        const struct stat *info);

// True if an empty folder of runs/ has a name that only rekindle gives.
RK_HIDDEN RK_NODISCARD bool rk_own_run_name(const char *name);

// A file of usage/, pins/, leases/ or loads/, by its name in that folder: the name says enough but
// for a lease and a verdict in loads/, of which the content is looked at as well.
RK_HIDDEN RK_NODISCARD bool rk_own_log_name(const char *name);
RK_HIDDEN RK_NODISCARD bool rk_own_claim_name(const char *name);
RK_HIDDEN RK_NODISCARD bool rk_own_lease(const rk_store *store, const char *path);
RK_HIDDEN RK_NODISCARD bool rk_own_other(const rk_store *store, const char *folder,
                                         const char *name, const struct stat *info);

// True if the file begins with these bytes, at most 128.
RK_HIDDEN RK_NODISCARD bool rk_own_begins(const rk_store *store, const char *path, rk_span start);

// True if `path` may be written anew: nothing lies there, or a file of ours, which begins with the
// text `start`. A damaged one counts as ours: empty, full of zeros, with most of `start` in place,
// or one that the disk does not give back. Anything else is somebody else's.
RK_HIDDEN RK_NODISCARD bool rk_own_may_replace(const rk_store *store, const char *path,
                                               const char *start);
// RK_FAILED_PRECONDITION, with the remedy, if it may not.
RK_HIDDEN RK_NODISCARD rk_err *rk_own_check_replace(const rk_store *store, const char *path,
                                                    const char *start);
