// The recorder merges requests, writes new ones at once and known ones later, loses nothing when a
// write fails, and writes the rest at the end.
#include "support/cmocka.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/sys.h"
#include "base/thread.h"
#include "cache/recorder.h"
#include "support/faults.h"
#include "support/gate.h"

#define MS ((uint64_t)1000000)
enum { CLIENTS_MAX = 64, OCCURRENCES_MAX = 16, SETTLE_MS = 2000 };

// Stands for the manifest: what was last written, and how often.
typedef struct fixture {
    rk_recorder *recorder;
    rk_gate *gate; // in each write; NULL: does not block
    atomic_bool fails;
    atomic_uint takes_ms;      // each write
    _Atomic uint64_t first_ns; // how long the first write took
    atomic_int inside;         // writers
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int calls; // under the mutex, as the next three
    uint64_t called_ns;
    pthread_t called_by;
    rk_manifest written; // by the last write that did not fail
} fixture;

static _Atomic uint64_t now_ns; // of the replaced clock

static uint64_t read_clock(void) {
    return atomic_load(&now_ns);
}

static rk_err *copy_manifest(const rk_manifest *from, rk_manifest *out_copy) {
    rk_manifest_cleanup(out_copy);
    for (size_t i = 0; i < from->use_count; i++)
        RK_TRY(rk_manifest_note(out_copy, &from->uses[i],
                                rk_manifest_find_options(from, &from->uses[i].key.options)));
    return NULL;
}

static void pause_for(unsigned milliseconds) {
    struct timespec pause = {.tv_nsec = (long)(milliseconds * MS)};
    (void)nanosleep(&pause, NULL);
}

static rk_err *write_seen(void *context, const rk_manifest *seen) {
    fixture *f = context;
    assert_int_equal(atomic_fetch_add(&f->inside, 1), 0);
    uint64_t called_ns = rk_steady_ns();
    (void)pthread_mutex_lock(&f->mutex);
    f->calls++;
    f->called_ns = called_ns;
    f->called_by = pthread_self();
    (void)pthread_cond_broadcast(&f->changed);
    (void)pthread_mutex_unlock(&f->mutex);
    rk_gate_pass(f->gate);
    pause_for(atomic_load(&f->takes_ms));
    rk_err *err = NULL;
    if (atomic_load(&f->fails)) {
        err = rk_error(RK_UNAVAILABLE, "no");
    } else {
        (void)pthread_mutex_lock(&f->mutex);
        err = copy_manifest(seen, &f->written);
        (void)pthread_mutex_unlock(&f->mutex);
    }
    if (atomic_load(&f->first_ns) == 0)
        atomic_store(&f->first_ns, rk_steady_ns() - called_ns);
    atomic_fetch_sub(&f->inside, 1);
    return err;
}

static int setup(void **state) {
    static const rk_clock_table clock = {.monotonic_ns_fn = read_clock,
                                         .realtime_ns_fn = read_clock};
    fixture *f = calloc(1, sizeof *f);
    atomic_store(&now_ns, 1000 * MS);
    rk_clock_replace(&clock);
    (void)pthread_mutex_init(&f->mutex, NULL);
    (void)pthread_cond_init(&f->changed, NULL);
    const rk_recorder_options options = {.write = write_seen, .context = f};
    assert_null(rk_recorder_new(&options, &f->recorder));
    *state = f;
    return 0;
}

static int teardown(void **state) {
    fixture *f = *state;
    rk_recorder_free(f->recorder);
    rk_clock_replace(NULL);
    rk_manifest_cleanup(&f->written);
    free(f);
    return 0;
}

static int calls_of(fixture *f) {
    (void)pthread_mutex_lock(&f->mutex);
    int calls = f->calls;
    (void)pthread_mutex_unlock(&f->mutex);
    return calls;
}

