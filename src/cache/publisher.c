#include "cache/publisher.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/sys.h"
#include "base/thread.h"

// The states of a job: QUEUED → SERIALIZING (inside the plugin) → SERIALIZED → RELEASING (inside
// the plugin again) → RELEASED (the plugin's handle is released) → STORING → removed from the list.
// The steps up to RELEASED may run on a thread that is about to use or destroy the handle. A job
// without an executable begins as PROGRAM_ALONE, and runs after all others.
typedef enum job_state {
    QUEUED,
    SERIALIZING,
    SERIALIZED,
    RELEASING,
    RELEASED,
    PROGRAM_ALONE,
    STORING
} job_state;

typedef struct job {
    rk_publish_job what;
    job_state state;
    rk_buf executable, executable_options;
    rk_err *problem; // owned
    rk_publish_result result;
    size_t held_bytes, serialized_bytes;
    bool over_budget; // the executable was dropped: see max_serialized_bytes
    struct job *next;
} job;

struct rk_publisher {
    rk_store *store; // borrowed
    pthread_mutex_t mutex;
    pthread_cond_t changed;     // a job's state or the list changed
    job *jobs;                  // in order; a running job stays on the list until it is done
    atomic_size_t count;        // length of the list; read without the mutex as a hint
    atomic_size_t unserialized; // jobs whose executable is not serialized yet
    atomic_size_t unreleased;   // jobs that still need the plugin's handle
    size_t held_bytes;          // of programs and options
    pthread_t thread;
    bool thread_runs;
    size_t serialized_bytes, max_serialized_bytes; // of executables
    bool stop;
    bool closed;  // no further job is accepted
    bool gave_up; // a drain reached its timeout with a job inside the plugin
};

rk_err *rk_publisher_new(rk_store *store, size_t max_serialized_bytes,
                         rk_publisher **out_publisher) {
    rk_publisher *publisher = rk_calloc(1, sizeof *publisher);
    if (!publisher)
        return rk_err_no_memory();
    publisher->store = store;
    publisher->max_serialized_bytes = max_serialized_bytes;
    rk_cond_init(&publisher->changed);
    (void)pthread_mutex_init(&publisher->mutex, NULL);
    *out_publisher = publisher;
    return NULL;
}

static void cleanup_what(rk_publish_job *what) {
    rk_buf_cleanup(&what->components);
    rk_buf_cleanup(&what->metadata);
    rk_buf_cleanup(&what->program);
    rk_buf_cleanup(&what->format);
    rk_buf_cleanup(&what->options);
}

static void free_job(job *entry) {
    cleanup_what(&entry->what);
    rk_buf_cleanup(&entry->executable);
    rk_buf_cleanup(&entry->executable_options);
    rk_err_free(entry->problem);
    rk_free(entry);
}

static void unlink_job(rk_publisher *publisher, job *entry) {
    for (job **link = &publisher->jobs; *link; link = &(*link)->next) {
        if (*link == entry) {
            *link = entry->next;
            publisher->held_bytes -= entry->held_bytes;
            publisher->serialized_bytes -= entry->serialized_bytes;
            atomic_fetch_sub(&publisher->count, 1);
            return;
        }
    }
}

static rk_entry entry_of(const rk_publish_job *what, rk_entry_kind kind) {
    return (rk_entry){
        .kind = kind,
        .flags = what->flags,
        .key = what->key,
        .created_ns = rk_realtime_ns(),
        .compile_ns = what->compile_ns,
        .components = rk_buf_span(&what->components),
        .metadata = rk_buf_span(&what->metadata),
    };
}

static rk_err *store_executable(rk_publisher *publisher, const job *entry,
                                uint64_t *out_stored_bytes) {
    rk_entry executable = entry_of(&entry->what, RK_ENTRY_EXECUTABLE);
    executable.payload = rk_buf_span(&entry->executable);
    executable.options = rk_buf_span(&entry->executable_options);
    return rk_store_put(publisher->store, &executable, out_stored_bytes);
}

// Adds the members from `describe` to the metadata, a JSON object: before its closing brace.
static void describe(rk_publish_job *what) {
    RK_AUTO(rk_buf) members = {0};
    if (!what->describe || what->metadata.len < 2)
        return;
    what->describe(rk_buf_span(&what->program), rk_buf_span(&what->format), &members);
    if (members.failed || !members.len)
        return;
    bool is_first = what->metadata.len == 2; // the object is empty: no leading comma
    what->metadata.len--;
    rk_buf_add(&what->metadata, members.data + is_first, members.len - is_first);
    rk_buf_add_byte(&what->metadata, '}');
}

