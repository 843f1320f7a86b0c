#include "pjrt/runtime.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/sys.h"
#include "pjrt/prefetch_internal.h"
#include "pjrt/record_internal.h"
#include "pjrt/steps.h"
#include "pjrt/way_in.h"

// The limit for serialized executables that wait for a slow store.
#define SERIALIZED_MAX_BYTES ((size_t)2 << 30)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static rk_settings *settings; // set once; lives as long as the process
static bool enabled;

static rk_runtime the_runtime;
_Atomic(rk_runtime *) rk_runtime_started;
static bool ever_started;    // under the mutex; reset only in a forked child
static bool ever_worked_for; // under the mutex; a client or a topology needed the runtime
static atomic_uint_fast64_t seq;
static atomic_uint_fast64_t last_counts_ns;
static atomic_bool warned[RK_WARNING_COUNT];

static void load_settings(void) {
    rk_autoerr trouble = NULL;
    rk_err *err = rk_settings_load_for_job(rk_store_check_folder, &settings, &trouble);
    if (err) {
        rk_log_error("%s; this job runs without rekindle", rk_err_message(err));
        rk_err_drop(err, "told; the job goes on");
        return;
    }
    const rk_settings_values *values = rk_settings_get(settings);
    rk_log_set_level(values->log_level);
    if (trouble && !rk_settings_is_wrong(trouble)) // otherwise the user has switched rekindle off
        rk_log_warn("%s; this job runs without rekindle", rk_err_message(trouble));
    enabled = values->mode != RK_MODE_OFF;
}

bool rk_runtime_enabled(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, load_settings);
    return enabled;
}

const rk_settings_values *rk_runtime_settings(void) {
    (void)rk_runtime_enabled();
    return settings ? rk_settings_get(settings) : NULL;
}

void rk_warn_once(rk_warning once, rk_err *err) {
    if (rk_err_errno(err) == ENOMEM) // other failures for lack of memory add nothing
        once = RK_WARNING_MEMORY;
    if (!atomic_exchange(&warned[once], true)) {
        rk_log_warn("%s", rk_err_message(err));
        const rk_runtime *runtime = rk_runtime_get();
        if (runtime)
            rk_journal_add_warning(runtime->journal, rk_err_message(err));
    }
    rk_err_drop(err, "told once a process; the job goes on");
}

uint64_t rk_runtime_next_seq(void) {
    return atomic_fetch_add(&seq, 1) + 1;
}

void rk_runtime_check_journal(const rk_runtime *runtime) {
    rk_err *err = rk_journal_take_failure(runtime->journal);
    if (err)
        rk_warn_once(RK_WARNING_WRITE, err);
}

static void sum_counts(rk_journal_counts *out_counts) {
    *out_counts = (rk_journal_counts){0};
    for (int i = 0; i < RK_PLUGIN_SLOTS; i++) {
        const rk_plugin *plugin = rk_plugin_at(i);
        if (!plugin)
            break;
        const rk_plugin_counts *counts = &plugin->counts;
        out_counts->host_to_device += atomic_load(&counts->host_to_device);
        out_counts->host_to_device_bytes += atomic_load(&counts->host_to_device_bytes);
        out_counts->device_to_host += atomic_load(&counts->device_to_host);
        out_counts->device_to_host_bytes += atomic_load(&counts->device_to_host_bytes);
    }
    out_counts->executions =
        rk_steps_count_executions(out_counts->host_to_device + out_counts->device_to_host);
}

void rk_runtime_write_counts(bool now) {
    const rk_runtime *runtime = rk_runtime_get();
    if (!runtime)
        return;
    enum { NS_BETWEEN_WRITES = 1000000000 };
    uint64_t at_ns = rk_monotonic_ns(), last_ns = atomic_load(&last_counts_ns);
    if (!now && at_ns - last_ns < NS_BETWEEN_WRITES)
        return;
    if (!atomic_compare_exchange_strong(&last_counts_ns, &last_ns, at_ns) && !now)
        return; // another thread writes them
    rk_journal_counts counts;
    sum_counts(&counts);
    rk_journal_add_counts(runtime->journal, &counts);
    if (now)
        rk_steps_write();
}

static atomic_bool left_inside; // at exit, a rekindle thread is still inside the plugin

bool rk_runtime_left_inside(void) {
    return atomic_load(&left_inside);
}

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
        leave_inside("loading an executable in time; it is left inside it");
    if (runtime->publisher && !rk_publisher_close(runtime->publisher, drain_ns))
        leave_inside("serializing an executable in time; it is not stored");
    if (runtime->verifier && !rk_verifier_finish(runtime->verifier, drain_ns))
        leave_inside("a compilation for REKINDLE_VERIFY in time; it is left inside it");
    if (runtime->loads)
        rk_loads_close(runtime->loads);
    if (runtime->flights)
        rk_flights_close(runtime->flights);
    rk_record_end();
    if (runtime->store)
        rk_store_flush_usage(runtime->store);
    rk_runtime_write_counts(true);
    rk_journal_add_end(runtime->journal);
    rk_runtime_check_journal(runtime);
    // From here on, every hook only calls the plugin. Nothing is freed, because other threads may
    // still be inside a hook.
    atomic_store_explicit(&rk_runtime_started, NULL, memory_order_release);
}

