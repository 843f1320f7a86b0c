// Names of temporary files, which tell later whether who wrote one still lives: a writer that was
// killed leaves its file behind, and somebody else must clean up without taking away a file that is
// being written.
//
//     .tmp-<process>-<16 random hex digits>
//
// with the process as in base/process.h. Until version 0.1 the process was its id alone.
#pragma once

#include "base/buf.h"

// Appends a name that no other writer uses, on no host. Thread-safe.
void rk_temporary_add_name(rk_buf *out);

// False for a name that merely begins as ours do: it is somebody else's.
RK_NODISCARD bool rk_temporary_is_name(const char *name);

// True if nobody writes to this temporary file any more: its writer is dead, or, where that cannot
// be known from here (another host, another container), it was not changed for
// RK_TEMPORARY_LATE_NS. `age_ns` is the time since then, by the clock of the file system.
#define RK_TEMPORARY_LATE_NS ((uint64_t)3600 * 1000000000)
RK_NODISCARD bool rk_temporary_is_abandoned(const char *name, uint64_t age_ns);
