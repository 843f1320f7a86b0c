// Writes the journal of a run: one file for each process, one JSON object for each line. Each line
// is appended with one write(2), so that a killed process leaves whole lines behind.
// docs/journal.md describes the fields of each event.
//
// This writing side runs inside the job. The reading side, journal/read.h, is used by the CLI.
//
// All rk_journal_add_… functions are thread-safe, report no errors, and do nothing on NULL. After
// the first failed write, the journal writes nothing more.
#pragma once

#include "base/json.h"
#include "identity/key.h"

typedef struct rk_journal rk_journal;

typedef struct rk_journal_start {
    const char *store_directory;
    const char *run;     // run id; "": one is made
    const char *job;     // "" if unknown
    const char *mode;    // "readwrite", …
    const char *version; // of rekindle
    const char *way_in;  // the entry path: "preload" or "plugin"
} rk_journal_start;

// Creates runs/<run>/<rank>.jsonl (for a second process of the same rank: <rank>.<pid>.jsonl) and
// writes the "start" event (pid, host, argv, executable, rank). The rank comes from RANK,
// JAX_PROCESS_ID, OMPI_COMM_WORLD_RANK, PMI_RANK, SLURM_PROCID or TPU_WORKER_ID, else it is 0.
// Errors: RK_INVALID_ARGUMENT (bad run id), no memory, or a file system error. Owned:
// rk_journal_close.
RK_NODISCARD rk_err *rk_journal_open(const rk_journal_start *start, rk_journal **out_journal);

// Closes the file and frees. Writes no event. NULL is fine.
void rk_journal_close(rk_journal *journal);
const char *rk_journal_run(const rk_journal *journal); // the run id; "" for NULL; borrowed

// The rank of this process, as for rk_journal_open.
uint32_t rk_journal_rank(void);

typedef enum rk_outcome {
    RK_OUTCOME_HIT,    // loaded, not compiled
    RK_OUTCOME_MISS,   // compiled, to be stored
    RK_OUTCOME_BYPASS, // compiled, not to be stored: not allowed, or there is no store or key
} rk_outcome;

typedef struct rk_journal_compile {
    uint64_t seq;    // number of the request in this process, from 1
    uint64_t client; // number of the client in this process, from 1
    rk_outcome outcome;
    const char *reason; // of a miss or bypass, see docs/journal.md; NULL for a hit
    const char *name;   // program name; "" if unknown
    // Why the fingerprint covers the program's bytes only; NULL if the program could be read.
    const char *by_bytes;
    const char *error;       // the message of a failed compilation; NULL: none
    const rk_key *key;       // NULL if none could be made
    bool compiled;           // the plugin's compiler was called
    bool failed;             // the framework got an error
    bool deserialize_failed; // an entry was found, and the plugin did not load it
    bool quarantined;        // an entry was moved to quarantine/
    bool ahead_of_time;      // AOT compilation (PJRT_Compile): for a topology, without a client
    bool late;               // a compilation after warm-up, with REKINDLE_STRICT set
    bool refused;            // REKINDLE_STRICT=fail: not compiled, because it is late
    bool found;              // AOT compilation: the executable was already in the store
    bool preloaded;          // hit: prefetched, or being prefetched when the request came
    bool storing;            // miss: storing has begun; a "stored" event has the result
    uint64_t request_ns;     // the whole request
    uint64_t compile_ns;     // inside the plugin's compiler
    uint64_t load_ns;        // read, verify, decompress, DeserializeAndLoad; within the request
    uint64_t preload_ns;     // `preloaded`: duration of the load in the background
    uint64_t saved_ns;       // hit: how long the compilation took when the entry was made
    uint64_t program_bytes;
    uint64_t executions;    // of this process, before the end of the request
    uint64_t waited_ns;     // wait for another thread or process to compile; part of request_ns
    const char *waited_for; // "host/pid"; "" if unknown
    const char *wait_end;   // how the wait ended, see docs/journal.md; NULL without a wait
} rk_journal_compile;
void rk_journal_add_compile(rk_journal *journal, const rk_journal_compile *event);

typedef struct rk_journal_stored {
    const rk_key *key;
    bool stored;
    const char *reason; // if not stored
    uint64_t raw_bytes; // of the serialized executable
    uint64_t stored_bytes;
    uint64_t serialize_ns;
    uint64_t store_ns; // compress, write, sync, publish
} rk_journal_stored;
void rk_journal_add_stored(rk_journal *journal, const rk_journal_stored *event);

