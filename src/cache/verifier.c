#include "cache/verifier.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/thread.h"

// The states of a job: QUEUED → DESCRIBING (inside the plugin) → DESCRIBED (the executable is
// released) → VERIFYING (inside the plugin) → removed from the list.
typedef enum job_state { QUEUED, DESCRIBING, DESCRIBED, VERIFYING } job_state;

typedef struct job {
    rk_verify_job what;
    job_state state;
    atomic_bool cancelled;
    struct job *next;
} job;

struct rk_verifier {
    rk_verifier_options options;
    atomic_uint_fast64_t chance;
    pthread_mutex_t mutex;  // guards all members below
    pthread_cond_t changed; // a job's state or the list changed
    job *jobs;              // in order; a running job stays on the list until it is done
    size_t count;
    size_t held_bytes;
    atomic_size_t undescribed; // jobs that still need a handle; read without the mutex as a hint
    pthread_t thread;
    bool thread_runs;
    bool closed, stop;
    bool gave_up; // a drain reached its timeout with a job inside the plugin
};

rk_err *rk_verifier_new(const rk_verifier_options *options, rk_verifier **out_verifier) {
    rk_verifier *verifier = rk_calloc(1, sizeof *verifier);
    if (!verifier)
        return rk_err_no_memory();
    verifier->options = *options;
    atomic_init(&verifier->chance, options->seed);
    rk_cond_init(&verifier->changed);
    (void)pthread_mutex_init(&verifier->mutex, NULL);
    *out_verifier = verifier;
    return NULL;
}

// SplitMix64: a hashed atomic counter, so threads need no lock.
bool rk_verifier_chooses(rk_verifier *verifier) {
    const uint64_t step = 0x9e3779b97f4a7c15u;
    enum { ALL = 1000000 };
    if (verifier->options.share_ppm >= ALL)
        return true;
    uint64_t value = atomic_fetch_add_explicit(&verifier->chance, step, memory_order_relaxed);
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    value ^= value >> 31;
    return value % ALL < verifier->options.share_ppm;
}

size_t rk_verifier_held_bytes(rk_verifier *verifier) {
    (void)pthread_mutex_lock(&verifier->mutex);
    size_t bytes = verifier->held_bytes;
    (void)pthread_mutex_unlock(&verifier->mutex);
    return bytes;
}

static void unlink_job(rk_verifier *verifier, job *entry) {
    job **link = &verifier->jobs;
    while (*link != entry)
        link = &(*link)->next;
    *link = entry->next;
    verifier->held_bytes -= entry->what.held_bytes;
    verifier->count--;
}

// Called with the mutex held; unlocks it while the plugin works.
static void describe_job(rk_verifier *verifier, job *entry) {
    entry->state = DESCRIBING;
    (void)pthread_mutex_unlock(&verifier->mutex);
    entry->what.describe(entry->what.context);
    (void)pthread_mutex_lock(&verifier->mutex);
    entry->state = DESCRIBED;
    atomic_fetch_sub(&verifier->undescribed, 1);
    verifier->gave_up = false;
    (void)pthread_cond_broadcast(&verifier->changed);
}

// Called with the mutex held; unlocks it while the plugin works.
static void verify_job(rk_verifier *verifier, job *entry) {
    entry->state = VERIFYING;
    (void)pthread_mutex_unlock(&verifier->mutex);
    if (!atomic_load(&entry->cancelled))
        entry->what.verify(entry->what.context, &entry->cancelled);
    entry->what.done(entry->what.context);
    (void)pthread_mutex_lock(&verifier->mutex);
    unlink_job(verifier, entry);
    verifier->gave_up = false;
    (void)pthread_cond_broadcast(&verifier->changed);
    rk_free(entry);
}

static job *next_in_state(const rk_verifier *verifier, job_state state) {
    for (job *entry = verifier->jobs; entry; entry = entry->next)
        if (entry->state == state)
            return entry;
    return NULL;
}

static void *run_thread(void *argument) {
    // No lower priority for this thread: the plugin may start its thread pools from here, and these
    // threads, which also compile for the job, would inherit the priority for good.
    rk_verifier *verifier = argument;
    (void)pthread_mutex_lock(&verifier->mutex);
    for (;;) {
        job *entry;
        if ((entry = next_in_state(verifier, QUEUED)))
            describe_job(verifier, entry); // first, because it holds an executable
        else if ((entry = next_in_state(verifier, DESCRIBED)))
            verify_job(verifier, entry);
        else if (verifier->stop)
            break;
        else
            (void)pthread_cond_wait(&verifier->changed, &verifier->mutex);
    }
    (void)pthread_mutex_unlock(&verifier->mutex);
    return NULL;
}

// Called with the mutex held.
static bool fits_queue(const rk_verifier *verifier, const rk_verify_job *what) {
    return !verifier->closed && verifier->count < verifier->options.max_jobs &&
           what->held_bytes <= verifier->options.max_held_bytes - verifier->held_bytes;
}

// Called with the mutex held.
static bool start_thread(rk_verifier *verifier) {
    if (!verifier->thread_runs)
        verifier->thread_runs = rk_thread_start(run_thread, verifier, &verifier->thread) == 0;
    return verifier->thread_runs;
}

bool rk_verifier_submit(rk_verifier *verifier, const rk_verify_job *what) {
    rk_autofree job *entry = rk_calloc(1, sizeof *entry);
    if (!entry)
        return false;
    entry->what = *what;
    (void)pthread_mutex_lock(&verifier->mutex);
    bool taken = fits_queue(verifier, what) && start_thread(verifier);
    if (taken) {
        job **link = &verifier->jobs;
        while (*link)
            link = &(*link)->next;
        *link = RK_TAKE(entry);
        verifier->held_bytes += what->held_bytes;
        verifier->count++;
        atomic_fetch_add(&verifier->undescribed, 1);
        (void)pthread_cond_broadcast(&verifier->changed);
    }
    (void)pthread_mutex_unlock(&verifier->mutex);
    return taken;
}

