// The reading side of the journal: a run directory parsed back into a model, for the CLI. Never
// part of the in-process libraries, since it links jansson (target rk_journal_read).
//
// Reading is tolerant: events and fields it does not know are passed over, a line that a killed
// process left half written or that is not a journal line is counted and skipped, and so is a line
// of a newer version. A run that is still going can be read at any time. Everything may block on
// the file system; nothing here is shared between threads.
#pragma once

#include <stdint.h>

#include "base/digest.h"
#include "journal/journal.h"
#include "journal/run_id.h"

// A digest as it stood in the journal: 64 hex digits, or "" if there was none.
typedef char rk_run_hex[RK_DIGEST_HEX_CHARS + 1];

// In all structs: text is owned by the model and never NULL ("" where the journal had none);
// durations and times are nanoseconds, times since 1970-01-01 UTC; `process` is an index into
// `processes`.

typedef struct rk_run_process {
    uint32_t rank;
    int64_t pid;
    char *file;           // name within the run directory, "0.jsonl"
    uint64_t file_bytes;  // its size when it was opened, which is before it was read,
    uint64_t modified_ns; // and its modification time
    bool names_run;       // its start event names the run whose directory it lies in
    char *host;
    char *executable;
    char *way_in; // "preload" or "plugin"
    char **argv;  // secrets were replaced by "***" when it was written
    size_t argc;
    uint64_t start_ns; // 0 if even the start event is missing
    uint64_t last_ns;  // of the last event
    bool ended;        // orderly: there is an "end" event; a killed or living process has none
    bool incomplete;   // a line could not be written, and nothing was after that
    uint64_t storing;  // executables that were to be stored,
    uint64_t stored;   // and those of which it is known what became of them
    rk_journal_counts counts;
    bool is_warm;             // it said that its warm-up was over,
    uint64_t warm_executions; // after so many executions
} rk_run_process;

