// The usage account: the size of the store, known without listing the store; private to src/store.
// docs/format.md describes the files in usage/.
//
// usage/base records the files and bytes of each place at the last count. A process that adds or
// removes files appends lines to its own log, usage/log-…. Base and logs together give the sum. A
// process that evicts or collects garbage folds the logs into a new base, and counts again the
// folders that it visits. This corrects the sum after a crash, or after files were removed by hand.
// Only the limit of the store depends on the sum.
//
// A file that is being written counts as pending: from before its first byte until the writer
// records the result or dies. So a count that runs during a write makes the sum too high, never too
// low.
#pragma once

#include "store/store_path_internal.h"

// The places of the store, each counted separately: the 256 folders of each kind of entry, by the
// first byte of the key, and four other folders.
enum {
    RK_PLACE_EXECUTABLES = 0,
    RK_PLACE_PROGRAMS = 256,
    RK_PLACE_QUARANTINE = 512,
    RK_PLACE_RUNS,
    RK_PLACE_PLUGINS,
    RK_PLACE_JOBS,
    RK_PLACE_COUNT,
    RK_PLACE_PENDING = RK_PLACE_COUNT, // only in lines of logs: files that are being written
};

// Appends the name of a place: "objects/ab", "runs", ….
RK_HIDDEN void rk_place_add_name(unsigned place, rk_buf *out);
// The place of an entry. `hex` has at least two digits.
RK_HIDDEN unsigned rk_place_of(rk_entry_kind kind, const char *hex);

typedef struct rk_usage_count {
    int64_t files, bytes; // bytes: sum of st_size; negative for files that were removed
} rk_usage_count;

typedef struct rk_usage_table {
    rk_usage_count places[RK_PLACE_COUNT];
} rk_usage_table;

// Starts the usage account of a store that is open for writing, or changes its limit. `max_bytes`
// is the limit of the whole store; UINT64_MAX: no limit. The store owns the account.
RK_HIDDEN RK_NODISCARD rk_err *rk_usage_start(rk_store *store, uint64_t max_bytes);
// Closes the log of this process and frees the account. Does nothing without an account.
RK_HIDDEN void rk_usage_end(rk_store *store);
// The limit of the whole store; UINT64_MAX without a limit or without an account.
RK_HIDDEN uint64_t rk_usage_limit(const rk_store *store);

// rk_usage_refuse records that eviction found no space for an entry of this worth
// (store/evict_internal.h). For one minute, rk_usage_refuses returns true for an entry of the same
// or less worth. Both thread-safe.
RK_HIDDEN void rk_usage_refuse(rk_store *store, double worth);
RK_HIDDEN RK_NODISCARD bool rk_usage_refuses(rk_store *store, double worth);

// rk_usage_note_sum records a sum that was just read. For one second, and only while the sum is far
// below the limit, rk_usage_has_space returns true if `bytes` more fit without reading the sum
// again. Both thread-safe.
RK_HIDDEN void rk_usage_note_sum(rk_store *store, uint64_t sum_bytes);
RK_HIDDEN RK_NODISCARD bool rk_usage_has_space(rk_store *store, uint64_t bytes);

// Append changes, at one place or at many, to the log of this process. Do nothing without an
// account. Thread-safe.
RK_HIDDEN RK_NODISCARD rk_err *rk_usage_note(rk_store *store, unsigned place,
                                             rk_usage_count change);
// Ends the pending write that rk_usage_note recorded. `change` is the result of the write; all 0:
// no change.
RK_HIDDEN RK_NODISCARD rk_err *rk_usage_note_end(rk_store *store, rk_usage_count pending,
                                                 unsigned place, rk_usage_count change);
RK_HIDDEN RK_NODISCARD rk_err *rk_usage_note_table(rk_store *store, const rk_usage_table *changes);

typedef struct rk_usage_log {
    char *name;             // in usage/; owned
    uint64_t folded;        // the table and `pending` contain the lines before this byte
    rk_usage_count pending; // files that its writer is writing
    uint64_t modified_ns;   // of the file
    bool present, finished; // the file exists; its writer will not write again
} rk_usage_log;

