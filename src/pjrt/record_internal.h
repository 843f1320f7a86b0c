// Passes this process's clients and compile requests to the recorder (cache/recorder.h), which
// writes them into the job's manifest, so that the next run can prefetch them. Used only inside
// src/pjrt.
#pragma once

#include "pjrt/request_internal.h"

// Makes the runtime's recorder. Without memory there is none: this run records nothing and
// prefetches nothing.
RK_HIDDEN void rk_record_start(rk_runtime *runtime);

// Called after a client was created, before rk_prefetch_begin, which needs the client's position.
RK_HIDDEN void rk_record_client(const rk_runtime *runtime, const rk_client *client);

// Returns the client's position, from 0, among the process's clients with the same environment.
// False if the client was not recorded.
RK_NODISCARD RK_HIDDEN bool rk_record_find_client(const rk_runtime *runtime,
                                                  const rk_client *client, uint32_t *out_ordinal);

// Called after a request was answered. `start_ns` is its start, by rk_monotonic_ns.
RK_HIDDEN void rk_record_request(const rk_request *r, uint64_t start_ns);

// Called at the end of a client. Writes the requests that are not in the manifest yet. Best effort:
// a manifest is a hint.
RK_HIDDEN void rk_record_write(const rk_runtime *runtime);

// Called at the end of the process. Writes the remaining requests. After this call, nothing is
// recorded or written.
RK_HIDDEN void rk_record_end(const rk_runtime *runtime);