// Returns once `write` was called `calls` times, with the time of the last call.
static uint64_t await_calls(fixture *f, int calls) {
    (void)pthread_mutex_lock(&f->mutex);
    while (f->calls < calls)
        (void)pthread_cond_wait(&f->changed, &f->mutex);
    uint64_t called_ns = f->called_ns;
    (void)pthread_mutex_unlock(&f->mutex);
    return called_ns;
}

static rk_digest digest_of(const char *kind, int number) {
    rk_digest digest = {0};
    (void)snprintf((char *)digest.bytes, RK_DIGEST_BYTES, "%s %d", kind, number);
    return digest;
}

static rk_key key_of(int number) {
    return (rk_key){.digest = digest_of("key", number), .options = digest_of("options", number)};
}

static void add_client(fixture *f, uint64_t number, int environment) {
    rk_digest digest = digest_of("environment", environment);
    rk_recorder_add_client(f->recorder, number, &digest);
}

static rk_recorder_request request(uint64_t client, int number) {
    return (rk_recorder_request){.client = client,
                                 .key = key_of(number),
                                 .options = rk_span_text("options"),
                                 .start_ns = rk_monotonic_ns(),
                                 .load_ns = 7,
                                 .bytes = 9,
                                 .kept = true};
}

static void note(fixture *f, uint64_t client, int number) {
    rk_recorder_request one = request(client, number);
    rk_recorder_note(f->recorder, &one);
}

// Returns the recorded use; NULL if there is none. Only while nothing writes.
static const rk_manifest_use *find(const fixture *f, int number, uint32_t client,
                                   uint32_t occurrence) {
    rk_key key = key_of(number);
    for (size_t i = 0; i < f->written.use_count; i++) {
        const rk_manifest_use *use = &f->written.uses[i];
        if (rk_key_equal(&use->key, &key) && use->client == client && use->occurrence == occurrence)
            return use;
    }
    return NULL;
}

static void clients_are_counted_for_each_environment(void **state) {
    fixture *f = *state;
    uint32_t ordinal = 99;
    assert_false(rk_recorder_find_client(f->recorder, 1, &ordinal));
    add_client(f, 1, 0);
    add_client(f, 2, 1);
    add_client(f, 3, 0);
    assert_true(rk_recorder_find_client(f->recorder, 3, &ordinal));
    assert_int_equal(ordinal, 1);
    assert_true(rk_recorder_find_client(f->recorder, 2, &ordinal));
    assert_int_equal(ordinal, 0);
    for (uint64_t number = 4; number <= CLIENTS_MAX + 1; number++)
        add_client(f, number, 0);
    assert_true(rk_recorder_find_client(f->recorder, CLIENTS_MAX, &ordinal));
    assert_false(rk_recorder_find_client(f->recorder, CLIENTS_MAX + 1, &ordinal));
}

static void requests_are_merged(void **state) {
    fixture *f = *state;
    add_client(f, 1, 0);
    add_client(f, 2, 0);
    note(f, 1, 5);
    note(f, 2, 5);
    note(f, 1, 6);
    note(f, 3, 7); // of no client
    for (int i = 0; i < 2 * OCCURRENCES_MAX; i++)
        note(f, 1, 5);
    rk_recorder_end(f->recorder);
    assert_int_equal(f->written.use_count, OCCURRENCES_MAX + 2);
    for (uint32_t i = 0; i < OCCURRENCES_MAX; i++)
        assert_non_null(find(f, 5, 0, i));
    assert_non_null(find(f, 5, 1, 0));
    const rk_manifest_use *use = find(f, 6, 0, 0);
    assert_non_null(use);
    assert_int_equal(use->load_ns, 7);
    assert_int_equal(use->bytes, 9);
    assert_true(rk_span_equal(rk_manifest_find_options(&f->written, &use->key.options),
                              rk_span_text("options")));
}