void rk_runtime_renew_exit_handler(void) {
    // Exit handlers run in reverse order, together with the destructors of static objects.
    // Registering the handler again before a rekindle thread gets an executable makes it run before
    // the destructors of everything that the plugin has set up until then. A registration takes 32
    // bytes.
    (void)atexit(at_exit);
}

// The threads and the journal belong to the parent. The mutex may be held by a parent's thread that
// was starting the runtime, so it is initialized again.
static void in_forked_child(void) {
    mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    atomic_store_explicit(&rk_runtime_started, NULL, memory_order_relaxed);
    atomic_store(&left_inside, false);
    if (ever_worked_for) {
        enabled = false;
    } else { // the parent has only recorded unwatched plugins; the child starts anew
        the_runtime = (rk_runtime){0};
        ever_started = false;
    }
}

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
        .way_in = rk_way_in,
    };
    rk_err *err = rk_journal_open(&start, &runtime->journal);
    if (rk_err_errno(err) == EROFS) // other errors concern the journal's folder alone
        rk_store_note_refusal(runtime->store, err);
    if (err)
        rk_warn_once(RK_WARNING_WRITE, rk_err_wrap(err, "nothing is kept of this run"));
}

static void open_store(rk_runtime *runtime) {
    bool readonly = runtime->settings->mode == RK_MODE_READONLY;
    rk_err *err = rk_store_open(runtime->settings->dir, readonly, &runtime->store);
    if (!err)
        err = rk_store_set_limit(runtime->store, runtime->settings->max_size_bytes);
    if (!err && !readonly)
        err = rk_publisher_new(runtime->store, SERIALIZED_MAX_BYTES, &runtime->publisher);
    if (err)
        rk_warn_once(RK_WARNING_STORE, rk_err_wrap(err, "nothing is loaded or kept"));
    err = runtime->store
              ? rk_store_load_keys(runtime->store, readonly ? "" : runtime->settings->signing_key,
                                   runtime->settings->trusted_keys)
              : NULL;
    if (err)
        rk_warn_once(RK_WARNING_TRUST, rk_err_wrap(err, "entries are not signed, or not trusted"));
    if (runtime->store)
        rk_err_drop(rk_loads_open(runtime->store, rk_way_in, &runtime->loads),
                    "then loads are not noted");
    if (!runtime->publisher)
        return;
    const rk_flights_options options = {.wait_ns = runtime->settings->wait_ns,
                                        .beat_ns = RK_FLIGHTS_BEAT_NS,
                                        .late_ns = RK_FLIGHTS_LATE_NS,
                                        .publish_ns = RK_FLIGHTS_PUBLISH_NS};
    rk_err_drop(rk_flights_new(runtime->store, &options, &runtime->flights),
                "then everybody compiles for itself");
}

static void start_verifier(rk_runtime *runtime) {
    // Few jobs, because some waiting jobs hold an executable.
    rk_verifier_options options = {.share_ppm = runtime->settings->verify_ppm,
                                   .max_jobs = 1024,
                                   .max_held_bytes = (size_t)512 << 20};
    if (!runtime->store || options.share_ppm == 0)
        return;
    // Ranks that start together must not choose the same hits.
    if (getrandom(&options.seed, sizeof options.seed, GRND_NONBLOCK) !=
        (ssize_t)sizeof options.seed)
        options.seed = rk_realtime_ns() ^ (uint64_t)getpid() << 40;
    rk_err_drop(rk_verifier_new(&options, &runtime->verifier), "then nothing is verified");
}

// Called with the mutex held, once per process.
static void start_runtime(void) {
    rk_runtime *runtime = &the_runtime;
    runtime->settings = rk_settings_get(settings);
    runtime->started_ns = rk_monotonic_ns();
    name_job(runtime);
    open_store(runtime);
    start_verifier(runtime);
    rk_prefetch_start(runtime);
    // The journal must not write to a store that could not be opened, for example because it
    // belongs to another user.
    if (runtime->store)
        open_journal(runtime);
    atomic_store_explicit(&rk_runtime_started, runtime, memory_order_release);
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

const rk_runtime *rk_runtime_start(void) {
    return start(true);
}

void rk_runtime_note_unwatched(const char *plugin, const char *reason) {
    const rk_runtime *runtime = start(false);
    if (runtime)
        rk_journal_add_unwatched(runtime->journal, plugin, reason);
}
