// When an entry was last used; private to src/store. It is the modification time of its file, which
// nothing else changes (an access time would be: by backups, and by nobody on most mounts). It is
// set by the file system's own clock, so that a process with a clock of its own does no harm.
//
// Clocks jump, and then files look a year old that were used a minute ago. So whoever sets a time
// sees to it that usage/clock holds a sample of that clock: how far it is ahead of the time since
// boot, which never jumps. A file's age is then the least that any of these clocks makes it.
#pragma once

#include <sys/stat.h>

#include "base/sys.h"
#include "store/store_path_internal.h"

// Notes that the entry, and the program beside it, was used; at most once in ten minutes an entry.
// Best effort, and quick: it never waits for a disk.
RK_HIDDEN void rk_last_use_touch(rk_store *store, const char *hex);

// Notes the clock by which an entry was written just now, unless it is known already. Best effort.
RK_HIDDEN void rk_last_use_sample_clock(rk_store *store, rk_entry_kind kind, const char *hex);

enum { RK_LAST_USE_MAX_SHIFTS = 64 };

typedef struct rk_last_use_clock {
    uint64_t now_ns; // of the file system's clock
    size_t shift_count;
    int64_t shifts_ns[RK_LAST_USE_MAX_SHIFTS]; // what a clock that has been wrong must be moved by
} rk_last_use_clock;

// Reads usage/clock, and the file system's clock by making a file (the process's own clock where
// the store is read-only).
RK_HIDDEN RK_NODISCARD rk_err *rk_last_use_load_clock(const rk_store *store,
                                                      rk_last_use_clock *out_ages);

// The age of a time stamp. One of the future (by more than a minute) has age 0.
RK_HIDDEN uint64_t rk_last_use_age(const rk_last_use_clock *ages, uint64_t stamp_ns);
RK_HIDDEN bool rk_last_use_is_future(const rk_last_use_clock *ages, uint64_t stamp_ns);

// Keeps usage/clock small. Best effort; for whoever collects.
RK_HIDDEN void rk_last_use_trim_clock(const rk_store *store);
