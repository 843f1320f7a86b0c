// What happened in a run: one JSON object a line, one file a process, appended with one write(2) a
// line, so that a killed process leaves whole lines behind. The fields of each event:
// docs/journal.md.
//
// This is the writing side, used inside the job; journal/read.h is the reading side, used by the
// CLI.
#pragma once

#include "base/json.h"
#include "identity/key.h"

typedef struct rk_journal rk_journal;

typedef struct rk_journal_start {
    const char *store_directory;
    const char *run;     // run id, or "" to make one
    const char *job;     // "" if unknown
    const char *mode;    // "readwrite", …
    const char *version; // rekindle's
    const char *way_in;  // "preload" or "plugin"
} rk_journal_start;

// Makes runs/<run>/<rank>.jsonl (a second process of the same rank: <rank>.<pid>.jsonl) and writes
// the "start" event (pid, host, argv, executable, rank). The rank is taken from RANK,
// JAX_PROCESS_ID, OMPI_COMM_WORLD_RANK, PMI_RANK, SLURM_PROCID, TPU_WORKER_ID, else 0.
// `out_journal` owned: rk_journal_close.
RK_NODISCARD rk_err *rk_journal_open(const rk_journal_start *start, rk_journal **out_journal);

// Writes nothing more; frees. NULL is fine.
void rk_journal_close(rk_journal *journal);
const char *rk_journal_run(const rk_journal *journal); // borrowed

// The rank of this process, as above.
uint32_t rk_journal_rank(void);

typedef enum rk_outcome {
    RK_OUTCOME_HIT,    // loaded, not compiled
    RK_OUTCOME_MISS,   // compiled, and to be stored
    RK_OUTCOME_BYPASS, // compiled; not to be kept, or rekindle could not take part
} rk_outcome;

typedef struct rk_journal_compile {
    uint64_t seq;    // number of the request in this process, from 1
    uint64_t client; // number of the client in this process, from 1
    rk_outcome outcome;
    const char *reason;      // miss or bypass: why; NULL for a hit. See docs/journal.md
    const char *name;        // program name, "" if unknown
    const char *by_bytes;    // why the fingerprint is of bytes, not of meaning; NULL if it is not
    const rk_key *key;       // NULL if none could be made
    bool compiled;           // the plugin's compiler was called
    bool failed;             // and gave an error to the framework
    bool deserialize_failed; // an entry was found and the plugin would not load it
    bool quarantined;        // an entry was set aside
    bool ahead_of_time;      // PJRT_Compile: for a topology, no client takes part
    bool late;               // compiled, or to be, after warm-up (REKINDLE_STRICT)
    bool refused;            // and therefore not compiled
    bool found;              // ahead of time: the executable was in the store already
    bool preloaded;          // a hit: it was loaded, or being loaded, before it was asked for
    bool storing;            // a miss: storing it has begun; a "stored" event says how that ended
    uint64_t request_ns;     // the whole request
    uint64_t compile_ns;     // inside the plugin's compiler
    uint64_t load_ns;        // read, verify, decompress, DeserializeAndLoad; within the request
    uint64_t preload_ns;     // preloaded: the same, ahead of the request
    uint64_t saved_ns;       // hit: what the compilation once took
    uint64_t program_bytes;
    uint64_t executions;    // of this process before the request's end
    uint64_t waited_ns;     // for somebody else to compile it; part of request_ns
    const char *waited_for; // "host/pid"; "" if not known
    const char *wait_end;   // how the wait ended; NULL if there was none. See docs/journal.md
} rk_journal_compile;
void rk_journal_add_compile(rk_journal *journal, const rk_journal_compile *event);

typedef struct rk_journal_stored {
    const rk_key *key;
    bool stored; // false: `reason` says why not
    const char *reason;
    uint64_t raw_bytes; // serialized executable
    uint64_t stored_bytes;
    uint64_t serialize_ns;
    uint64_t store_ns; // compress, write, sync, publish
} rk_journal_stored;
void rk_journal_add_stored(rk_journal *journal, const rk_journal_stored *event);

// What came of compiling a hit once more (REKINDLE_VERIFY).
typedef enum rk_verified {
    RK_VERIFIED_SAME,
    RK_VERIFIED_DIFFERENT,
    RK_VERIFIED_FAILED, // nothing could be compared
} rk_verified;

