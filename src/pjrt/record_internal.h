// What this process asks its clients to compile, for the job's manifest (store/manifest.h), so that
// the next run can load it before it asks. Written by a thread of its own: at once after a
// request for what may not be in the manifest, since a process may leave by _exit; else a few
// seconds later; and at the end of a client and of the process. Inside src/pjrt only.
#pragma once

#include "pjrt/compile_internal.h"

// A client was made.
RK_HIDDEN void rk_record_client(const rk_client *client);

// Which of the process's clients of its environment it is, from 0. False for one that was not
// recorded.
RK_NODISCARD RK_HIDDEN bool rk_record_find_client(const rk_client *client, uint32_t *out_ordinal);

// A request was answered; it began at that time of rk_monotonic_ns.
RK_HIDDEN void rk_record_request(const rk_request *r, uint64_t start_ns);

// Writes what is not written yet. Best effort: a manifest is a hint.
RK_HIDDEN void rk_record_write(void);

// The process ends: the same, and nothing is recorded or written any more.
RK_HIDDEN void rk_record_end(void);
