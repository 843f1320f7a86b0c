// How much the store holds, known without listing it; private to src/store. docs/format.md has the
// files.
//
// usage/base says what each place held when it was last counted. Whoever adds or removes something
// appends a line to a log of its own, usage/log-…, so that base and logs together give the sum. Who
// evicts or collects folds the logs into a new base and counts again what it visits anyway: what
// was lost (a crash, files removed by hand) is found then. Nothing but the cap depends on the sum.
//
// What is being written counts from before its first byte, as pending of its writer, and as long as
// the writer lives: however a count falls together with a write, the sum is too high rather than
// too low.
#pragma once

#include "store/store_path_internal.h"

// Where files lie: the 256 folders of each kind of entry, by the first byte of the key, and the
// rest.
enum {
    RK_PLACE_EXECUTABLES = 0,
    RK_PLACE_PROGRAMS = 256,
    RK_PLACE_QUARANTINE = 512,
    RK_PLACE_RUNS,
    RK_PLACE_PLUGINS,
    RK_PLACE_JOBS,
    RK_PLACE_COUNT,
    RK_PLACE_PENDING = RK_PLACE_COUNT, // in lines of logs only: what is being written
};

// "objects/ab", "runs", …: appended to `out`.
RK_HIDDEN void rk_place_add_name(unsigned place, rk_buf *out);
RK_HIDDEN unsigned rk_place_of(rk_entry_kind kind, const char *hex);

typedef struct rk_usage_count {
    int64_t files, bytes; // sums of st_size; signed, since logs also say what went
} rk_usage_count;

typedef struct rk_usage_table {
    rk_usage_count places[RK_PLACE_COUNT];
} rk_usage_table;

// Begins to keep account of a store that is open for writing. `max_bytes`: what it may hold;
// UINT64_MAX for no limit. Owned by the store.
RK_HIDDEN RK_NODISCARD rk_err *rk_usage_start(rk_store *store, uint64_t max_bytes);
// Closes the log of this process. NULL is fine.
RK_HIDDEN void rk_usage_end(rk_store *store);
// What the store may hold; UINT64_MAX where there is no limit, or no account.
RK_HIDDEN uint64_t rk_usage_limit(const rk_store *store);

// Remembers, for a minute, that nothing could go for something of this worth
// (store/evict_internal.h); and says whether that is so for another. Thread-safe.
RK_HIDDEN void rk_usage_refuse(rk_store *store, double worth);
RK_HIDDEN RK_NODISCARD bool rk_usage_refuses(rk_store *store, double worth);

// Takes note of a sum that was just read; and says whether, as far as is known from that, `bytes`
// fit so easily that it need not be read again. For a second, and only far below the limit. Both
// thread-safe.
RK_HIDDEN void rk_usage_note_sum(rk_store *store, uint64_t sum_bytes);
RK_HIDDEN RK_NODISCARD bool rk_usage_has_space(rk_store *store, uint64_t bytes);

// Appends what changed, at one place or at many, to the log of this process. Nothing where no
// account is kept. Thread-safe.
RK_HIDDEN RK_NODISCARD rk_err *rk_usage_note(rk_store *store, unsigned place,
                                             rk_usage_count change);
// The end of something pending: `change` is what became of it, all 0 for nothing.
RK_HIDDEN RK_NODISCARD rk_err *rk_usage_note_end(rk_store *store, rk_usage_count pending,
                                                 unsigned place, rk_usage_count change);
RK_HIDDEN RK_NODISCARD rk_err *rk_usage_note_table(rk_store *store, const rk_usage_table *changes);

typedef struct rk_usage_log {
    char *name;             // in usage/; owned
    uint64_t folded;        // its lines up to this byte are in the table, and in `pending`
    rk_usage_count pending; // what its writer is writing
    uint64_t modified_ns;   // of the file
    bool present, finished; // the file is there; its writer will not write again
} rk_usage_log;