// Base and logs, as read at one moment.
typedef struct rk_usage_state {
    bool known;            // false: no sound base; `table` is wrong until everything is counted
    rk_usage_table table;  // base and logs together
    uint64_t published_ns; // when the base was written, by the file system's clock
    rk_usage_log *logs;    // owned
    size_t log_count, log_capacity;
} rk_usage_state;

// The sum over all places and all pending files, at least 0. (A single place may be negative: a
// file that was counted elsewhere was moved to quarantine/, and then removed there.)
RK_HIDDEN rk_usage_count rk_usage_sum(const rk_usage_state *state);

// Reads base and logs. `out_state` is owned: rk_usage_state_free, which accepts NULL. The state is
// on the heap, since its table is too large for the stack of a thread of the job.
RK_HIDDEN RK_NODISCARD rk_err *rk_usage_read(const rk_store *store, rk_usage_state **out_state);
RK_HIDDEN void rk_usage_state_free(rk_usage_state *state);
RK_HIDDEN void rk_usage_state_cleanup(rk_usage_state **state);
#define RK_AUTO_USAGE __attribute__((cleanup(rk_usage_state_cleanup))) rk_usage_state *

// Marks these logs as finished: closed logs; logs of dead writers; and logs that were not changed
// for a day, if it is unknown whether the writer lives. `now_ns` is the time by the file system's
// clock. Returns the number of finished logs.
RK_HIDDEN size_t rk_usage_find_finished(rk_usage_state *state, uint64_t now_ns);

// Publishes the state as the new base, then removes the finished logs, which the base contains.
RK_HIDDEN RK_NODISCARD rk_err *rk_usage_publish(const rk_store *store, const rk_usage_state *state);

// As rk_usage_publish, but a full disk is no error: the old base and the logs stay as they are.
// Used by removals, which must succeed on a full disk. `out_published` may be NULL.
RK_HIDDEN RK_NODISCARD rk_err *
rk_usage_publish_if_space(const rk_store *store, const rk_usage_state *state, bool *out_published);

// Count one place, or all, by listing. Temporary files and foreign files do not count. A place that
// does not exist counts as empty.
RK_HIDDEN RK_NODISCARD rk_err *rk_usage_count_place(const rk_store *store, unsigned place,
                                                    rk_usage_count *out_count);
RK_HIDDEN RK_NODISCARD rk_err *rk_usage_count_all(const rk_store *store, rk_usage_table *out_table);

// "usage/NAME", a path for base/tree.h. Owned: rk_free. NULL if memory is short.
RK_HIDDEN RK_NODISCARD char *rk_usage_path(const char *name);
RK_HIDDEN RK_NODISCARD rk_err *rk_usage_make_folder(const rk_store *store); // usage/

// Only for usage*.c, and for own.c and marker.c, which recognize these files.

#define RK_USAGE_START "rekindle usage " // the base begins with this

// A log is named log-<serial>-<process>, with the process as rk_process_add_text writes it.
#define RK_USAGE_LOG_PREFIX "log-"
#define RK_USAGE_CLOSED     "closed\n" // the last line of a closed log

enum {
    RK_USAGE_MAX_LOGS = 4096,
    RK_USAGE_BASE_MAX_BYTES = 4 << 20,
};

// Write and parse the text of the base. Parsing returns false unless the text is complete and its
// digest is right.
RK_HIDDEN void rk_usage_write_base(const rk_usage_state *state, rk_buf *out);
RK_HIDDEN RK_NODISCARD bool rk_usage_parse_base(rk_span text, rk_usage_state *out_state);

// Write and parse one line: "objects/ab +1 +4096\n". `*out_used` is the length of the line with its
// newline; 0 if there is no complete line. Parsing returns false if the line is not
// understood; the caller may skip it.
RK_HIDDEN void rk_usage_write_line(unsigned place, rk_usage_count change, rk_buf *out);
RK_HIDDEN RK_NODISCARD bool rk_usage_parse_line(rk_span text, size_t *out_used, unsigned *out_place,
                                                rk_usage_count *out_change);

// Returns the log of that name, and adds it if it is missing. NULL if memory is short.
RK_HIDDEN RK_NODISCARD rk_usage_log *rk_usage_log_named(rk_usage_state *state, rk_span name);