typedef struct rk_journal_verified {
    const rk_key *key;
    const char *name; // of the program, "" if unknown
    rk_verified outcome;
    const char *differs; // what does, separated by ", "; "" if nothing
    const char *reason;  // why nothing could be compared; NULL otherwise
    bool quarantined;    // the entry was set aside
    uint64_t verify_ns;
} rk_journal_verified;
void rk_journal_add_verified(rk_journal *journal, const rk_journal_verified *event);

typedef struct rk_journal_client {
    uint64_t client;
    bool ahead_of_time; // no client: a topology that something is compiled for
    const char *plugin; // path
    const char *build_id;
    rk_span platform_name, platform_version;
    int api_major, api_minor;
    size_t device_count, addressable_device_count;
    const rk_digest *environment; // NULL if it could not be made
    rk_span components_json;      // of the environment (identity/components.h); may be empty
} rk_journal_client;
void rk_journal_add_client(rk_journal *journal, const rk_journal_client *event);

// Totals since the start of the process; the last one counts.
typedef struct rk_journal_counts {
    uint64_t executions;
    uint64_t host_to_device, host_to_device_bytes;
    uint64_t device_to_host, device_to_host_bytes;
} rk_journal_counts;
void rk_journal_add_counts(rk_journal *journal, const rk_journal_counts *counts);

// Neighbouring steps of one rhythm (diagnose/steps/detect.h), or executions that are in no step.
typedef struct rk_journal_steps {
    uint32_t rhythm; // from 1; 0: no steps
    bool marked;     // the program said where they end
    uint64_t first_execution, executions;
    uint64_t steps;
    uint64_t programs;     // distinct ones, the most in one step
    uint64_t new_programs; // never executed before
    uint64_t compiles;
    rk_journal_counts transfers; // its executions are not looked at
} rk_journal_steps;
void rk_journal_add_steps(rk_journal *journal, const rk_journal_steps *steps);

// Warm-up is over after so many executions. `because`: the kind of REKINDLE_WARMUP; static.
void rk_journal_add_warm(rk_journal *journal, const char *because, uint64_t executions);

// How often programs were executed since the start of the process, in all.
typedef struct rk_journal_executed {
    rk_digest key;
    uint64_t executions;
} rk_journal_executed;
enum { RK_JOURNAL_EXECUTED_MAX = 256 }; // of one event
void rk_journal_add_executed(rk_journal *journal, const rk_journal_executed *programs,
                             size_t count);

// What a plugin may tell of a device's memory, in bytes. The names go into the journal.
typedef enum rk_memory_figure {
    RK_MEMORY_IN_USE,
    RK_MEMORY_PEAK,
    RK_MEMORY_LIMIT,
    RK_MEMORY_LARGEST_ALLOCATION,
    RK_MEMORY_RESERVED,
    RK_MEMORY_LARGEST_FREE_BLOCK,
    RK_MEMORY_FIGURES,
} rk_memory_figure;
const char *rk_memory_figure_name(rk_memory_figure figure); // "bytes_in_use", …; static
#define RK_MEMORY_UNKNOWN (-1)

// The memory of one device of this process.
typedef struct rk_journal_memory {
    uint64_t client;
    const char *when; // "start", "interval", "end"; static
    int device;       // its id
    rk_span name, kind;
    rk_span attributes_json;            // an object; may be empty
    const char *problem;                // why there are no figures; NULL: there are
    int64_t figures[RK_MEMORY_FIGURES]; // RK_MEMORY_UNKNOWN where the plugin does not say
} rk_journal_memory;
void rk_journal_add_memory(rk_journal *journal, const rk_journal_memory *event);

// What came of loading ahead for one client.
typedef struct rk_journal_prefetch {
    uint64_t client;
    uint64_t listed, loaded, claimed, waited, taken, wasted, failed, dropped;
    uint64_t load_ns, wasted_load_ns; // of all that was loaded; of what was loaded for nothing
    const char *stopped;              // why it ended early; NULL if it did not
} rk_journal_prefetch;
void rk_journal_add_prefetch(rk_journal *journal, const rk_journal_prefetch *event);

// A plugin that has no client under watch, and why. `plugin`: its path, "" if unknown.
void rk_journal_add_unwatched(rk_journal *journal, const char *plugin, const char *reason);
void rk_journal_add_warning(rk_journal *journal, const char *message);
void rk_journal_add_end(rk_journal *journal); // orderly exit

// What made the journal fall silent, told once: NULL if nothing did, or if it was told before.
// Owned. Thread-safe.
RK_NODISCARD rk_err *rk_journal_take_failure(rk_journal *journal);

// All rk_journal_add_… are thread-safe, never fail the caller, and do nothing on NULL. After the
// first write that fails the journal stays silent.
