// Records the compile requests of this process, so that the next run can prefetch them. Merges the
// requests into a list, and has it written to the job's manifest (store/manifest.h).
//
// A background thread writes the list. After a request that may be missing from the manifest, the
// thread writes at once, because a process may leave by _exit or be killed. After other requests it
// writes a few seconds later. Once its writes have taken 200 ms in all, it pauses after each write
// for 20 times the write's duration, at most 10 seconds. rk_recorder_write and rk_recorder_end
// write as well, without a pause.
#pragma once

#include "store/manifest.h"

typedef struct rk_recorder rk_recorder; // thread-safe

typedef struct rk_recorder_options {
    // Writes all requests that this process has made so far: merges `seen` into the manifest.
    // Called by one thread at a time, on the recorder's thread or on that of rk_recorder_write or
    // rk_recorder_end. Requests can be noted meanwhile. The recorder drops the error. A failed
    // write is not repeated: the next write, after the next request, contains its requests.
    rk_err *(*write)(void *context, const rk_manifest *seen);
    void *context; // for `write`; borrowed while the recorder lives
} rk_recorder_options;

// One request that was answered.
typedef struct rk_recorder_request {
    uint64_t client; // its number, as for rk_recorder_add_client
    rk_key key;
    rk_span options;   // compile options as the framework sent them; borrowed for the call
    uint64_t start_ns; // start of the request, by rk_monotonic_ns
    uint64_t load_ns;  // measured or estimated duration of the load; 0: not known
    // Of the serialized executable. 0: compiled, not loaded. Then `load_ns` is an estimate, and a
    // measured duration in the manifest is kept.
    uint64_t bytes;
    // The next run may find the executable in the store. If false, the request is not recorded, but
    // its duration counts as time in requests.
    bool kept;
    bool listed; // the manifest has the request already, because it was prefetched
} rk_recorder_request;

// Makes a recorder; its thread starts with the first recorded request. Owned: rk_recorder_free.
RK_NODISCARD rk_err *rk_recorder_new(const rk_recorder_options *options,
                                     rk_recorder **out_recorder);

// Ends the recorder (rk_recorder_end) and frees it. For tests; a process that exits calls
// rk_recorder_end only. NULL is fine.
void rk_recorder_free(rk_recorder *recorder);

// Adds a client that was just created. `number` is unique in this process. Clients beyond a limit
// (64) are not recorded.
void rk_recorder_add_client(rk_recorder *recorder, uint64_t number, const rk_digest *environment);

// Returns the client's position, from 0, among the added clients with the same environment. False
// if the client was not added.
RK_NODISCARD bool rk_recorder_find_client(rk_recorder *recorder, uint64_t number,
                                          uint32_t *out_ordinal);

// Records a request that was just answered. Ignores requests of clients that were not added, and
// requests after rk_recorder_end. Of one client's requests for one key, records only the first 16.
// If memory is short, the request is not recorded. Never waits for a write.
void rk_recorder_note(rk_recorder *recorder, const rk_recorder_request *request);

// Writes the requests if one was recorded since the last write. May block for the duration of two
// writes: another thread's, and its own.
void rk_recorder_write(rk_recorder *recorder);

// Called at the end of the process: ends the thread, after its write in progress, and writes.
// Blocks without limit if `write` does. After this call, nothing is recorded or written.
void rk_recorder_end(rk_recorder *recorder);
