// Records this process's compile requests in the job's manifest (store/manifest.h), so that the
// next run can prefetch them. Used only inside src/pjrt.
//
// A background thread writes the manifest. After a request that may be missing from the manifest,
// the thread writes at once, because a process may leave by _exit. After other requests it writes a
// few seconds later. The end of a client and the end of the process write it as well.
#pragma once

#include "pjrt/request_internal.h"

// Called after a client was created.
RK_HIDDEN void rk_record_client(const rk_client *client);

// Returns the client's position, from 0, among the process's clients with the same environment.
// False if the client was not recorded.
RK_NODISCARD RK_HIDDEN bool rk_record_find_client(const rk_client *client, uint32_t *out_ordinal);

// Called after a request was answered. `start_ns` is its start, by rk_monotonic_ns.
RK_HIDDEN void rk_record_request(const rk_request *r, uint64_t start_ns);

// Writes the requests that are not in the manifest yet. Best effort: a manifest is a hint.
RK_HIDDEN void rk_record_write(void);

// Called at the end of the process. Writes the remaining requests. After this call, nothing is
// recorded or written.
RK_HIDDEN void rk_record_end(void);
