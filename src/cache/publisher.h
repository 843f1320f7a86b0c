// Publishes executables in the background: one thread serializes executables that were just
// compiled, and stores them. The framework does not wait for it.
//
// The plugin's handles belong to the framework, which may use or destroy them at any time. So the
// hooks call rk_publisher_serialize before a handle is used: the handle is then serialized. They
// call rk_publisher_release before a handle is destroyed: no job then needs the handle. After
// rk_publisher_drain has returned true, no thread of the publisher is inside the plugin for that
// owner.
#pragma once

#include <stdatomic.h>

#include "store/store.h"

typedef struct rk_publisher rk_publisher; // thread-safe

typedef struct rk_publish_result {
    bool stored;
    const char *reason;    // if not stored: "serialize_failed", "write_failed", …; static
    const rk_err *problem; // borrowed; NULL without an error
    uint64_t raw_bytes, stored_bytes;
    uint64_t serialize_ns, store_ns;
} rk_publish_result;

// One program, with or without its executable. The publisher takes over the buffers; `context`
// stays the caller's until `done`.
typedef struct rk_publish_job {
    rk_key key;
    uint64_t compile_ns;
    uint32_t flags;      // of the entry: RK_ENTRY_FLAG_…
    rk_buf components;   // JSON, owned
    rk_buf metadata;     // JSON, owned
    rk_buf program;      // owned; empty: no program entry is stored
    rk_buf format;       // of the program, owned; for `describe`
    rk_buf options;      // owned; compile options as the framework sent them
    bool forget_program; // the program entry gets metadata only, without program and options
    const void *handle;  // for rk_publisher_serialize and rk_publisher_release; only compared
    const void *owner;   // a client, for rk_publisher_drain; only compared
    void *context;       // for the callbacks below
    // Appends members to the metadata (",\"name\":value") of the program entry. Called on the
    // publisher's thread after `done`, so that no request waits for it. NULL: no members.
    void (*describe)(rk_span program, rk_span format, rk_buf *out_members);
    // Appends the executable's bytes. Called on the publisher's thread, or on that of
    // rk_publisher_serialize or rk_publisher_release. NULL: the job stores the program only, and
    // only if there is no program entry yet; `release` and `done` are not called.
    rk_err *(*serialize)(void *context, rk_buf *out_bytes);
    // Appends the options section of the executable's entry. Called after `serialize` on the
    // publisher's thread; other threads may use the handle meanwhile. Skipped if the handle must be
    // released early, or if `serialize` failed. NULL: no options.
    void (*add_options)(void *context, rk_buf *out_options);
    // Releases the plugin's handle. Called once, before `done`, also for a cancelled job.
    void (*release)(void *context);
    // Ends the job and frees `context`. Called on the publisher's thread; for a cancelled job, on
    // the thread that cancels it. Must not call the publisher.
    void (*done)(void *context, const rk_publish_result *result);
} rk_publish_job;

// Makes a publisher; its thread starts with the first job. `store` must outlive it.
// `max_serialized_bytes` limits the serialized executables that wait to be stored. Executables
// beyond the limit are dropped (reason "no_room"). Owned: rk_publisher_free, after a drain.
RK_NODISCARD rk_err *rk_publisher_new(rk_store *store, size_t max_serialized_bytes,
                                      rk_publisher **out_publisher);

// Finishes all jobs without a time limit, ends the thread and frees. For tests; a process that
// exits calls rk_publisher_close only. NULL is fine.
void rk_publisher_free(rk_publisher *publisher);

// Queues a job; consumes it, also on error. On error, and after rk_publisher_close, `release` and
// `done` are called before it returns.
RK_NODISCARD rk_err *rk_publisher_submit(rk_publisher *publisher, rk_publish_job *job);

// Returns the size of the programs and options of all queued jobs.
size_t rk_publisher_queued_bytes(rk_publisher *publisher);

// Returns once `handle` is serialized. Serializes it on the caller's thread if the publisher has
// not begun. Costs a load and a branch if no job is waiting to be serialized.
void rk_publisher_serialize(rk_publisher *publisher, const void *handle);

// Returns once no job needs `handle` any more. May serialize on the caller's thread, and costs as
// much as rk_publisher_serialize.
void rk_publisher_release(rk_publisher *publisher, const void *handle);

// Waits until the jobs of `owner` (NULL: all jobs) are stored, at most `timeout_ns`. After three
// quarters of that time, it cancels the jobs that have not begun. True: no job is inside the
// plugin, but the last executable may not be stored yet. False: a job is still inside the plugin;
// the next drain then does not wait.
RK_NODISCARD bool rk_publisher_drain(rk_publisher *publisher, const void *owner,
                                     uint64_t timeout_ns);

// Called when the process ends: accepts no further jobs, and drains all owners.
RK_NODISCARD bool rk_publisher_close(rk_publisher *publisher, uint64_t timeout_ns);