// A request that is not kept is not recorded, but its time counts.
static void the_time_of_earlier_requests_is_left_out(void **state) {
    fixture *f = *state;
    add_client(f, 1, 0);
    atomic_fetch_add(&now_ns, 10 * MS);
    rk_recorder_request first = request(1, 1), second = request(1, 2);
    atomic_fetch_add(&now_ns, 100 * MS);
    rk_recorder_note(f->recorder, &first);
    second.start_ns += 50 * MS; // overlaps with the first one
    second.kept = false;
    atomic_fetch_add(&now_ns, 100 * MS);
    rk_recorder_note(f->recorder, &second);
    atomic_fetch_add(&now_ns, 5 * MS);
    rk_recorder_request third = request(1, 3);
    rk_recorder_note(f->recorder, &third);
    rk_recorder_end(f->recorder);
    assert_int_equal(f->written.use_count, 2);
    assert_int_equal(find(f, 1, 0, 0)->wanted_ns, 10 * MS);
    assert_int_equal(find(f, 3, 0, 0)->wanted_ns, 15 * MS);
}

static void new_requests_are_written_at_once(void **state) {
    fixture *f = *state;
    add_client(f, 1, 0);
    uint64_t start_ns = rk_steady_ns();
    note(f, 1, 1);
    assert_true(await_calls(f, 1) - start_ns < SETTLE_MS * MS);
    note(f, 1, 2);
    (void)await_calls(f, 2);
}

// 200 ms of writing are without a pause. Then each pause lasts 20 times as long as the write.
static void a_pause_follows_only_after_much_writing(void **state) {
    enum { WRITE_MS = 70, PAUSES = 20, LOADED_MS = 150 };
    fixture *f = *state;
    add_client(f, 1, 0);
    atomic_store(&f->takes_ms, WRITE_MS);
    uint64_t calls_ns[5] = {0};
    for (int i = 1; i < 5; i++) {
        note(f, 1, i);
        calls_ns[i] = await_calls(f, i);
    }
    // On a loaded machine the first write may take as long as three.
    if (atomic_load(&f->first_ns) < LOADED_MS * MS)
        assert_true(calls_ns[2] - calls_ns[1] < PAUSES * WRITE_MS * MS);
    assert_true(calls_ns[4] - calls_ns[3] >= (PAUSES + 1) * WRITE_MS * MS);
}

static void known_requests_are_written_later(void **state) {
    fixture *f = *state;
    add_client(f, 1, 0);
    rk_recorder_request one = request(1, 1);
    one.listed = true;
    uint64_t start_ns = rk_steady_ns();
    rk_recorder_note(f->recorder, &one);
    assert_true(await_calls(f, 1) - start_ns >= SETTLE_MS * MS);
}

static void each_request_is_written_once(void **state) {
    fixture *f = *state;
    add_client(f, 1, 0);
    rk_recorder_write(f->recorder); // nothing to write
    assert_int_equal(calls_of(f), 0);
    note(f, 1, 1);
    rk_recorder_write(f->recorder);
    rk_recorder_write(f->recorder);
    rk_recorder_end(f->recorder);
    assert_int_equal(calls_of(f), 1);
    assert_int_equal(f->written.use_count, 1);
}

static void a_failed_write_loses_nothing(void **state) {
    fixture *f = *state;
    add_client(f, 1, 0);
    atomic_store(&f->fails, true);
    note(f, 1, 1);
    rk_recorder_write(f->recorder);
    note(f, 1, 2);
    rk_recorder_write(f->recorder);
    assert_int_equal(calls_of(f), 2);
    assert_int_equal(f->written.use_count, 0);
    atomic_store(&f->fails, false);
    rk_recorder_write(f->recorder); // is not repeated without a further request
    assert_int_equal(calls_of(f), 2);
    note(f, 1, 3);
    rk_recorder_end(f->recorder);
    assert_int_equal(calls_of(f), 3);
    for (int number = 1; number <= 3; number++)
        assert_non_null(find(f, number, 0, 0));
}