// Stores the program entry. It only serves explanations, so a failure does not affect the
// executable.
static void store_program(rk_publisher *publisher, rk_publish_job *what) {
    if (what->program.len == 0 || !rk_store_accepts(publisher->store) ||
        (!what->serialize && rk_store_has(publisher->store, RK_ENTRY_PROGRAM, &what->key)))
        return;
    describe(what);
    rk_entry program = entry_of(what, RK_ENTRY_PROGRAM);
    if (!what->forget_program) {
        program.payload = rk_buf_span(&what->program);
        program.options = rk_buf_span(&what->options);
    }
    if (!what->metadata.failed)
        rk_err_drop(rk_store_put(publisher->store, &program, NULL),
                    "the next write fails too and is reported");
}

// Accounts for a serialized executable; drops it if too much waits for a slow store. Called with
// the mutex held.
static void hold_executable(rk_publisher *publisher, job *entry) {
    entry->over_budget = publisher->serialized_bytes >= publisher->max_serialized_bytes;
    if (entry->over_budget)
        rk_buf_cleanup(&entry->executable);
    entry->serialized_bytes = entry->executable.len;
    publisher->serialized_bytes += entry->serialized_bytes;
}

// The next two are called with the mutex held, and unlock it while the plugin works.

static void serialize_job(rk_publisher *publisher, job *entry) {
    entry->state = SERIALIZING;
    (void)pthread_mutex_unlock(&publisher->mutex);
    uint64_t start_ns = rk_monotonic_ns();
    entry->executable = RK_BUF_INIT(RK_ENTRY_MAX_BYTES);
    entry->problem = entry->what.serialize(entry->what.context, &entry->executable);
    entry->result.serialize_ns = rk_monotonic_ns() - start_ns;
    (void)pthread_mutex_lock(&publisher->mutex);
    hold_executable(publisher, entry);
    entry->state = SERIALIZED;
    atomic_fetch_sub(&publisher->unserialized, 1);
    (void)pthread_cond_broadcast(&publisher->changed);
}

// Releases the handle of a serialized job.
static void release_job(rk_publisher *publisher, job *entry, bool add_options) {
    entry->state = RELEASING;
    (void)pthread_mutex_unlock(&publisher->mutex);
    // The executable has priority: options that do not fit into the entry beside it fail.
    entry->executable_options = RK_BUF_INIT((RK_ENTRY_MAX_BYTES - entry->executable.len) / 2);
    if (add_options && entry->what.add_options && !entry->problem && !entry->over_budget)
        entry->what.add_options(entry->what.context, &entry->executable_options);
    entry->what.release(entry->what.context);
    (void)pthread_mutex_lock(&publisher->mutex);
    entry->state = RELEASED;
    atomic_fetch_sub(&publisher->unreleased, 1);
    publisher->gave_up = false;
    (void)pthread_cond_broadcast(&publisher->changed);
}

// Stores the executable and ends the job. Called without the mutex.
static void finish_executable(rk_publisher *publisher, job *entry) {
    rk_publish_result *result = &entry->result;
    result->raw_bytes = entry->executable.len;
    if (entry->problem) {
        result->reason = "serialize_failed";
    } else if (entry->over_budget) {
        result->reason = "no_room";
    } else if (entry->executable.len == 0) {
        result->reason = "empty_executable";
    } else {
        uint64_t start_ns = rk_monotonic_ns();
        entry->problem = store_executable(publisher, entry, &result->stored_bytes);
        result->store_ns = rk_monotonic_ns() - start_ns;
        result->stored = !entry->problem;
        if (entry->problem)
            result->reason =
                rk_err_code(entry->problem) == RK_OUT_OF_RANGE ? "no_room" : "write_failed";
    }
    result->problem = entry->problem;
    entry->what.done(entry->what.context, result);
    rk_buf_cleanup(&entry->executable);
    rk_buf_cleanup(&entry->executable_options);
}

static void finish_job(rk_publisher *publisher, job *entry) {
    if (entry->what.serialize)
        finish_executable(publisher, entry);
    store_program(publisher, &entry->what);
}

static job *next_in_state(const rk_publisher *publisher, job_state state) {
    for (job *entry = publisher->jobs; entry; entry = entry->next)
        if (entry->state == state)
            return entry;
    return NULL;
}

// Called with the mutex held.
static void store_and_unlink(rk_publisher *publisher, job *entry) {
    entry->state = STORING;
    (void)pthread_mutex_unlock(&publisher->mutex);
    finish_job(publisher, entry);
    (void)pthread_mutex_lock(&publisher->mutex);
    unlink_job(publisher, entry);
    (void)pthread_cond_broadcast(&publisher->changed);
    free_job(entry);
}

