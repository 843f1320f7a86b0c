// Names of temporary files. A name contains the identity of its writer. A killed writer leaves its
// file behind, and another process must be able to remove it without removing files that are still
// being written.
//
//     .tmp-<process>-<16 random hex digits>
//
// <process> is the text of base/process.h. Up to version 0.1, <process> was the process id alone.
#pragma once

#include "base/buf.h"

// Appends a name that no other writer on any host uses. Thread-safe.
void rk_temporary_add_name(rk_buf *out);

// True for a name in this format, or in that of version 0.1. A file with the same prefix but
// another format belongs to another program.
RK_NODISCARD bool rk_temporary_is_name(const char *name);

// True if no process writes to this temporary file any more. Either its writer is dead, or the
// state of the writer is unknown (another host, another container) and the file has not changed for
// RK_TEMPORARY_LATE_NS. `age_ns` is the time since its last change, by the clock of the file
// system.
#define RK_TEMPORARY_LATE_NS ((uint64_t)3600 * 1000000000)
RK_NODISCARD bool rk_temporary_is_abandoned(const char *name, uint64_t age_ns);
