// What a job used when it last ran: jobs/<job>/manifest (docs/format.md), which says what to load
// when it starts again, in which order, and with which compile options. A job of several ranks has
// one for each, so that none waits for or spoils another's.
//
// A manifest is a hint: what it names is looked up, checked and loaded as any request would, and
// handed out to a request of exactly that key alone. One that is damaged, cut or of another version
// counts as empty, and is written anew.
#pragma once

#include "store/store.h"

enum {
    RK_MANIFEST_MAX_USES = 4096,
    RK_MANIFEST_MAX_OPTIONS = 1024, // distinct compile options
    RK_MANIFEST_MAX_RUNS = 4,       // what was not used in the last so many runs is forgotten
    RK_MANIFEST_RUN_MAX_CHARS = 128,
};
#define RK_MANIFEST_MAX_BYTES         ((size_t)32 << 20)
#define RK_MANIFEST_OPTIONS_MAX_BYTES ((size_t)1 << 20) // of one serialized message
// Of all of them: the file has two digits for each byte, and the uses.
#define RK_MANIFEST_ALL_OPTIONS_MAX_BYTES ((size_t)8 << 20)

// One request, as it comes again in every run.
typedef struct rk_manifest_use {
    rk_key key;
    uint32_t client;     // made to which of the process's clients of that environment, from 0
    uint32_t occurrence; // which of that client's requests for this key it was, from 0
    uint64_t run;        // number of the last run that made it
    uint64_t wanted_ns;  // after the client was made, less the time spent in earlier requests
    uint64_t load_ns;    // what loading took, or is thought to take; 0: not known
    uint64_t bytes;      // of the serialized executable; 0: not known
} rk_manifest_use;

typedef struct rk_manifest_options {
    rk_digest digest; // of the canonical options, as in a key
    rk_buf bytes;     // as the framework last sent them
} rk_manifest_options;

typedef struct rk_manifest_run {
    uint64_t number; // counts the runs of the job, from 1
    char id[RK_MANIFEST_RUN_MAX_CHARS + 1];
} rk_manifest_run;

typedef struct rk_manifest {
    rk_manifest_use *uses; // owned; by client, then by when they were wanted, once encoded or read
    size_t use_count, use_capacity;
    rk_manifest_options *options; // owned
    size_t options_count, options_capacity;
    rk_manifest_run runs[RK_MANIFEST_MAX_RUNS]; // the last ones, oldest first
    size_t run_count;
} rk_manifest;
void rk_manifest_cleanup(rk_manifest *manifest); // RK_AUTO(rk_manifest) manifest = {0};

// The number of that run; it becomes the latest, if it is not among the last ones yet. `id` is a
// run's id, of at most RK_MANIFEST_RUN_MAX_CHARS; a longer one is cut.
uint64_t rk_manifest_add_run(rk_manifest *manifest, const char *id);

// The number of the latest run; 0 if there was none.
uint64_t rk_manifest_latest_run(const rk_manifest *manifest);

// Takes note of a use, in place of what was known of it, and of the compile options of its key.
// What there is no room for is not noted. RK_RESOURCE_EXHAUSTED alone.
RK_NODISCARD rk_err *rk_manifest_note(rk_manifest *manifest, const rk_manifest_use *use,
                                      rk_span options);

// The options of a use as they came; empty if the manifest does not have them. Borrowed.
rk_span rk_manifest_find_options(const rk_manifest *manifest, const rk_digest *digest);

// Adds what one process saw, in the run of that id, to what is known, and forgets what was last
// used before the last RK_MANIFEST_MAX_RUNS.
RK_NODISCARD rk_err *rk_manifest_merge(rk_manifest *manifest, const char *run_id,
                                       const rk_manifest *seen);

// Sorts, and appends the file's bytes. RK_RESOURCE_EXHAUSTED alone.
RK_NODISCARD rk_err *rk_manifest_encode(rk_manifest *manifest, rk_buf *out_data);

// `*out_sound`: false where the bytes are no manifest of this version, which then is left empty.
// RK_RESOURCE_EXHAUSTED alone. `out_manifest` starts zeroed.
RK_NODISCARD rk_err *rk_manifest_decode(rk_span data, rk_manifest *out_manifest, bool *out_sound);

// Reads the manifest of a job and rank; where that rank has none, that of rank 0. Empty where there
// is none that is sound. Errors: what the file system said; RK_INVALID_ARGUMENT for a job that
// cannot be a folder's name. `out_manifest` starts zeroed.
RK_NODISCARD rk_err *rk_manifest_read(const rk_store *store, const char *job, uint32_t rank,
                                      rk_manifest *out_manifest);

// Reads, merges and publishes, so that a reader sees all of the old or all of the new one. Several
// processes that do it at once take turns; where the file system has no locks, or one of them takes
// longer than a second, some of what the others saw may be missing until they do it again. Errors
// as in rk_store_put.
RK_NODISCARD rk_err *rk_manifest_update(rk_store *store, const char *job, uint32_t rank,
                                        const char *run_id, const rk_manifest *seen);
