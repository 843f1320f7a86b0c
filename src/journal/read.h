// Reads the journals of a run into a model, for the CLI. Never part of the in-process libraries,
// because it links jansson (target rk_journal_read).
//
// Reading is tolerant. Unknown fields are ignored. Unknown events, lines of a newer version, lines
// that are not journal lines, and torn lines of killed processes are counted and skipped. A run can
// be read while it is still running. Functions may block on the file system and are not
// thread-safe.
#pragma once

#include <stdint.h>

#include "base/digest.h"
#include "journal/journal.h"
#include "journal/run_id.h"

// A digest from the journal: 64 hex digits, or "" if there was none.
typedef char rk_run_hex[RK_DIGEST_HEX_CHARS + 1];

// In all structs: text is owned by the model and never NULL ("" if the journal had none). Durations
// and times are in nanoseconds, times since 1970-01-01 UTC. `process` is an index into `processes`.

typedef struct rk_run_process {
    uint32_t rank;
    int64_t pid;
    char *file;           // name within the run directory, "0.jsonl"
    uint64_t file_bytes;  // size of the file when reading began
    uint64_t modified_ns; // modification time of the file at that moment
    bool names_run;       // the start event names the run of this directory
    char *host;
    char *executable;
    char *way_in; // the entry path: "preload" or "plugin"
    char **argv;  // secrets are "***" already in the journal
    size_t argc;
    uint64_t start_ns; // 0 if the start event is missing
    uint64_t last_ns;  // of the last event
    bool ended;        // there is an "end" event; a killed or running process has none
    bool incomplete;   // a line could not be written; the journal ends there
    uint64_t storing;  // executables whose storing began
    uint64_t stored;   // executables with a "stored" event, whether stored or not
    rk_journal_counts counts;
    bool is_warm;             // there is a "warm" event
    uint64_t warm_executions; // executions until then
} rk_run_process;

typedef struct rk_run_client {
    size_t process;
    uint64_t time_ns;
    uint64_t client;    // number in the process, from 1
    bool ahead_of_time; // not a client, but a topology for AOT compilation
    char *plugin;       // path
    char *build_id;
    char *platform_name, *platform_version;
    int api_major, api_minor;
    uint64_t device_count, addressable_device_count;
    rk_run_hex environment;
    char *components_json; // as written by identity/components.h; "" if there were none
} rk_run_client;

typedef enum rk_run_source {
    RK_RUN_SOURCE_LOCAL,
    RK_RUN_SOURCE_PREFETCH,
    RK_RUN_SOURCE_REMOTE
} rk_run_source;

typedef struct rk_run_compile {
    size_t process;
    uint64_t time_ns; // of the end of the request
    uint64_t seq, client;
    rk_outcome outcome;
    rk_run_source source; // of a hit
    char *reason;         // of a miss or bypass
    char *name;
    // Why the fingerprint covers the program's bytes only; "" if the program could be read.
    char *by_bytes;
    char *error; // the message of a failed compilation; "" if there is none
    rk_run_hex key, program, options, environment;
    bool compiled, failed, deserialize_failed, quarantined;
    bool ahead_of_time, found;
    bool storing; // storing the executable began
    bool late,
        refused; // with REKINDLE_STRICT: a compilation after warm-up; refused for this reason
    uint64_t request_ns, compile_ns, load_ns, saved_ns;
    uint64_t preload_ns; // prefetched: duration of the load in the background
    uint64_t program_bytes;
    uint64_t executions; // of the process, before the end of the request
    bool has_executions; // false: written by an older version, without `executions`
    uint64_t waited_ns;  // wait for another thread or process to compile
    char *waited_for;    // its "host/pid"
    char *wait_end;      // how the wait ended; "" without a wait
} rk_run_compile;

typedef struct rk_run_stored {
    size_t process;
    uint64_t time_ns;
    rk_run_hex key, program;
    bool stored;
    char *reason; // if not stored
    uint64_t raw_bytes, stored_bytes;
    uint64_t serialize_ns, store_ns;
} rk_run_stored;

// Consecutive similar steps, or executions outside any step (diagnose/steps/steps.h merges them).
typedef struct rk_run_steps {
    size_t process;
    rk_journal_steps steps;
} rk_run_steps;

// How often a process had executed a program when it wrote the event.
typedef struct rk_run_executed {
    size_t process;
    rk_run_hex key;
    uint64_t executions; // a later item of the same process and key replaces this one
    uint64_t rounds;     // as in rk_journal_executed; 0: not known
} rk_run_executed;

