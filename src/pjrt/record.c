#include "pjrt/record_internal.h"

#include <pthread.h>

#include "base/sys.h"
#include "base/thread.h"
#include "pjrt/publish_internal.h"
#include "store/manifest.h"

enum {
    CLIENTS_MAX = 64,
    OCCURRENCES_MAX = 16, // of one key: further requests for the same program are not recorded
};
#define SETTLE_NS      ((uint64_t)2000000000) // after a request, before it is written
#define GUESS_OF_LOAD  8 // assumed compile time / load time, until the load time is known
#define WRITE_PAUSE_NS ((uint64_t)10000000000)
// Pause after writing requests that the manifest may lack, as a multiple of the writing time, so
// that a slow disk is not kept busy.
#define NEWS_PAUSE_PER_WRITE 20

typedef struct seen_client {
    uint64_t number;
    rk_digest environment;
    uint32_t ordinal;
    uint64_t made_ns;
    uint64_t busy_ns, last_end_ns; // time within requests; end of the last request
} seen_client;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static seen_client clients[CLIENTS_MAX];
static size_t client_count;
static rk_manifest seen;
static bool dirty, ended;
static bool news; // the manifest may lack something, and a process that leaves by _exit writes
                  // nothing at its end

static pthread_t thread;
static pthread_cond_t wakes; // initialized with the thread
static bool thread_runs;
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER; // one writer; taken before `mutex`

static seen_client *find_client(uint64_t number) {
    for (size_t i = 0; i < client_count; i++)
        if (clients[i].number == number)
            return &clients[i];
    return NULL;
}

void rk_record_client(const rk_client *client) {
    if (!client->keyed)
        return;
    (void)pthread_mutex_lock(&mutex);
    if (client_count < CLIENTS_MAX) {
        seen_client *one = &clients[client_count];
        *one = (seen_client){.number = client->number,
                             .environment = client->environment,
                             .made_ns = rk_monotonic_ns()};
        for (size_t i = 0; i < client_count; i++)
            one->ordinal += rk_digest_equal(&clients[i].environment, &one->environment);
        client_count++;
    }
    (void)pthread_mutex_unlock(&mutex);
}

bool rk_record_find_client(const rk_client *client, uint32_t *out_ordinal) {
    (void)pthread_mutex_lock(&mutex);
    const seen_client *one = find_client(client->number);
    if (one)
        *out_ordinal = one->ordinal;
    (void)pthread_mutex_unlock(&mutex);
    return one != NULL;
}

// Writing.

static rk_err *write_seen(const rk_runtime *runtime) {
    (void)pthread_mutex_lock(&mutex);
    bool wanted = dirty;
    dirty = false;
    news = false;
    RK_AUTO(rk_manifest) copy = {0};
    rk_err *err = NULL;
    for (size_t i = 0; wanted && !err && i < seen.use_count; i++)
        err = rk_manifest_note(&copy, &seen.uses[i],
                               rk_manifest_find_options(&seen, &seen.uses[i].key.options));
    (void)pthread_mutex_unlock(&mutex);
    if (err || !wanted)
        return err;
    return rk_manifest_update(runtime->store, runtime->job, rk_journal_rank(),
                              rk_journal_run(runtime->journal), &copy);
}

void rk_record_write(void) {
    const rk_runtime *runtime = rk_runtime_get();
    if (!runtime || !runtime->publisher) // without a publisher, nothing may be written
        return;
    (void)pthread_mutex_lock(&writing);
    rk_err_drop(write_seen(runtime), "a manifest is a hint; the store reports its own errors");
    (void)pthread_mutex_unlock(&writing);
}

// Called with the mutex held. Waits until that time, the end of the process, or, if `for_news`,
// until the manifest may lack something.
static void wait_until(uint64_t until_ns, bool for_news) {
    while (!ended && !(for_news && news) && rk_cond_wait_until(&wakes, &mutex, until_ns))
        continue;
}