static job *find_by_handle(const rk_verifier *verifier, const void *handle) {
    for (job *entry = verifier->jobs; entry; entry = entry->next)
        if (entry->what.handle == handle && entry->state <= DESCRIBING)
            return entry;
    return NULL;
}

void rk_verifier_release(rk_verifier *verifier, const void *handle) {
    if (atomic_load_explicit(&verifier->undescribed, memory_order_relaxed) == 0)
        return;
    (void)pthread_mutex_lock(&verifier->mutex);
    job *entry;
    while ((entry = find_by_handle(verifier, handle))) {
        // Works on this thread instead of waiting: the verifier's thread may be compiling.
        if (entry->state == QUEUED)
            describe_job(verifier, entry);
        else
            (void)pthread_cond_wait(&verifier->changed, &verifier->mutex);
    }
    (void)pthread_mutex_unlock(&verifier->mutex);
}

static bool owned_by(const job *entry, const void *owner) {
    return !owner || entry->what.owner == owner;
}

static bool at_work(const job *entry) {
    return entry->state == DESCRIBING || entry->state == VERIFYING;
}

// Removes all waiting jobs of `owner` from the list and returns them, linked. Sets `cancelled` of
// the running one.
static job *take_waiting(rk_verifier *verifier, const void *owner) {
    job *taken = NULL;
    for (job *entry = verifier->jobs, *next; entry; entry = next) {
        next = entry->next;
        if (!owned_by(entry, owner))
            continue;
        if (at_work(entry)) {
            atomic_store(&entry->cancelled, true);
            continue;
        }
        unlink_job(verifier, entry);
        if (entry->state == QUEUED)
            atomic_fetch_sub(&verifier->undescribed, 1);
        entry->next = taken;
        taken = entry;
    }
    return taken;
}

static bool inside_plugin(const rk_verifier *verifier, const void *owner) {
    for (const job *entry = verifier->jobs; entry; entry = entry->next)
        if (owned_by(entry, owner) && at_work(entry))
            return true;
    return false;
}

// Called with the mutex held; unlocks it meanwhile.
static void cancel_waiting(rk_verifier *verifier, const void *owner) {
    job *cancelled = take_waiting(verifier, owner);
    if (!cancelled)
        return;
    (void)pthread_mutex_unlock(&verifier->mutex);
    while (cancelled) {
        job *entry = cancelled;
        cancelled = entry->next;
        entry->what.done(entry->what.context);
        rk_free(entry);
    }
    (void)pthread_mutex_lock(&verifier->mutex);
}

// Called with the mutex held.
static bool drain(rk_verifier *verifier, const void *owner, uint64_t timeout_ns) {
    uint64_t deadline_ns = rk_steady_ns() + (verifier->gave_up ? 0 : timeout_ns);
    cancel_waiting(verifier, owner);
    while (inside_plugin(verifier, owner))
        if (!rk_cond_wait_until(&verifier->changed, &verifier->mutex, deadline_ns))
            break;
    cancel_waiting(verifier, owner); // a job that was in DESCRIBING before
    bool out = !inside_plugin(verifier, owner);
    verifier->gave_up = !out;
    return out;
}

bool rk_verifier_drain(rk_verifier *verifier, const void *owner, uint64_t timeout_ns) {
    (void)pthread_mutex_lock(&verifier->mutex);
    bool out = drain(verifier, owner, timeout_ns);
    (void)pthread_mutex_unlock(&verifier->mutex);
    return out;
}

void rk_verifier_close(rk_verifier *verifier) {
    (void)pthread_mutex_lock(&verifier->mutex);
    verifier->closed = true;
    cancel_waiting(verifier, NULL);
    (void)pthread_mutex_unlock(&verifier->mutex);
}

// The timeout that the running job adds. Called with the mutex held.
static uint64_t finish_timeout_ns(const rk_verifier *verifier) {
    const uint64_t least_ns = 5000000000u, most_ns = 3600 * (uint64_t)1000000000u;
    enum { TIMES = 5 }; // the first compilation may have had the machine to itself
    uint64_t expected_ns = 0;
    for (const job *entry = verifier->jobs; entry; entry = entry->next)
        if (at_work(entry))
            expected_ns = entry->what.expected_ns;
    return least_ns + (expected_ns < most_ns / TIMES ? TIMES * expected_ns : most_ns);
}

bool rk_verifier_finish(rk_verifier *verifier, uint64_t timeout_ns) {
    (void)pthread_mutex_lock(&verifier->mutex);
    verifier->gave_up = false;
    bool out = drain(verifier, NULL, timeout_ns + finish_timeout_ns(verifier));
    (void)pthread_mutex_unlock(&verifier->mutex);
    return out;
}

void rk_verifier_free(rk_verifier *verifier) {
    if (!verifier)
        return;
    (void)pthread_mutex_lock(&verifier->mutex);
    verifier->closed = verifier->stop = true;
    cancel_waiting(verifier, NULL);
    (void)pthread_cond_broadcast(&verifier->changed);
    (void)pthread_mutex_unlock(&verifier->mutex);
    if (verifier->thread_runs)
        (void)pthread_join(verifier->thread, NULL);
    (void)pthread_cond_destroy(&verifier->changed);
    (void)pthread_mutex_destroy(&verifier->mutex);
    rk_free(verifier);
}
