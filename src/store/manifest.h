// The manifest of a job, jobs/<job>/manifest (docs/format.md): the executables to prefetch when the
// job starts again, in order, with their compile options. It records the requests of the job's last
// runs. Each rank has its own manifest, so that ranks do not overwrite each other's manifests.
//
// A manifest is a hint. An executable that it names is looked up, checked and loaded as for any
// request, and given only to a request with exactly the same key. A manifest that is damaged,
// truncated or of another version counts as empty, and is replaced.
#pragma once

#include "store/store.h"

enum {
    RK_MANIFEST_MAX_USES = 4096,
    RK_MANIFEST_MAX_OPTIONS = 1024, // distinct compile options
    RK_MANIFEST_MAX_RUNS = 4,       // runs that are listed; older uses are removed
    RK_MANIFEST_RUN_MAX_CHARS = 128,
};
#define RK_MANIFEST_MAX_BYTES         ((size_t)32 << 20)
#define RK_MANIFEST_OPTIONS_MAX_BYTES ((size_t)1 << 20) // of one serialized message
// Limit for all compile options together. In the file, each of their bytes takes two hex digits.
#define RK_MANIFEST_ALL_OPTIONS_MAX_BYTES ((size_t)8 << 20)

// One request, which the job is expected to make in every run.
typedef struct rk_manifest_use {
    rk_key key;
    uint32_t client;     // index of the client, among the process's clients of that environment
    uint32_t occurrence; // index of the request, among that client's requests for this key
    uint64_t run;        // number of the last run that made the request
    uint64_t wanted_ns; // time of the request: since the client was created, without the time spent
                        // in earlier requests
    uint64_t load_ns;   // measured or estimated duration of the load; 0: not known
    uint64_t bytes;     // of the serialized executable; 0: not known
} rk_manifest_use;

typedef struct rk_manifest_options {
    rk_digest digest; // of the canonical options, as in a key
    rk_buf bytes;     // as the framework last sent them; owned
} rk_manifest_options;

typedef struct rk_manifest_run {
    uint64_t number; // counts the runs of the job, from 1
    char id[RK_MANIFEST_RUN_MAX_CHARS + 1];
} rk_manifest_run;

typedef struct rk_manifest {
    rk_manifest_use *uses; // owned; encoding sorts by client, then by wanted_ns
    size_t use_count, use_capacity;
    rk_manifest_options *options; // owned
    size_t options_count, options_capacity;
    rk_manifest_run runs[RK_MANIFEST_MAX_RUNS]; // the last runs, oldest first
    size_t run_count;
} rk_manifest;
void rk_manifest_cleanup(rk_manifest *manifest); // RK_AUTO(rk_manifest) manifest = {0};

// Returns the number of the run `id`. Adds the run as the latest if it is not among the last runs.
// An `id` longer than RK_MANIFEST_RUN_MAX_CHARS is truncated.
uint64_t rk_manifest_add_run(rk_manifest *manifest, const char *id);

// Returns the number of the latest run; 0 if there is none.
uint64_t rk_manifest_latest_run(const rk_manifest *manifest);

// Records a use and the compile options of its key, in place of an earlier record of the same
// request. Records nothing if a limit is reached. Fails only with RK_RESOURCE_EXHAUSTED.
RK_NODISCARD rk_err *rk_manifest_note(rk_manifest *manifest, const rk_manifest_use *use,
                                      rk_span options);

// Returns the compile options with that digest, as the framework sent them; empty if the manifest
// does not have them. Borrowed until the manifest changes.
rk_span rk_manifest_find_options(const rk_manifest *manifest, const rk_digest *digest);

// Adds the requests `seen` that one process made in the run `run_id`. Removes the uses that were
// last seen before the last RK_MANIFEST_MAX_RUNS runs.
RK_NODISCARD rk_err *rk_manifest_merge(rk_manifest *manifest, const char *run_id,
                                       const rk_manifest *seen);

// Sorts the uses, and appends the text of the file. Fails only with RK_RESOURCE_EXHAUSTED.
RK_NODISCARD rk_err *rk_manifest_encode(rk_manifest *manifest, rk_buf *out_data);

// Parses the text of a file. If `data` is not a manifest of this version, `*out_sound` is false and
// `out_manifest` is empty. Fails only with RK_RESOURCE_EXHAUSTED. `out_manifest` must be zeroed.
RK_NODISCARD rk_err *rk_manifest_decode(rk_span data, rk_manifest *out_manifest, bool *out_sound);

// Reads the manifest of a job and rank, or that of rank 0 if the rank has no file. Empty if there
// is no sound manifest. `out_manifest` must be zeroed. RK_INVALID_ARGUMENT if `job` cannot be the
// name of a folder. Otherwise the error of the file system.
RK_NODISCARD rk_err *rk_manifest_read(const rk_store *store, const char *job, uint32_t rank,
                                      rk_manifest *out_manifest);

// Reads the manifest, merges `seen` (rk_manifest_merge), and publishes it. A reader sees the
// complete old or new manifest. Several processes that update at once take turns. If the file
// system has no locks, or one process takes longer than a second, the requests of another process
// may be missing until that process updates again. Errors as for rk_store_put and rk_manifest_read;
// RK_FAILED_PRECONDITION if the file is not rekindle's own.
RK_NODISCARD rk_err *rk_manifest_update(rk_store *store, const char *job, uint32_t rank,
                                        const char *run_id, const rk_manifest *seen);
