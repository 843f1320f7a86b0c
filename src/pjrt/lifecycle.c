#include "pjrt/lifecycle.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/older_libc.h"
#include "base/sys.h"
#include "pjrt/clients.h"
#include "pjrt/counts.h"
#include "pjrt/entry_path.h"
#include "pjrt/memory.h"
#include "pjrt/prefetch_internal.h"
#include "pjrt/record_internal.h"
#include "pjrt/strict.h"

// The limit for serialized executables that wait for a slow store.
#define SERIALIZED_MAX_BYTES ((size_t)2 << 30)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static rk_runtime the_runtime;
static bool ever_started;       // under the mutex; reset only in a forked child
static bool ever_worked_for;    // under the mutex; a client or a topology needed the runtime
static atomic_bool left_inside; // at exit, a rekindle thread is still inside the plugin

// The end of the process, and forks.

static void leave_inside(const char *what) {
    atomic_store(&left_inside, true);
    rk_warn_once(RK_WARNING_DRAIN,
                 rk_error(RK_DEADLINE_EXCEEDED, "the plugin did not finish %s", what));
}

// The exit handler. It runs before the plugin's own teardown, when no rekindle thread may be inside
// the plugin.
static void at_exit(void) {
    rk_runtime *runtime = rk_runtime_get();
    if (!runtime)
        return;
    uint64_t drain_ns = runtime->settings->drain_ns;
    if (runtime->verifier)
        rk_verifier_close(runtime->verifier);
    if (!rk_prefetch_end(runtime, NULL))
        leave_inside("loading an executable in time; a thread of rekindle stays in the plugin as "
                     "the process ends");
    if (runtime->publisher && !rk_publisher_close(runtime->publisher, drain_ns))
        leave_inside("serializing an executable in time; the executable is not stored; a larger "
                     "REKINDLE_DRAIN_SECONDS gives it more time");
    if (runtime->verifier && !rk_verifier_finish(runtime->verifier, drain_ns))
        leave_inside("a compilation for REKINDLE_VERIFY in time; a thread of rekindle stays in the "
                     "plugin as the process ends");
    if (runtime->loads)
        rk_loads_close(runtime->loads);
    if (runtime->flights)
        rk_flights_close(runtime->flights);
    rk_record_end(runtime);
    if (runtime->store)
        rk_store_flush_usage(runtime->store);
    rk_counts_write(true);
    rk_strict_end(runtime);
    rk_journal_add_end(runtime->journal);
    rk_runtime_check_journal(runtime);
    // From here on, every hook only calls the plugin. Nothing is freed, because other threads may
    // still be inside a hook.
    rk_runtime_set(NULL);
}

// The threads and the journal belong to the parent. The mutex may be held by a parent's thread that
// was starting the runtime, so it is initialized again.
static void in_forked_child(void) {
    mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    rk_runtime_set(NULL);
    atomic_store(&left_inside, false);
    if (ever_worked_for) {
        rk_runtime_disable();
    } else { // the parent has only recorded unwatched plugins; the child starts anew
        the_runtime = (rk_runtime){0};
        ever_started = false;
    }
}

// The start.

static rk_err *derive_job(char **out_job) {
    enum { CMDLINE_MAX_BYTES = 1 << 20, ARGUMENTS_MAX = 256 };
    RK_AUTO(rk_buf) cmdline = RK_BUF_INIT(CMDLINE_MAX_BYTES);
    RK_TRY(rk_fs_read("/proc/self/cmdline", CMDLINE_MAX_BYTES - 1, &cmdline));
    const char *argv[ARGUMENTS_MAX];
    int argc = 0;
    for (size_t at = 0; at < cmdline.len && argc < ARGUMENTS_MAX;) {
        argv[argc] = rk_buf_text(&cmdline) + at;
        at += strlen(argv[argc++]) + 1;
    }
    return rk_job_derive(argc, argv, out_job);
}

// Sets the job's name: REKINDLE_JOB (which `rekindle run` sets), or a name derived from this
// process's command line.
static void name_job(rk_runtime *runtime) {
    char *derived = NULL;
    runtime->job = runtime->settings->job;
    if (*runtime->job)
        return;
    rk_err_drop(derive_job(&derived), "a job without a name is only harder to find");
    if (derived)
        runtime->job = derived; // lives as long as the process
}

static void open_journal(rk_runtime *runtime) {
    const char *run = getenv("REKINDLE_RUN");
    rk_journal_start start = {
        .store_directory = runtime->settings->dir,
        .run = run ? run : "",
        .job = runtime->job,
        .mode = rk_mode_name(runtime->settings->mode),
        .version = REKINDLE_VERSION,
        .way_in = rk_entry_path,
    };
    rk_err *err = rk_journal_open(&start, &runtime->journal);
    if (rk_err_errno(err) == EROFS) // other errors concern the journal's folder alone
        rk_store_note_refusal(runtime->store, err);
    if (err)
        rk_warn_once(RK_WARNING_WRITE,
                     rk_err_wrap(err, "the journal of this run cannot be written"));
}

