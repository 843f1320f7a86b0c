// One start of a job with torch.compile: restores its caches before the job, and keeps what is new
// after it.
//
// Errors are not errors of the job: it runs without the part that failed. For one thread.
#pragma once

#include "torch/directory.h"
#include "torch/packs.h"

// What a start did. `bytes` are those of the files.
typedef struct rk_torch_counts {
    uint64_t restored, restored_bytes; // files of packs that were in the directory before the job
    uint64_t seeded;                   // files taken from the user's own directory
    uint64_t kept, kept_bytes;         // files that the job made or changed, and that were stored
    uint64_t not_kept;                 // such files that could not be stored
    uint64_t damaged;                  // packs that could not be used
    uint64_t restore_ns, keep_ns;
} rk_torch_counts;

typedef struct rk_torch_known rk_torch_known;
typedef struct rk_torch_source rk_torch_source;

typedef struct rk_torch_session {
    rk_torch_place place;         // its members are borrowed
    rk_torch_directory directory; // owned
    char *own;                    // owned; the user's own directory; or NULL
    uint64_t headers_since_ns;
    rk_torch_known *known; // owned; files of the packs, sorted by name
    size_t known_count, known_capacity;
    rk_torch_source *sources; // owned; the packs
    size_t source_count;
    rk_torch_counts counts;
} rk_torch_session;
void rk_torch_session_cleanup(rk_torch_session *session);

typedef struct rk_torch_options {
    const char *base; // folder of the directory: TMPDIR or /tmp
    // The user's own directory; or NULL. It is copied if the job has no packs, and it has the
    // precompiled headers.
    const char *seed;
    uint64_t headers_since_ns; // headers that are older are not of this torch
    bool restores;             // false: the job begins with an empty directory
} rk_torch_options;

// Makes the directory and restores the packs. After an error the session has no directory, and the
// job must run without it; a pack or a file that fails is only counted, and `*out_trouble` (owned;
// NULL: none) is the first such error. `out_session` must be zeroed but for `place`.
RK_NODISCARD rk_err *rk_torch_session_begin(rk_torch_session *session,
                                            const rk_torch_options *options, rk_err **out_trouble);

// After the job. Stores new files if `keeps`, and removes the directory if nobody else uses it.
// `was_killed`: a signal ended the job, so its youngest files may be incomplete.
RK_NODISCARD rk_err *rk_torch_session_end(rk_torch_session *session, bool keeps, bool was_killed);

// A file that a pack has.
struct rk_torch_known {
    char *name; // owned
    uint64_t bytes, modified_ns;
    rk_digest digest;
    size_t source;    // index of its pack
    bool is_replaced; // the job has changed it, and the new version is in a new pack
};

// A pack that was restored.
struct rk_torch_source {
    rk_torch_pack pack;
    uint64_t bytes;     // of its files
    size_t count;       // of its files
    size_t superseded;  // files of which there is another version
    bool is_taken_over; // its files are in a new pack
    bool is_dropped;    // it was removed from the store
};

// The file of that name, or NULL. Only after rk_torch_session_begin.
rk_torch_known *rk_torch_session_find(const rk_torch_session *session, const char *name);
