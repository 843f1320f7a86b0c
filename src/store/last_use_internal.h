// Records and reads the last use of an entry; private to src/store. The last use is the
// modification time of the entry's file. A put and a recorded use set this time; eviction and
// garbage collection only correct a time in the future. (Access times do not serve: backups change
// them, and most mounts do not update them on a read.) The file system's own clock sets the time,
// so that a process with a wrong clock does no harm.
//
// The file system's clock may jump. Then a file that was used a minute ago may look a year old. So
// a process that sets a last use also records a sample of that clock in usage/clock: its difference
// to the time since boot, which never jumps. Samples that differ show that the clock jumped. The
// age of a file is computed for the clock as it is now and for the clock of each sample; the
// smallest age counts.
#pragma once

#include <sys/stat.h>

#include "base/sys.h"
#include "store/store_path_internal.h"

// Records a use of an executable, and of its program; at most once in ten minutes per entry. Best
// effort. Does not sync to disk.
RK_HIDDEN void rk_last_use_touch(rk_store *store, const char *hex);

// Records a sample of the clock by which the entry was just written, unless usage/clock has it
// already. Best effort.
RK_HIDDEN void rk_last_use_sample_clock(rk_store *store, rk_entry_kind kind, const char *hex);

enum { RK_LAST_USE_MAX_SHIFTS = 64 };

typedef struct rk_last_use_clock {
    uint64_t now_ns; // by the file system's clock
    size_t shift_count;
    int64_t shifts_ns[RK_LAST_USE_MAX_SHIFTS]; // corrections for clocks that were wrong
} rk_last_use_clock;

// Reads usage/clock, and reads the file system's clock by creating a file. If the store is readonly
// or the disk is full, uses the process's own clock instead.
RK_HIDDEN RK_NODISCARD rk_err *rk_last_use_load_clock(const rk_store *store,
                                                      rk_last_use_clock *out_clock);

// The age of a time stamp; 0 for a stamp in the future.
RK_HIDDEN uint64_t rk_last_use_age(const rk_last_use_clock *clock, uint64_t stamp_ns);
// True if the stamp is more than a minute in the future.
RK_HIDDEN bool rk_last_use_is_future(const rk_last_use_clock *clock, uint64_t stamp_ns);

// Removes old samples from usage/clock if the file is large. Best effort. Called by eviction and
// garbage collection.
RK_HIDDEN void rk_last_use_trim_clock(const rk_store *store);