static void *run_thread(void *argument) {
    (void)argument;
    (void)pthread_mutex_lock(&mutex);
    while (!ended) {
        if (!dirty) {
            (void)pthread_cond_wait(&wakes, &mutex);
            continue;
        }
        wait_until(rk_steady_ns() + SETTLE_NS, true);
        if (ended)
            break;
        uint64_t start_ns = rk_steady_ns();
        (void)pthread_mutex_unlock(&mutex);
        rk_record_write();
        (void)pthread_mutex_lock(&mutex);
        uint64_t end_ns = rk_steady_ns();
        uint64_t pause_ns = NEWS_PAUSE_PER_WRITE * (end_ns - start_ns);
        wait_until(end_ns + (pause_ns < WRITE_PAUSE_NS ? pause_ns : WRITE_PAUSE_NS), false);
        wait_until(end_ns + WRITE_PAUSE_NS, true);
    }
    (void)pthread_mutex_unlock(&mutex);
    return NULL;
}

// Called with the mutex held.
static void wake_thread(void) {
    if (!thread_runs) {
        rk_cond_init(&wakes);
        thread_runs = rk_thread_start(run_thread, NULL, &thread) == 0;
    } else {
        (void)pthread_cond_signal(&wakes);
    }
}

void rk_record_end(void) {
    (void)pthread_mutex_lock(&mutex);
    ended = true;
    bool runs = thread_runs;
    thread_runs = false;
    if (runs)
        (void)pthread_cond_signal(&wakes);
    (void)pthread_mutex_unlock(&mutex);
    if (runs)
        (void)pthread_join(thread, NULL);
    rk_record_write();
    (void)pthread_mutex_lock(&mutex);
    rk_manifest_cleanup(&seen);
    (void)pthread_mutex_unlock(&mutex);
}

// Recording.

static uint32_t count_occurrences(const rk_key *key, uint32_t ordinal) {
    uint32_t count = 0;
    for (size_t i = 0; i < seen.use_count; i++)
        count += seen.uses[i].client == ordinal && rk_key_equal(&seen.uses[i].key, key);
    return count;
}

// True if the next run may find the executable in the store.
static bool is_kept(const rk_request *r) {
    if (r->outcome.result == RK_REQUEST_HIT)
        return true;
    return r->outcome.result == RK_REQUEST_MISS && !r->outcome.failed &&
           r->outcome.compile_ns >= r->runtime->settings->min_compile_ns && rk_publish_possible(r);
}

// Returns the time at which the executable was needed, after the client's creation and without the
// time spent in earlier requests: in the next run, these may take no time.
static uint64_t note_time(seen_client *client, uint64_t start_ns) {
    uint64_t end_ns = rk_monotonic_ns();
    uint64_t away_ns = client->made_ns + client->busy_ns;
    uint64_t wanted_ns = start_ns > away_ns ? start_ns - away_ns : 0;
    uint64_t from_ns = start_ns > client->last_end_ns ? start_ns : client->last_end_ns;
    if (end_ns > from_ns)
        client->busy_ns += end_ns - from_ns;
    client->last_end_ns = end_ns;
    return wanted_ns;
}

static rk_err *note_request(const rk_request *r, seen_client *client, uint64_t start_ns) {
    rk_manifest_use use = {
        .key = r->key,
        .client = client->ordinal,
        .wanted_ns = note_time(client, start_ns),
        .bytes = r->executable_bytes,
        .load_ns = r->outcome.preloaded ? r->outcome.preload_ns : r->outcome.load_ns,
    };
    if (!is_kept(r))
        return NULL;
    if (r->outcome.result == RK_REQUEST_MISS)
        use.load_ns = r->outcome.compile_ns / GUESS_OF_LOAD;
    use.occurrence = count_occurrences(&r->key, client->ordinal);
    if (use.occurrence >= OCCURRENCES_MAX)
        return NULL;
    RK_TRY(rk_manifest_note(&seen, &use, r->sent_options));
    dirty = true;
    news |= !r->outcome.preloaded; // a prefetched executable is in the manifest already
    wake_thread();
    return NULL;
}

void rk_record_request(const rk_request *r, uint64_t start_ns) {
    if (r->kind != RK_REQUEST_CLIENT || !r->has_key || !r->runtime->publisher)
        return;
    (void)pthread_mutex_lock(&mutex);
    seen_client *client = ended ? NULL : find_client(r->client->number);
    if (client)
        rk_err_drop(note_request(r, client, start_ns), "an unrecorded request is not prefetched");
    (void)pthread_mutex_unlock(&mutex);
}