// The last write is that of the end, on the thread that ends.
static void the_end_writes_the_rest(void **state) {
    fixture *f = *state;
    uint32_t ordinal = 99;
    add_client(f, 1, 0);
    rk_recorder_request one = request(1, 1);
    one.listed = true; // so that the thread waits
    rk_recorder_note(f->recorder, &one);
    rk_recorder_end(f->recorder);
    assert_int_equal(calls_of(f), 1);
    assert_true(pthread_equal(f->called_by, pthread_self()));
    assert_non_null(find(f, 1, 0, 0));
    note(f, 1, 2);
    rk_recorder_write(f->recorder);
    rk_recorder_end(f->recorder);
    assert_int_equal(calls_of(f), 1);
    assert_true(rk_recorder_find_client(f->recorder, 1, &ordinal));
}

static void *end_recorder(void *argument) {
    fixture *f = argument;
    rk_recorder_end(f->recorder);
    return NULL;
}

// No request waits for a slow write, and the end waits for it.
static void a_slow_write_delays_only_the_end(void **state) {
    fixture *f = *state;
    rk_gate gate;
    rk_gate_init(&gate);
    f->gate = &gate;
    add_client(f, 1, 0);
    note(f, 1, 1);
    rk_gate_await(&gate, 1);
    note(f, 1, 2);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, end_recorder, f), 0);
    rk_gate_open(&gate);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(f->written.use_count, 2);
}

static void without_memory_nothing_is_recorded(void **state) {
    fixture *f = *state;
    add_client(f, 1, 0);
    const rk_recorder_options options = {.write = write_seen, .context = f};
    rk_recorder *other = NULL;
    rk_fault_begin(&(rk_fault_plan){.nth = 1, .calls = RK_FAULT_ALLOC, .lasting = true});
    rk_err *err = rk_recorder_new(&options, &other);
    note(f, 1, 1);
    assert_true(rk_fault_end());
    assert_int_equal(rk_err_code(err), RK_RESOURCE_EXHAUSTED);
    rk_err_free(err);
    assert_null(other);
    note(f, 1, 2);
    rk_recorder_end(f->recorder);
    assert_int_equal(f->written.use_count, 1);
    assert_non_null(find(f, 2, 0, 0));
}

typedef struct crowd {
    fixture *f;
    int first;
} crowd;

enum { THREADS = 4, REQUESTS = 100, SHARED = 1000000 };

static void *note_many(void *argument) {
    const crowd *c = argument;
    for (int i = 0; i < REQUESTS; i++) {
        note(c->f, 1, c->first + i);
        note(c->f, 2, SHARED);
        if (i % 10 == 0)
            rk_recorder_write(c->f->recorder);
    }
    return NULL;
}

static void many_threads(void **state) {
    fixture *f = *state;
    add_client(f, 1, 0);
    add_client(f, 2, 0);
    pthread_t threads[THREADS];
    crowd crowds[THREADS];
    for (int i = 0; i < THREADS; i++) {
        crowds[i] = (crowd){f, i * REQUESTS};
        assert_int_equal(pthread_create(&threads[i], NULL, note_many, &crowds[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    rk_recorder_end(f->recorder);
    assert_int_equal(f->written.use_count, THREADS * REQUESTS + OCCURRENCES_MAX);
    for (int i = 0; i < THREADS * REQUESTS; i++)
        assert_non_null(find(f, i, 0, 0));
    for (uint32_t i = 0; i < OCCURRENCES_MAX; i++)
        assert_non_null(find(f, SHARED, 1, i));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(clients_are_counted_for_each_environment),
        TEST(requests_are_merged),
        TEST(the_time_of_earlier_requests_is_left_out),
        TEST(new_requests_are_written_at_once),
        TEST(a_pause_follows_only_after_much_writing),
        TEST(known_requests_are_written_later),
        TEST(each_request_is_written_once),
        TEST(a_failed_write_loses_nothing),
        TEST(the_end_writes_the_rest),
        TEST(a_slow_write_delays_only_the_end),
        TEST(without_memory_nothing_is_recorded),
        TEST(many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
