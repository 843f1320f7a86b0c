#include "cache/recorder.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/sys.h"
#include "base/thread.h"

enum {
    CLIENTS_MAX = 64,
    OCCURRENCES_MAX = 16, // of one key: further requests for the same program are not recorded
};
#define SETTLE_NS      ((uint64_t)2000000000) // after a request, before it is written
#define WRITE_PAUSE_NS ((uint64_t)10000000000)
// Pause after writing requests that the manifest may lack, as a multiple of the writing time, so
// that a slow disk is not kept busy.
#define NEWS_PAUSE_PER_WRITE 20
// Writing time without such pauses, in the life of a process: a worker of a process pool is often
// killed a few milliseconds after its last request, and then loses what waits for the end of a
// pause.
#define UNPAUSED_NS ((uint64_t)200000000)

typedef struct seen_client {
    uint64_t number;
    rk_digest environment;
    uint32_t ordinal;
    uint64_t made_ns;
    uint64_t busy_ns, last_end_ns; // time within requests; end of the last request
} seen_client;

struct rk_recorder {
    rk_recorder_options options;
    pthread_mutex_t writing; // one writer; taken before `mutex`
    pthread_mutex_t mutex;   // for all that follows
    seen_client clients[CLIENTS_MAX];
    size_t client_count;
    rk_manifest seen;
    bool dirty, ended;
    bool news; // the manifest may lack a request, so the thread writes at once: a process that
               // leaves by _exit writes nothing at its end
    pthread_t thread;
    pthread_cond_t wakes; // the thread
    bool thread_runs;
};

rk_err *rk_recorder_new(const rk_recorder_options *options, rk_recorder **out_recorder) {
    rk_recorder *recorder = rk_calloc(1, sizeof *recorder);
    if (!recorder)
        return rk_err_no_memory();
    recorder->options = *options;
    (void)pthread_mutex_init(&recorder->writing, NULL);
    (void)pthread_mutex_init(&recorder->mutex, NULL);
    rk_cond_init(&recorder->wakes);
    *out_recorder = recorder;
    return NULL;
}

void rk_recorder_free(rk_recorder *recorder) {
    if (!recorder)
        return;
    rk_recorder_end(recorder);
    (void)pthread_cond_destroy(&recorder->wakes);
    (void)pthread_mutex_destroy(&recorder->mutex);
    (void)pthread_mutex_destroy(&recorder->writing);
    rk_free(recorder);
}

// Clients.

// Called with the mutex held.
static seen_client *find_client(rk_recorder *recorder, uint64_t number) {
    for (size_t i = 0; i < recorder->client_count; i++)
        if (recorder->clients[i].number == number)
            return &recorder->clients[i];
    return NULL;
}

void rk_recorder_add_client(rk_recorder *recorder, uint64_t number, const rk_digest *environment) {
    (void)pthread_mutex_lock(&recorder->mutex);
    if (recorder->client_count < CLIENTS_MAX) {
        seen_client *one = &recorder->clients[recorder->client_count];
        *one = (seen_client){
            .number = number, .environment = *environment, .made_ns = rk_monotonic_ns()};
        for (size_t i = 0; i < recorder->client_count; i++)
            one->ordinal += rk_digest_equal(&recorder->clients[i].environment, &one->environment);
        recorder->client_count++;
    }
    (void)pthread_mutex_unlock(&recorder->mutex);
}

bool rk_recorder_find_client(rk_recorder *recorder, uint64_t number, uint32_t *out_ordinal) {
    (void)pthread_mutex_lock(&recorder->mutex);
    const seen_client *one = find_client(recorder, number);
    if (one)
        *out_ordinal = one->ordinal;
    (void)pthread_mutex_unlock(&recorder->mutex);
    return one != NULL;
}

// Writing.

static rk_err *write_seen(rk_recorder *recorder) {
    (void)pthread_mutex_lock(&recorder->mutex);
    const rk_manifest *seen = &recorder->seen;
    bool wanted = recorder->dirty;
    recorder->dirty = false;
    recorder->news = false;
    RK_AUTO(rk_manifest) copy = {0};
    rk_err *err = NULL;
    for (size_t i = 0; wanted && !err && i < seen->use_count; i++)
        err = rk_manifest_note(&copy, &seen->uses[i],
                               rk_manifest_find_options(seen, &seen->uses[i].key.options));
    (void)pthread_mutex_unlock(&recorder->mutex);
    if (err || !wanted)
        return err;
    return recorder->options.write(recorder->options.context, &copy);
}

void rk_recorder_write(rk_recorder *recorder) {
    (void)pthread_mutex_lock(&recorder->writing);
    rk_err_drop(write_seen(recorder), "a manifest is a hint; the store reports its own errors");
    (void)pthread_mutex_unlock(&recorder->writing);
}