static void *run_thread(void *argument) {
    rk_publisher *publisher = argument;
    (void)pthread_mutex_lock(&publisher->mutex);
    for (;;) {
        job *entry;
        if ((entry = next_in_state(publisher, RELEASED)))
            store_and_unlink(publisher, entry); // first, because it holds memory
        else if ((entry = next_in_state(publisher, SERIALIZED)))
            release_job(publisher, entry, true);
        else if ((entry = next_in_state(publisher, QUEUED)))
            serialize_job(publisher, entry);
        else if ((entry = next_in_state(publisher, PROGRAM_ALONE)))
            store_and_unlink(publisher, entry);
        else if (publisher->stop)
            break;
        else
            (void)pthread_cond_wait(&publisher->changed, &publisher->mutex);
    }
    (void)pthread_mutex_unlock(&publisher->mutex);
    return NULL;
}

static void refuse(rk_publish_job *what, const char *reason, const rk_err *problem) {
    rk_publish_result result = {.reason = reason, .problem = problem};
    if (what->serialize) {
        what->release(what->context);
        what->done(what->context, &result);
    }
    cleanup_what(what);
    *what = (rk_publish_job){0};
}

static void cancel_job(job *entry, const char *reason, const rk_err *problem) {
    refuse(&entry->what, reason, problem);
    free_job(entry);
}

static rk_err *enqueue(rk_publisher *publisher, job *entry, bool *out_closed) {
    rk_err *err = NULL;
    (void)pthread_mutex_lock(&publisher->mutex);
    *out_closed = publisher->closed;
    if (!publisher->thread_runs && !publisher->closed) {
        int error_number = rk_thread_start(run_thread, publisher, &publisher->thread);
        publisher->thread_runs = error_number == 0;
        if (error_number)
            err = rk_error_errno(error_number, "cannot start a thread to store executables");
    }
    if (!err && !publisher->closed) {
        job **link = &publisher->jobs;
        while (*link)
            link = &(*link)->next;
        *link = entry;
        publisher->held_bytes += entry->held_bytes;
        atomic_fetch_add(&publisher->count, 1);
        if (entry->state == QUEUED) {
            atomic_fetch_add(&publisher->unserialized, 1);
            atomic_fetch_add(&publisher->unreleased, 1);
        }
        (void)pthread_cond_broadcast(&publisher->changed);
    }
    (void)pthread_mutex_unlock(&publisher->mutex);
    return err;
}

rk_err *rk_publisher_submit(rk_publisher *publisher, rk_publish_job *what) {
    job *entry = rk_calloc(1, sizeof *entry);
    if (!entry) {
        rk_err *err = rk_err_no_memory();
        refuse(what, "no_memory", err);
        return err;
    }
    entry->what = *what;
    entry->state = what->serialize ? QUEUED : PROGRAM_ALONE;
    entry->held_bytes = what->program.len + what->options.len;
    *what = (rk_publish_job){0};
    bool closed = false;
    rk_err *err = enqueue(publisher, entry, &closed);
    if (err || closed)
        cancel_job(entry, closed ? "out_of_time" : "no_thread", err);
    return err;
}

size_t rk_publisher_queued_bytes(rk_publisher *publisher) {
    (void)pthread_mutex_lock(&publisher->mutex);
    size_t bytes = publisher->held_bytes;
    (void)pthread_mutex_unlock(&publisher->mutex);
    return bytes;
}

// A job of `handle` in state `last` or an earlier one.
static job *find_by_handle(const rk_publisher *publisher, const void *handle, job_state last) {
    for (job *entry = publisher->jobs; entry; entry = entry->next)
        if (entry->what.handle == handle && entry->state <= last)
            return entry;
    return NULL;
}

// Brings all jobs of `handle` past state `last`. Works on this thread instead of waiting, because
// the publisher's thread may be busy with a slow disk.
static void bring_past(rk_publisher *publisher, const void *handle, job_state last) {
    (void)pthread_mutex_lock(&publisher->mutex);
    job *entry;
    while ((entry = find_by_handle(publisher, handle, last))) {
        if (entry->state == QUEUED)
            serialize_job(publisher, entry);
        else if (entry->state == SERIALIZED)
            release_job(publisher, entry, false);
        else
            (void)pthread_cond_wait(&publisher->changed, &publisher->mutex);
    }
    (void)pthread_mutex_unlock(&publisher->mutex);
}

