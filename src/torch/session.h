// One start of a job with torch.compile: restores its caches before the job, and keeps what is new
// after it.
//
// Errors are not errors of the job: it runs without the part that failed. For one thread.
#pragma once

#include "pack/files.h"
#include "pack/job.h"
#include "torch/directory.h"

// What a start did. `bytes` are those of the files.
typedef struct rk_torch_counts {
    uint64_t restored, restored_bytes; // files of packs that were written before the job
    uint64_t present;                  // files of packs that the directory had already
    uint64_t not_restored;             // files of packs that are missing in the directory
    uint64_t made;                     // files that appeared or changed while the job ran
    uint64_t kept, kept_bytes;         // files that this start stored
    uint64_t not_kept;                 // files that could not be stored, or are too large
    uint64_t damaged;                  // packs that could not be used
    uint64_t restore_ns, keep_ns;
} rk_torch_counts;

typedef struct rk_torch_session {
    rk_pack_job packs;            // its place is set by the caller
    rk_torch_directory directory; // owned
    char *own;                    // owned; torch's own directory, with the headers; or NULL
    uint64_t headers_since_ns;
    rk_pack_files before; // owned; the files of the directory when the job begins
    bool restores;
    rk_torch_counts counts;
} rk_torch_session;
void rk_torch_session_cleanup(rk_torch_session *session);

typedef struct rk_torch_options {
    const char *base;          // folder of the directory (torch/directory.h)
    const char *store;         // path of the store: jobs of two stores have two directories
    const char *own;           // torch's own directory, which has the precompiled headers; or NULL
    uint64_t headers_since_ns; // headers that are older are not of this torch
    bool restores;             // false: the job begins with an empty directory (mode refresh)
    bool keeps;                // what is new can be stored
} rk_torch_options;

// Opens the directory and restores what is missing. `session->directory.path` is NULL afterwards if
// the directory would not help: nothing can be stored, and there is nothing to restore. Then, and
// after an error, the job must run without the directory. A pack or a file that fails is only
// counted, and `*out_trouble` (owned; NULL: none) is the first such error. Holds one pack in memory
// at a time. Restores nothing if that leaves less than a quarter of the file system free, unless it
// needs less than a sixteenth of what is free. Fails if the job could not use the directory
// (rk_torch_directory_check). `session` must be zeroed but for `packs.place`; owned:
// rk_torch_session_cleanup.
RK_NODISCARD rk_err *rk_torch_session_begin(rk_torch_session *session,
                                            const rk_torch_options *options, rk_err **out_trouble);

typedef enum rk_torch_end {
    RK_TORCH_SUCCEEDED, // exit status 0
    RK_TORCH_FAILED,
    RK_TORCH_KILLED, // by a signal: the youngest files may be incomplete
} rk_torch_end;

// After the job. Counts what it made, and stores new files if `keeps`. Removes nothing. Only if
// the session has a directory. `session->packs.must_stop` is asked before each file is read: once
// it returns true, the rest is left for the next start (RK_CANCELLED).
RK_NODISCARD rk_err *rk_torch_session_end(rk_torch_session *session, bool keeps, rk_torch_end how);