// Called with the mutex held. Waits until that time or the end of the recorder. If `for_news`,
// waits at most until the manifest may lack a request.
static void wait_until(rk_recorder *recorder, uint64_t until_ns, bool for_news) {
    while (!recorder->ended && !(for_news && recorder->news) &&
           rk_cond_wait_until(&recorder->wakes, &recorder->mutex, until_ns))
        continue;
}

// Returns the pause after a write of that duration. `*total_ns` is the sum of all durations.
static uint64_t news_pause(uint64_t write_ns, uint64_t *total_ns) {
    *total_ns += write_ns;
    if (*total_ns <= UNPAUSED_NS)
        return 0;
    uint64_t pause_ns = NEWS_PAUSE_PER_WRITE * write_ns;
    return pause_ns < WRITE_PAUSE_NS ? pause_ns : WRITE_PAUSE_NS;
}

static void *run_thread(void *argument) {
    rk_recorder *recorder = argument;
    uint64_t total_ns = 0;
    (void)pthread_mutex_lock(&recorder->mutex);
    while (!recorder->ended) {
        if (!recorder->dirty) {
            (void)pthread_cond_wait(&recorder->wakes, &recorder->mutex);
            continue;
        }
        wait_until(recorder, rk_steady_ns() + SETTLE_NS, true);
        if (recorder->ended)
            break;
        uint64_t start_ns = rk_steady_ns();
        (void)pthread_mutex_unlock(&recorder->mutex);
        rk_recorder_write(recorder);
        (void)pthread_mutex_lock(&recorder->mutex);
        uint64_t end_ns = rk_steady_ns();
        wait_until(recorder, end_ns + news_pause(end_ns - start_ns, &total_ns), false);
        wait_until(recorder, end_ns + WRITE_PAUSE_NS, true);
    }
    (void)pthread_mutex_unlock(&recorder->mutex);
    return NULL;
}

// Called with the mutex held.
static void wake_thread(rk_recorder *recorder) {
    if (!recorder->thread_runs)
        recorder->thread_runs = rk_thread_start(run_thread, recorder, &recorder->thread) == 0;
    else
        (void)pthread_cond_signal(&recorder->wakes);
}

void rk_recorder_end(rk_recorder *recorder) {
    (void)pthread_mutex_lock(&recorder->mutex);
    recorder->ended = true;
    bool runs = recorder->thread_runs;
    recorder->thread_runs = false;
    if (runs)
        (void)pthread_cond_signal(&recorder->wakes);
    (void)pthread_mutex_unlock(&recorder->mutex);
    if (runs)
        (void)pthread_join(recorder->thread, NULL);
    rk_recorder_write(recorder);
    (void)pthread_mutex_lock(&recorder->mutex);
    rk_manifest_cleanup(&recorder->seen);
    (void)pthread_mutex_unlock(&recorder->mutex);
}

// Recording.

// Called with the mutex held.
static uint32_t count_occurrences(const rk_manifest *seen, const rk_key *key, uint32_t ordinal) {
    uint32_t count = 0;
    for (size_t i = 0; i < seen->use_count; i++)
        count += seen->uses[i].client == ordinal && rk_key_equal(&seen->uses[i].key, key);
    return count;
}

// Returns the time at which the executable was needed, after the client's creation and without the
// time spent in earlier requests: in the next run, these may take no time. Adds this request to the
// time spent in requests.
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

// Called with the mutex held.
static rk_err *note_request(rk_recorder *recorder, seen_client *client,
                            const rk_recorder_request *request) {
    rk_manifest_use use = {
        .key = request->key,
        .client = client->ordinal,
        .wanted_ns = note_time(client, request->start_ns),
        .bytes = request->bytes,
        .load_ns = request->load_ns,
    };
    if (!request->kept)
        return NULL;
    use.occurrence = count_occurrences(&recorder->seen, &request->key, client->ordinal);
    if (use.occurrence >= OCCURRENCES_MAX)
        return NULL;
    RK_TRY(rk_manifest_note(&recorder->seen, &use, request->options));
    recorder->dirty = true;
    recorder->news |= !request->listed;
    wake_thread(recorder);
    return NULL;
}

void rk_recorder_note(rk_recorder *recorder, const rk_recorder_request *request) {
    (void)pthread_mutex_lock(&recorder->mutex);
    seen_client *client = recorder->ended ? NULL : find_client(recorder, request->client);
    if (client)
        rk_err_drop(note_request(recorder, client, request),
                    "an unrecorded request is not prefetched");
    (void)pthread_mutex_unlock(&recorder->mutex);
}