// Base and logs as they were at one moment.
typedef struct rk_usage_state {
    bool known;            // false: no sound base, so `table` says nothing until all is counted
    rk_usage_table table;  // base and logs together
    uint64_t published_ns; // when the base was written, by the file system's clock
    rk_usage_log *logs;    // owned
    size_t log_count, log_capacity;
} rk_usage_state;

// The sum over all places and all that is pending, at least 0. (One place may be below: a file that
// was counted there was set aside, and then removed from quarantine/.)
RK_HIDDEN rk_usage_count rk_usage_sum(const rk_usage_state *state);

// rk_usage_state_free(NULL) is fine. On the heap: the table is too large for a stranger's stack.
RK_HIDDEN RK_NODISCARD rk_err *rk_usage_read(const rk_store *store, rk_usage_state **out_state);
RK_HIDDEN void rk_usage_state_free(rk_usage_state *state);
RK_HIDDEN void rk_usage_state_cleanup(rk_usage_state **state);
#define RK_AUTO_USAGE __attribute__((cleanup(rk_usage_state_cleanup))) rk_usage_state *

// Marks the logs of writers that are dead, or silent for a day where that cannot be told. `now_ns`
// by the file system's clock. Returns how many are finished.
RK_HIDDEN size_t rk_usage_find_finished(rk_usage_state *state, uint64_t now_ns);

// Writes the state as the new base, then removes the logs that are finished: all that they said is
// in it.
RK_HIDDEN RK_NODISCARD rk_err *rk_usage_publish(const rk_store *store, const rk_usage_state *state);

// The same after a removal, which must succeed on a full disk too: there the old base and the logs
// stay as they were, which is no error. `out_published` may be NULL.
RK_HIDDEN RK_NODISCARD rk_err *
rk_usage_publish_if_space(const rk_store *store, const rk_usage_state *state, bool *out_published);

// Counts one place by listing it, less temporary files; a place that does not exist holds nothing.
RK_HIDDEN RK_NODISCARD rk_err *rk_usage_count_place(const rk_store *store, unsigned place,
                                                    rk_usage_count *out_count);
RK_HIDDEN RK_NODISCARD rk_err *rk_usage_count_all(const rk_store *store, rk_usage_table *out_table);

// usage/NAME, as base/tree.h takes it. Owned: rk_free. NULL when memory is short.
RK_HIDDEN RK_NODISCARD char *rk_usage_path(const char *name);
RK_HIDDEN RK_NODISCARD rk_err *rk_usage_make_folder(const rk_store *store); // usage/

// Inside usage*.c only.

#define RK_USAGE_START "rekindle usage " // of the base

// log-<serial>-<process>, the process as rk_process_add_text writes it.
#define RK_USAGE_LOG_PREFIX "log-"
#define RK_USAGE_CLOSED     "closed\n" // its last line

enum {
    RK_USAGE_MAX_LOGS = 4096,
    RK_USAGE_BASE_MAX_BYTES = 4 << 20,
};

// Text of the base, and back: false unless it is whole and sound.
RK_HIDDEN void rk_usage_write_base(const rk_usage_state *state, rk_buf *out);
RK_HIDDEN RK_NODISCARD bool rk_usage_parse_base(rk_span text, rk_usage_state *out_state);

// "objects/ab +1 +4096\n" and back. A line is complete with its newline; `*out_used` is its length
// with it. False if it says nothing that is understood: then `*out_used` says what to skip, 0 for
// nothing more.
RK_HIDDEN void rk_usage_write_line(unsigned place, rk_usage_count change, rk_buf *out);
RK_HIDDEN RK_NODISCARD bool rk_usage_parse_line(rk_span text, size_t *out_used, unsigned *out_place,
                                                rk_usage_count *out_change);

// The log of that name, which is added where it is not there. NULL when memory is short.
RK_HIDDEN RK_NODISCARD rk_usage_log *rk_usage_log_named(rk_usage_state *state, rk_span name);