static void open_store(rk_runtime *runtime) {
    bool readonly = runtime->settings->mode == RK_MODE_READONLY;
    rk_err *err = rk_store_open(runtime->settings->dir, readonly, &runtime->store);
    if (!err)
        err = rk_store_set_limit(runtime->store, runtime->settings->max_size_bytes);
    if (!err && !readonly)
        err = rk_publisher_new(runtime->store, SERIALIZED_MAX_BYTES, &runtime->publisher);
    if (err)
        rk_warn_once(RK_WARNING_STORE,
                     rk_err_wrap(err, "executables are neither loaded nor stored"));
    err = runtime->store
              ? rk_store_load_keys(runtime->store, readonly ? "" : runtime->settings->signing_key,
                                   runtime->settings->trusted_keys)
              : NULL;
    if (err)
        rk_warn_once(RK_WARNING_TRUST, rk_err_wrap(err, "a key file cannot be used"));
    if (runtime->store)
        rk_err_drop(rk_loads_open(runtime->store, rk_entry_path, &runtime->loads),
                    "then loads are not noted");
    if (!runtime->publisher)
        return;
    const rk_flights_options options = {.wait_ns = runtime->settings->wait_ns,
                                        .heartbeat_ns = RK_FLIGHTS_BEAT_NS,
                                        .late_ns = RK_FLIGHTS_LATE_NS,
                                        .publish_ns = RK_FLIGHTS_PUBLISH_NS};
    rk_err_drop(rk_flights_new(runtime->store, &options, &runtime->flights),
                "without single flight, each request compiles");
}

static void start_verifier(rk_runtime *runtime) {
    // Few jobs, because some waiting jobs hold an executable.
    rk_verifier_options options = {.share_ppm = runtime->settings->verify_ppm,
                                   .max_jobs = 1024,
                                   .max_held_bytes = (size_t)512 << 20};
    if (!runtime->store || options.share_ppm == 0)
        return;
    // Ranks that start together must not choose the same hits.
    if (rk_getrandom(&options.seed, sizeof options.seed, GRND_NONBLOCK) !=
        (ssize_t)sizeof options.seed)
        options.seed = rk_realtime_ns() ^ (uint64_t)getpid() << 40;
    rk_err_drop(rk_verifier_new(&options, &runtime->verifier), "then nothing is verified");
}

// Called with the mutex held, once per process.
static void start_runtime(void) {
    rk_runtime *runtime = &the_runtime;
    runtime->settings = rk_runtime_settings();
    runtime->started_ns = rk_monotonic_ns();
    name_job(runtime);
    open_store(runtime);
    start_verifier(runtime);
    rk_prefetch_start(runtime);
    rk_record_start(runtime);
    // The journal must not write to a store that could not be opened, for example because it
    // belongs to another user.
    if (runtime->store)
        open_journal(runtime);
    runtime->at_exit = at_exit;
    rk_runtime_set(runtime);
    rk_runtime_renew_exit_handler();
}

static void watch_forks(void) {
    (void)pthread_atfork(NULL, NULL, in_forked_child);
}

static const rk_runtime *start(bool to_work) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (!rk_runtime_enabled())
        return NULL;
    (void)pthread_once(&once, watch_forks); // before the mutex is taken
    (void)pthread_mutex_lock(&mutex);
    ever_worked_for = ever_worked_for || to_work;
    if (!ever_started)
        start_runtime();
    ever_started = true;
    (void)pthread_mutex_unlock(&mutex);
    return rk_runtime_get();
}

const rk_runtime *rk_lifecycle_start(void) {
    return start(true);
}

void rk_lifecycle_note_unwatched(const void *address, const char *reason) {
    Dl_info info;
    bool known = dladdr(address, &info) && info.dli_fname;
    const rk_runtime *runtime = start(false);
    if (runtime)
        rk_journal_add_unwatched(runtime->journal, known ? info.dli_fname : "", reason);
}

// Clients.

void rk_lifecycle_add_client(rk_plugin *plugin, const PJRT_Client_Create_Args *args) {
    PJRT_Client *handle = args->client;
    const rk_runtime *runtime = rk_lifecycle_start();
    rk_client *client = runtime ? rk_clients_new(runtime, plugin, args) : NULL;
    if (!client)
        return; // not watched: its compilations pass through
    rk_record_client(runtime, client);
    rk_prefetch_begin(runtime, plugin, client);
    rk_memory_begin(plugin, handle, client->number);
    rk_clients_add(client);
}

bool rk_lifecycle_remove_client(rk_plugin *plugin, PJRT_Client *handle) {
    const rk_runtime *runtime = rk_runtime_get();
    if (!runtime) // a thread that is still inside the plugin may work for this client
        return !atomic_load(&left_inside);
    uint64_t drain_ns = runtime->settings->drain_ns;
    bool loaded = rk_prefetch_end(runtime, handle);
    bool stored = !runtime->publisher || rk_publisher_drain(runtime->publisher, handle, drain_ns);
    bool verified = !runtime->verifier || rk_verifier_drain(runtime->verifier, handle, drain_ns);
    rk_counts_write(true);
    rk_record_write(runtime);
    const rk_client *client = rk_clients_find(plugin, handle);
    bool out = loaded && stored && verified;
    if (client && out)
        rk_memory_end(plugin, handle, client->number);
    if (out) {
        rk_clients_remove(plugin, handle);
        rk_memory_quiesce();
    } else {
        rk_warn_once(RK_WARNING_DRAIN,
                     rk_error(RK_DEADLINE_EXCEEDED,
                              "the plugin is still %s an executable of a client that is being "
                              "destroyed; the client is left alive",
                              !loaded   ? "loading"
                              : !stored ? "serializing"
                                        : "compiling, for REKINDLE_VERIFY,"));
    }
    return out;
}