void rk_publisher_serialize(rk_publisher *publisher, const void *handle) {
    if (atomic_load_explicit(&publisher->unserialized, memory_order_relaxed) != 0)
        bring_past(publisher, handle, SERIALIZING);
}

void rk_publisher_release(rk_publisher *publisher, const void *handle) {
    if (atomic_load_explicit(&publisher->unreleased, memory_order_relaxed) != 0)
        bring_past(publisher, handle, RELEASING);
}

// Waits for a change. False: `deadline_ns`, by rk_steady_ns, has passed.
static bool wait_change(rk_publisher *publisher, uint64_t deadline_ns) {
    return rk_cond_wait_until(&publisher->changed, &publisher->mutex, deadline_ns);
}

static bool owned_by(const job *entry, const void *owner) {
    return !owner || entry->what.owner == owner;
}

static const job *find_owned(const rk_publisher *publisher, const void *owner) {
    for (const job *entry = publisher->jobs; entry; entry = entry->next)
        if (owned_by(entry, owner))
            return entry;
    return NULL;
}

// Removes all queued jobs of `owner` from the list; returns them, linked.
static job *take_queued(rk_publisher *publisher, const void *owner) {
    job *taken = NULL;
    for (job *entry = publisher->jobs, *next; entry; entry = next) {
        next = entry->next;
        if (owned_by(entry, owner) && entry->state == QUEUED) {
            unlink_job(publisher, entry);
            atomic_fetch_sub(&publisher->unserialized, 1);
            atomic_fetch_sub(&publisher->unreleased, 1);
            entry->next = taken;
            taken = entry;
        }
    }
    return taken;
}

// Releases the handles of serialized jobs without adding options, because time is short. Called
// with the mutex held; unlocks it meanwhile.
static void release_serialized(rk_publisher *publisher, const void *owner) {
    for (job *entry = publisher->jobs; entry;) {
        bool due = owned_by(entry, owner) && entry->state == SERIALIZED;
        if (due)
            release_job(publisher, entry, false);
        entry = due ? publisher->jobs : entry->next; // the mutex was unlocked: start again
    }
}

static bool inside_plugin(const rk_publisher *publisher, const void *owner) {
    for (const job *entry = publisher->jobs; entry; entry = entry->next)
        if (owned_by(entry, owner) && (entry->state == SERIALIZING || entry->state == RELEASING))
            return true;
    return false;
}

bool rk_publisher_drain(rk_publisher *publisher, const void *owner, uint64_t timeout_ns) {
    if (atomic_load(&publisher->count) == 0)
        return true;
    (void)pthread_mutex_lock(&publisher->mutex);
    if (publisher->gave_up) // an earlier drain has waited for the job
        timeout_ns = 0;
    uint64_t deadline_ns = rk_steady_ns() + timeout_ns;
    // The last quarter is for the job that is then inside the plugin.
    uint64_t cancel_ns = deadline_ns - timeout_ns / 4;
    while (find_owned(publisher, owner))
        if (!wait_change(publisher, cancel_ns))
            break;
    job *cancelled = take_queued(publisher, owner);
    (void)pthread_mutex_unlock(&publisher->mutex);

    while (cancelled) {
        job *next = cancelled->next;
        cancel_job(cancelled, "out_of_time", NULL);
        cancelled = next;
    }

    (void)pthread_mutex_lock(&publisher->mutex);
    release_serialized(publisher, owner);
    while (find_owned(publisher, owner))
        if (!wait_change(publisher, deadline_ns))
            break;
    release_serialized(publisher, owner);
    bool out = !inside_plugin(publisher, owner);
    publisher->gave_up = !out;
    (void)pthread_mutex_unlock(&publisher->mutex);
    return out;
}

bool rk_publisher_close(rk_publisher *publisher, uint64_t timeout_ns) {
    (void)pthread_mutex_lock(&publisher->mutex);
    publisher->closed = true;
    (void)pthread_mutex_unlock(&publisher->mutex);
    return rk_publisher_drain(publisher, NULL, timeout_ns);
}

void rk_publisher_free(rk_publisher *publisher) {
    if (!publisher)
        return;
    (void)pthread_mutex_lock(&publisher->mutex);
    publisher->stop = true;
    (void)pthread_cond_broadcast(&publisher->changed);
    (void)pthread_mutex_unlock(&publisher->mutex);
    if (publisher->thread_runs)
        (void)pthread_join(publisher->thread, NULL);
    (void)pthread_cond_destroy(&publisher->changed);
    (void)pthread_mutex_destroy(&publisher->mutex);
    rk_free(publisher);
}
