// The packs that the store has of a job, and the files in them.
//
// For one thread. May block on the file system.
#pragma once

#include "pack/stored.h"

// A file that a pack has.
typedef struct rk_pack_known {
    char *name; // owned
    uint64_t bytes, modified_ns;
    rk_digest digest;
    size_t source;    // index of its pack
    bool is_replaced; // the job has changed it, and the new version is in a new pack
} rk_pack_known;

// A pack of the job.
typedef struct rk_pack_source {
    rk_pack pack;
    uint64_t bytes;     // of its files
    size_t count;       // of its files
    size_t superseded;  // files of which there is another version
    size_t missing;     // files that the directory lacks
    bool is_outdated;   // a start of mode refresh replaces it
    bool is_pinned;     // it stays as it is
    bool is_taken_over; // its files are in a new pack
    bool is_dropped;    // it was removed from the store
} rk_pack_source;

typedef struct rk_pack_job {
    rk_pack_place place;  // its members are borrowed
    rk_pack_known *known; // owned; files of the packs, sorted by name
    size_t known_count, known_capacity;
    uint64_t known_bytes;    // of the files of all packs
    rk_pack_source *sources; // owned; the packs
    size_t source_count;
    uint64_t damaged;          // packs that could not be used
    uint64_t kept, kept_bytes; // files that were stored (pack/keep.h)
    uint64_t listed;           // those, and files whose pack another start had stored
    uint64_t not_kept;         // files that could not be stored, or are too large
    bool (*must_stop)(void);   // set by the caller: ends the storing of files; NULL: never
} rk_pack_job;
void rk_pack_job_cleanup(rk_pack_job *job);

// Reads the packs that are listed and not known yet, and adds their files to the known ones. Counts
// damaged packs. Stops at 4 GiB of files.
RK_NODISCARD rk_err *rk_pack_job_learn(rk_pack_job *job);

// The file of that name, or NULL. Only after rk_pack_job_learn.
rk_pack_known *rk_pack_job_find(const rk_pack_job *job, const char *name);

// Lists the packs as outdated, without reading them: others are to replace them.
RK_NODISCARD rk_err *rk_pack_job_list_outdated(rk_pack_job *job);

// Nothing replaces the outdated packs: they count as those of any other start.
void rk_pack_job_forget_outdated(rk_pack_job *job);
