// Publishing in the background: one thread takes executables that were just compiled, has them
// serialized, and stores them. The framework has long gone on.
//
// The plugin's handles belong to others: rk_publisher_serialize makes sure that a handle about to
// be used has been serialized, rk_publisher_release that one about to be destroyed is no longer
// needed here, and no thread of ours is inside the plugin once rk_publisher_drain has returned
// true.
#pragma once

#include <stdatomic.h>

#include "store/store.h"

typedef struct rk_publisher rk_publisher;

typedef struct rk_publish_result {
    bool stored;
    const char *reason; // why not, where not stored: "serialize_failed", "write_failed", …; static
    const rk_err *problem; // borrowed; NULL if nothing went wrong
    uint64_t raw_bytes, stored_bytes;
    uint64_t serialize_ns, store_ns;
} rk_publish_result;

// What to publish. The publisher takes over the buffers; `context` stays the caller's until `done`.
typedef struct rk_publish_job {
    rk_key key;
    uint64_t compile_ns;
    uint32_t flags;      // of the entry: RK_ENTRY_FLAG_…
    rk_buf components;   // JSON, owned
    rk_buf metadata;     // JSON, owned
    rk_buf program;      // owned; empty: nothing is kept of it
    rk_buf options;      // owned; compile options as they came
    bool forget_program; // only what `describe` says of it is kept
    const void *handle;  // what rk_publisher_release names; compared, never followed
    const void *owner;   // what rk_publisher_drain names (a client); compared, never followed
    void *context;
    // On the publisher's thread, after `done`, so that nobody waits for it: appends members to the
    // metadata (",\"name\":value") of the program's entry. NULL: there are none.
    void (*describe)(rk_span program, rk_span metadata, rk_buf *out_members);
    // On the publisher's thread, or that of rk_publisher_serialize. Appends the executable's bytes.
    // NULL: there is no executable to be kept, only the program; `release` and `done` are not
    // called, and a program that is there already stays as it is.
    rk_err *(*serialize)(void *context, rk_buf *out_bytes);
    // Then, on the publisher's thread, while others may use the handle already: appends what the
    // executable's entry says as options. Left out where the handle must go. NULL: there is
    // nothing.
    void (*add_options)(void *context, rk_buf *out_options);
    // Lets go of the plugin's handle; called once, also for a job that is cancelled, before `done`.
    void (*release)(void *context);
    // The end of the job, on the publisher's thread or, for a cancelled job, the canceller's. Frees
    // `context`. Must not call the publisher.
    void (*done)(void *context, const rk_publish_result *result);
} rk_publish_job;

// Makes a publisher; its thread starts with the first job. `store` must outlive it. While
// `max_serialized_bytes` of executables wait for it, what is serialized is let go of again
// ("no_room"). Owned: rk_publisher_free, after a drain.
RK_NODISCARD rk_err *rk_publisher_new(rk_store *store, size_t max_serialized_bytes,
                                      rk_publisher **out_publisher);

// Drains without limit, ends the thread, frees. For tests; a process that exits only closes.
void rk_publisher_free(rk_publisher *publisher);

// Queues a job; consumes it whatever the outcome. On an error `done` has been called, and after
// rk_publisher_close as well.
RK_NODISCARD rk_err *rk_publisher_submit(rk_publisher *publisher, rk_publish_job *job);

// Bytes of programs and options that wait in the queue.
size_t rk_publisher_queued_bytes(rk_publisher *publisher);

// Returns once `handle` is serialized: one not begun on the caller's thread. A load and a branch
// when nothing waits to be serialized.
void rk_publisher_serialize(rk_publisher *publisher, const void *handle);

// Returns once no job needs `handle` any more.
void rk_publisher_release(rk_publisher *publisher, const void *handle);

// Waits for the jobs of `owner` (all of them for NULL) to be stored, at most `timeout_ns` in all;
// some time before that, those not begun are cancelled. False if one is still inside the plugin:
// then the next drain does not wait for it again.
RK_NODISCARD bool rk_publisher_drain(rk_publisher *publisher, const void *owner,
                                     uint64_t timeout_ns);

// The process ends: the same for all, and nothing is taken any more.
RK_NODISCARD bool rk_publisher_close(rk_publisher *publisher, uint64_t timeout_ns);