// One report of a device's memory.
typedef struct rk_run_memory {
    size_t process;
    uint64_t time_ns;
    uint64_t client;
    int64_t device; // id of the device
    char *when;
    char *name, *kind;
    char *attributes_json; // an object; "" if there were none
    char *problem;         // why there are no figures; "" if there are
    int64_t figures[RK_MEMORY_FIGURES];
} rk_run_memory;

typedef struct rk_run_verified {
    size_t process;
    uint64_t time_ns;
    rk_run_hex key, program;
    rk_verified outcome;
    char *name;
    char *differs; // the differing properties, separated by ", "; "" if none
    char *reason;  // of RK_VERIFIED_FAILED
    bool quarantined;
    uint64_t verify_ns;
} rk_run_verified;

typedef struct rk_run_warning {
    size_t process;
    uint64_t time_ns;
    char *message;
} rk_run_warning;

// How the command of `rekindle run` ended.
typedef struct rk_run_command {
    bool known; // false: it still runs, or `rekindle run` was also killed, or was not used
    int64_t pid;
    char host[65];        // a longer name is cut
    int signal_number;    // the signal that killed it; 0: none
    unsigned exit_status; // valid if no signal killed it
} rk_run_command;

// A plugin of which rekindle watches no client, and the reason.
typedef struct rk_run_unwatched {
    size_t process;
    uint64_t time_ns;
    char *plugin; // path; "" if unknown
    char *reason;
} rk_run_unwatched;

// What `rekindle run` did with torch.compile's caches, summed over the starts of the run.
typedef struct rk_run_torch {
    uint64_t starts;                   // 0: the run did nothing with them
    uint64_t restored, restored_bytes; // files of the store that were written before the job
    uint64_t present;                  // files of the store that the directory had already
    uint64_t not_restored;             // files of the store that could not be written
    uint64_t made; // files that the job made; of starts that share a directory, the most
    uint64_t kept, kept_bytes; // new files that were stored
    uint64_t not_kept;         // new files that could not be stored
    uint64_t damaged;          // packs that could not be used
    uint64_t restore_ns, keep_ns;
} rk_run_torch;

// Results of the prefetch, summed over clients and processes.
typedef struct rk_run_prefetch {
    uint64_t listed, loaded, claimed, wasted;
    uint64_t load_ns, wasted_load_ns; // total for `loaded`; for `wasted`
} rk_run_prefetch;

typedef struct rk_run_model {
    char *run;
    char *job, *mode, *version; // of the first process that has them
    uint64_t start_ns;          // earliest start; 0 if there is no start event
    uint64_t last_ns;           // latest event of any process
    bool ended;                 // every process has an "end" event; false without processes

    rk_run_command command;
    rk_run_torch torch;
    char *torch_why; // why torch.compile's caches were left alone; NULL: not said

    rk_run_process *processes; // by rank; the first process of a rank first
    size_t process_count;
    rk_run_client *clients;
    size_t client_count;
    rk_run_compile *compiles; // by time
    size_t compile_count;
    rk_run_stored *stored;
    size_t stored_count;
    rk_run_steps *steps; // by process, then in the order written
    size_t step_count;
    rk_run_executed *executed; // by process, then in the order written
    size_t executed_count;
    rk_run_memory *memories; // by process, then time
    size_t memory_count;
    rk_run_verified *verified;
    size_t verified_count;
    rk_run_warning *warnings;
    size_t warning_count;
    rk_run_unwatched *unwatched;
    size_t unwatched_count;
    rk_journal_counts counts; // summed over processes
    rk_run_prefetch preload;

    uint64_t torn_lines;     // unfinished last lines of processes that were killed or still write
    uint64_t bad_lines;      // other lines that are not journal lines
    uint64_t newer_lines;    // lines of a newer format version
    uint64_t unknown_events; // of a known version, but of an unknown kind
} rk_run_model;

// True if the process has no "end" event and is alive on this host.
bool rk_run_process_is_alive(const rk_run_process *process);

// Counts processes that were killed or ended by _exit: their journal is complete but has no "end"
// event, they are not alive, and they are not the command of the run.
size_t rk_run_count_unknown_ends(const rk_run_model *model);

// Counts processes whose journals lack lines because a write failed: their counters are lower
// bounds.
size_t rk_run_count_incomplete(const rk_run_model *model);

// Counts executables that were compiled but not stored, because their process ended first.
uint64_t rk_run_count_lost(const rk_run_model *model);

// Programs that the compiler refused. They count as compiled in rk_run_totals.
typedef struct rk_run_failures {
    uint64_t count;
    uint64_t compile_ns; // inside the compiler
} rk_run_failures;

rk_run_failures rk_run_count_failed(const rk_run_model *model);