// The result of a verification: a hit compiled once more (REKINDLE_VERIFY).
typedef enum rk_verified {
    RK_VERIFIED_SAME,
    RK_VERIFIED_DIFFERENT,
    RK_VERIFIED_FAILED, // no comparison was possible
} rk_verified;

typedef struct rk_journal_verified {
    const rk_key *key;
    const char *name; // of the program; "" if unknown
    rk_verified outcome;
    const char *differs; // the differing properties, separated by ", "; "" if none
    const char *reason;  // of RK_VERIFIED_FAILED; NULL otherwise
    bool quarantined;    // the entry was moved to quarantine/
    uint64_t verify_ns;
} rk_journal_verified;
void rk_journal_add_verified(rk_journal *journal, const rk_journal_verified *event);

typedef struct rk_journal_client {
    uint64_t client;
    bool ahead_of_time; // not a client, but a topology for AOT compilation
    const char *plugin; // path
    const char *build_id;
    rk_span platform_name, platform_version;
    int api_major, api_minor;
    size_t device_count, addressable_device_count;
    const rk_digest *environment; // NULL if it could not be computed
    rk_span components_json;      // of the environment (identity/components.h); may be empty
} rk_journal_client;
void rk_journal_add_client(rk_journal *journal, const rk_journal_client *event);

// Totals since the start of the process. A later event of a process replaces its earlier ones.
typedef struct rk_journal_counts {
    uint64_t executions;
    uint64_t host_to_device, host_to_device_bytes;
    uint64_t device_to_host, device_to_host_bytes;
} rk_journal_counts;
void rk_journal_add_counts(rk_journal *journal, const rk_journal_counts *counts);

// Consecutive similar steps (diagnose/steps/detect.h), or executions outside any step.
typedef struct rk_journal_steps {
    uint32_t rhythm; // number of the detected period, from 1; 0: outside any step
    bool marked;     // the program marks the end of its steps
    uint64_t first_execution, executions;
    uint64_t steps;
    uint64_t programs;     // distinct programs in one step, the maximum over these steps
    uint64_t new_programs; // programs executed for the first time
    // Distinct programs that the process executed before this range; 0: none, or not known.
    uint64_t programs_before;
    uint64_t compiles;
    uint64_t work;               // executions, weighted with the scores of their programs
    rk_journal_counts transfers; // `executions` is unused
} rk_journal_steps;
void rk_journal_add_steps(rk_journal *journal, const rk_journal_steps *steps);

// Records that warm-up ended after `executions` executions. `because`: the kind of REKINDLE_WARMUP;
// static.
void rk_journal_add_warm(rk_journal *journal, const char *because, uint64_t executions);

// How often one program was executed since the start of the process.
typedef struct rk_journal_executed {
    rk_digest key;
    uint64_t executions;
    uint64_t rounds; // rounds in which it was executed; a program that is no framework operation
                     // begins a round
} rk_journal_executed;
enum { RK_JOURNAL_EXECUTED_MAX = 256 }; // programs in one event
void rk_journal_add_executed(rk_journal *journal, const rk_journal_executed *programs,
                             size_t count);

// Memory figures that a plugin may report for a device, in bytes. The names go into the journal.
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
    int device;       // id of the device
    rk_span name, kind;
    rk_span attributes_json;            // an object; may be empty
    const char *problem;                // why there are no figures; NULL if there are
    int64_t figures[RK_MEMORY_FIGURES]; // RK_MEMORY_UNKNOWN if the plugin does not report it
} rk_journal_memory;
void rk_journal_add_memory(rk_journal *journal, const rk_journal_memory *event);

// The result of the prefetch for one client (rk_prefetcher_total in cache/prefetcher.h).
typedef struct rk_journal_prefetch {
    uint64_t client;
    uint64_t listed, loaded, claimed, waited, taken, wasted, failed, dropped;
    uint64_t load_ns, wasted_load_ns; // total for `loaded`; for `wasted`
    const char *stopped;              // why it ended early; NULL if it did not
} rk_journal_prefetch;
void rk_journal_add_prefetch(rk_journal *journal, const rk_journal_prefetch *event);

// Records that rekindle watches no client of a plugin, and the reason. `plugin`: path; "" if
// unknown.
void rk_journal_add_unwatched(rk_journal *journal, const char *plugin, const char *reason);
void rk_journal_add_warning(rk_journal *journal, const char *message);
void rk_journal_add_end(rk_journal *journal); // the process exits in an orderly way

// The first call after an error stopped the journal returns this error. All other calls return
// NULL. Owned by the caller. Thread-safe.
RK_NODISCARD rk_err *rk_journal_take_failure(rk_journal *journal);