typedef struct rk_run_client {
    size_t process;
    uint64_t time_ns;
    uint64_t client;    // number in the process, from 1
    bool ahead_of_time; // no client: a topology that something is compiled for
    char *plugin;       // path
    char *build_id;
    char *platform_name, *platform_version;
    int api_major, api_minor;
    uint64_t device_count, addressable_device_count;
    rk_run_hex environment;
    char *components_json; // as identity/components.h writes them; "" if there were none
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
    rk_run_source source; // where a hit came from
    char *reason;         // of a miss or bypass
    char *name;
    char *by_bytes; // why the fingerprint is of bytes, not of meaning; "" if it is not
    rk_run_hex key, program, options, environment;
    bool compiled, failed, deserialize_failed, quarantined;
    bool ahead_of_time, found;
    bool storing;       // the executable was to be stored
    bool late, refused; // after warm-up; and so not compiled (REKINDLE_STRICT)
    uint64_t request_ns, compile_ns, load_ns, saved_ns;
    uint64_t preload_ns; // loading it took that, before it was asked for
    uint64_t program_bytes;
    uint64_t executions; // of its process before the request's end
    bool has_executions; // false for the journals of older versions, which do not say
    uint64_t waited_ns;  // for somebody else to compile it
    char *waited_for;    // "host/pid" of that one
    char *wait_end;      // how the wait ended; "" if there was none
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

// Neighbouring steps, or executions that are in none (diagnose/steps/steps.h makes sense of them).
typedef struct rk_run_steps {
    size_t process;
    rk_journal_steps steps;
} rk_run_steps;

// How often a program was executed, at last.
typedef struct rk_run_executed {
    size_t process;
    rk_run_hex key;
    uint64_t executions; // of the process; a later one of the same key takes the place of this one
} rk_run_executed;

// The memory of one device, once.
typedef struct rk_run_memory {
    size_t process;
    uint64_t time_ns;
    uint64_t client;
    int64_t device; // its id
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
    char *differs; // what does, separated by ", "; "" if nothing
    char *reason;  // if it failed
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
    bool known; // false: it is still going, rekindle was killed as well, or nobody waited
    int64_t pid;
    char host[65];        // cut, if its name is longer
    int signal_number;    // that killed it; 0: none did,
    unsigned exit_status; // and this is what it left with
} rk_run_command;

// A plugin that has no client under watch, and why.
typedef struct rk_run_unwatched {
    size_t process;
    uint64_t time_ns;
    char *plugin; // path; "" if unknown
    char *reason;
} rk_run_unwatched;

// What came of loading ahead, summed over clients and processes.
typedef struct rk_run_prefetch {
    uint64_t listed, loaded, claimed, wasted;
    uint64_t load_ns, wasted_load_ns; // of all that was loaded; of what was loaded for nothing
} rk_run_prefetch;

typedef struct rk_run_model {
    char *run;
    char *job, *mode, *version; // of the first process that says so
    uint64_t start_ns;          // earliest start; 0 if no event could be read
    uint64_t last_ns;           // latest event of any process
    bool ended;                 // every process ended orderly (false for a run without any)

    rk_run_command command;

    rk_run_process *processes; // by rank; of a rank the first one first
    size_t process_count;
    rk_run_client *clients;
    size_t client_count;
    rk_run_compile *compiles; // by time
    size_t compile_count;
    rk_run_stored *stored;
    size_t stored_count;
    rk_run_steps *steps; // by process, then as they were written
    size_t step_count;
    rk_run_executed *executed; // the same
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

    uint64_t torn_lines;  // last lines without an end, of processes that were killed or still write
    uint64_t bad_lines;   // other lines that are no journal line
    uint64_t newer_lines; // of a version that this rekindle does not know
    uint64_t unknown_events; // of this version, but of a kind not known here
} rk_run_model;

// Whether a process that left no end is on this host and still there. False for all others.
bool rk_run_process_is_alive(const rk_run_process *process);

// Processes that left no end, are not alive, and are not the command: killed, or left by _exit.
size_t rk_run_count_unknown_ends(const rk_run_model *model);

// Processes whose journals lack lines, since a write failed: what they count is the least.
size_t rk_run_count_incomplete(const rk_run_model *model);

// Programs that were compiled and not stored, since their process was gone before that was done.
uint64_t rk_run_count_lost(const rk_run_model *model);
bool rk_run_is_lost(const rk_run_model *model, const rk_run_compile *compile); // this one

void rk_run_model_cleanup(
    rk_run_model *model); // frees and zeroes; RK_AUTO(rk_run_model) model = {0};

// Reads runs/<run>/*.jsonl. `run` is a whole run id (rk_run_find makes one of a prefix). Errors:
// RK_INVALID_ARGUMENT (no run id), RK_NOT_FOUND, RK_OUT_OF_RANGE (more than 4,194,304 events or
// 65,536 processes), or what the system said. `*out_model` must be zeroed; it is owned:
// rk_run_model_cleanup, also after an error.
RK_NODISCARD rk_err *rk_run_load(const char *store_directory, const char *run,
                                 rk_run_model *out_model);

typedef struct rk_run_item {
    const char *run; // borrowed for the visit
    uint64_t
        start_ns; // from the first line of its first file; else when the directory last changed
} rk_run_item;
// An error ends the walk and is passed on.
typedef rk_err *(*rk_run_visit_fn)(void *context, const rk_run_item *item);

// Visits every run, newest last (by start, then by name). No runs/ directory: no visits, no error.
RK_NODISCARD rk_err *rk_run_list(const char *store_directory, rk_run_visit_fn visit, void *context);

// The run that is meant: NULL is the newest, else a whole id or the beginning of exactly one.
// Errors, all with what to do: RK_NOT_FOUND, RK_INVALID_ARGUMENT (ambiguous: names two of them; or
// no run id at all).
// `*out_run` is owned: rk_free.
RK_NODISCARD rk_err *rk_run_find(const char *store_directory, const char *id_or_prefix,
                                 char **out_run);

// The counters of `rekindle stats --json`. hits + misses + bypassed is the number of compile
// events.
typedef struct rk_run_totals {
    uint64_t runs;     // how many were added
    uint64_t programs; // distinct program fingerprints over all of them
    uint64_t hits, misses, bypassed;
    uint64_t compiled;              // real calls of the plugin's compiler
    uint64_t fingerprint_fallbacks; // requests whose fingerprint is of bytes, not of meaning
    uint64_t deserialize_failures, preloaded, remote_hits, stored, quarantined;
    uint64_t not_stored;    // programs that were compiled and could not be stored
    uint64_t unusable;      // requests that found an entry, could not use it, and were compiled
    uint64_t ahead_of_time; // requests for a topology, without a client
    uint64_t found;         // those of them whose executable was in the store already
    uint64_t refused;       // requests after warm-up that REKINDLE_STRICT did not let compile
    uint64_t compile_ns;    // inside the plugin's compiler
    uint64_t load_ns;       // loading, also where it failed in the end
    uint64_t waited;        // requests that waited for somebody else to compile
    uint64_t waited_ns;     // and for how long
    // What the compilations that were avoided once took, less the loading and the waiting that
    // replaced them; never below 0. The sums it comes from stand beside it.
    uint64_t saved_ns, avoided_compile_ns, avoided_load_ns, avoided_waited_ns;
    uint64_t verified;           // hits that were compiled once more and compared
    uint64_t verify_differences; // those of them that were something else
    uint64_t verify_ns;          // what all that took, beside the job
    rk_run_prefetch preload;
    rk_journal_counts counts;
    char **warnings; // owned; each text once, in the order first seen
    size_t warning_count;
    struct rk_run_program_set *seen; // owned; which programs were counted
} rk_run_totals;

void rk_run_totals_cleanup(rk_run_totals *totals);

// Those of one run. `*out_totals` must be zeroed.
RK_NODISCARD rk_err *rk_run_totals_of(const rk_run_model *model, rk_run_totals *out_totals);

// Adds those of other runs, which differ from the ones in `totals`. `totals` starts zeroed.
RK_NODISCARD rk_err *rk_run_totals_join(rk_run_totals *totals, const rk_run_totals *more);

// Adds a run. `totals` starts zeroed and is right after every call.
RK_NODISCARD rk_err *rk_run_totals_add(rk_run_totals *totals, const rk_run_model *model);