// Returns how many hits were for a program that the same run had compiled earlier.
uint64_t rk_run_count_repeated(const rk_run_model *model);

// Returns how many hits were for a program that the same process had compiled or loaded earlier.
uint64_t rk_run_count_again(const rk_run_model *model);

// True if the executable of `compile` was not stored, because its process ended first.
bool rk_run_is_lost(const rk_run_model *model, const rk_run_compile *compile);

// Frees and zeroes. Use: RK_AUTO(rk_run_model) model = {0};
void rk_run_model_cleanup(rk_run_model *model);

// Reads runs/<run>/*.jsonl. `run` is a complete run id (rk_run_find completes a prefix).
// `*out_model` must be zeroed; it is owned: rk_run_model_cleanup, also after an error. Errors:
// RK_INVALID_ARGUMENT (not a run id), RK_NOT_FOUND, RK_OUT_OF_RANGE (more than 4,194,304 events or
// 65,536 processes), or a system error.
RK_NODISCARD rk_err *rk_run_load(const char *store_directory, const char *run,
                                 rk_run_model *out_model);

typedef struct rk_run_item {
    const char *run; // borrowed for the visit
    // From the first line of the run's first file; else the directory's modification time.
    uint64_t start_ns;
} rk_run_item;
// An error ends the visits and is returned.
typedef rk_err *(*rk_run_visit_fn)(void *context, const rk_run_item *item);

// Visits every run, the newest last (by start, then by name). Without a runs/ directory there are
// no visits and no error.
RK_NODISCARD rk_err *rk_run_list(const char *store_directory, rk_run_visit_fn visit, void *context);

// Finds a run by its complete id or by a prefix of exactly one id; NULL: the newest run. `*out_run`
// is owned: rk_free. Errors, with a remedy in the message: RK_NOT_FOUND, RK_INVALID_ARGUMENT (an
// ambiguous prefix: the message names two of the runs; or not a run id).
RK_NODISCARD rk_err *rk_run_find(const char *store_directory, const char *id_or_prefix,
                                 char **out_run);

// The counters of `rekindle stats --json`. hits + misses + bypassed is the number of "compile"
// events.
typedef struct rk_run_totals {
    uint64_t runs;     // number of runs added
    uint64_t programs; // distinct programs of all runs
    uint64_t hits, misses, bypassed;
    uint64_t compiled;              // real calls of the plugin's compiler
    uint64_t failed, failed_ns;     // of these: those that failed, and their time
    uint64_t failed_bypassed;       // of the failed ones: those that were bypassed
    uint64_t fingerprint_fallbacks; // requests whose fingerprint covers the program's bytes only
    uint64_t deserialize_failures, preloaded, remote_hits, stored, quarantined;
    uint64_t not_stored;    // executables that were compiled and could not be stored
    uint64_t unusable;      // requests without a hit whose entry was found but could not be used
    uint64_t ahead_of_time; // requests for AOT compilation
    uint64_t found;         // of these: the executable was already in the store
    uint64_t refused;       // requests after warm-up that REKINDLE_STRICT refused to compile
    uint64_t compile_ns;    // inside the plugin's compiler
    uint64_t load_ns;       // loading, including failed loads
    uint64_t waited;        // requests that waited for another thread or process to compile
    uint64_t waited_ns;     // total of these waits
    // Net time saved by hits: avoided_compile_ns - avoided_load_ns - avoided_waited_ns, never below
    // 0. These are, for all hits, the original compile time, the load time and the wait time.
    uint64_t saved_ns, avoided_compile_ns, avoided_load_ns, avoided_waited_ns;
    uint64_t verified;           // hits that were compiled once more and compared
    uint64_t verify_differences; // of these: the result was different
    uint64_t verify_ns;          // total time of verifications, in the background
    rk_run_prefetch preload;
    rk_run_torch torch;
    rk_journal_counts counts;
    char **warnings; // owned; each text once, in order of first appearance
    size_t warning_count;
    struct rk_run_program_set *seen; // owned; the programs counted so far
} rk_run_totals;

void rk_run_totals_cleanup(rk_run_totals *totals);

// Computes the totals of one run. `*out_totals` must be zeroed; owned: rk_run_totals_cleanup.
RK_NODISCARD rk_err *rk_run_totals_of(const rk_run_model *model, rk_run_totals *out_totals);

// Adds the totals of other runs, none of which is in `totals` yet. `totals` starts zeroed.
RK_NODISCARD rk_err *rk_run_totals_join(rk_run_totals *totals, const rk_run_totals *more);

// Adds one run. `totals` starts zeroed and is valid after every successful call.
RK_NODISCARD rk_err *rk_run_totals_add(rk_run_totals *totals, const rk_run_model *model);
