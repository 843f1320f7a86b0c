// The publisher stores its jobs, releases a plugin's handle on request, and is never inside the
// plugin after a complete drain.
#include "support/cmocka.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cache/publisher.h"
#include "support/gate.h"
#include "support/tempdir.h"

enum { JOBS_MAX = 64, MAX_SERIALIZED_BYTES = 1 << 20 };
static const uint64_t second_ns = 1000000000u;

typedef struct work {
    rk_gate *gate;         // NULL: does not block
    rk_gate *options_gate; // NULL: does not block
    rk_code fail_with;
    size_t more_bytes;
    pthread_t serialized_by;
    atomic_int serialized, described, released, done;
    atomic_bool stored;
    const char *_Atomic reason;
} work;

typedef struct fixture {
    char *directory;
    rk_store *store;
    rk_publisher *publisher;
    rk_gate gate;
    work works[JOBS_MAX];
} fixture;

static int setup(void **state) {
    fixture *f = calloc(1, sizeof *f);
    f->directory = rk_test_tempdir();
    assert_null(rk_store_open(f->directory, false, &f->store));
    assert_null(rk_publisher_new(f->store, MAX_SERIALIZED_BYTES, &f->publisher));
    rk_gate_init(&f->gate);
    *state = f;
    return 0;
}

static int teardown(void **state) {
    fixture *f = *state;
    rk_publisher_free(f->publisher);
    rk_store_free(f->store);
    rk_test_tempdir_remove(f->directory);
    free(f);
    return 0;
}

static rk_err *serialize(void *context, rk_buf *out_bytes) {
    work *w = context;
    rk_gate_pass(w->gate);
    w->serialized_by = pthread_self();
    atomic_fetch_add(&w->serialized, 1);
    if (w->fail_with != RK_OK)
        return rk_error(w->fail_with, "no");
    rk_buf_add_text(out_bytes, "executable bytes");
    for (size_t i = 0; i < w->more_bytes; i++)
        rk_buf_add_byte(out_bytes, (uint8_t)i);
    return rk_buf_status(out_bytes);
}

static void add_options(void *context, rk_buf *out_options) {
    work *w = context;
    rk_gate_pass(w->options_gate);
    assert_int_equal(atomic_load(&w->released), 0);
    atomic_fetch_add(&w->described, 1);
    rk_buf_add_text(out_options, "beside them");
}

static void release(void *context) {
    work *w = context;
    assert_int_equal(atomic_load(&w->done), 0);
    atomic_fetch_add(&w->released, 1);
}

static void done(void *context, const rk_publish_result *result) {
    work *w = context;
    atomic_store(&w->stored, result->stored);
    atomic_store(&w->reason, result->reason);
    atomic_fetch_add(&w->done, 1);
}

static rk_key key_of(int number) {
    rk_key key = {0};
    memset(key.program.bytes, number + 1, RK_DIGEST_BYTES);
    rk_key_finish(&key, "");
    return key;
}

static void submit(fixture *f, int number, const void *owner) {
    work *w = &f->works[number];
    rk_publish_job job = {.key = key_of(number),
                          .flags = number == 0 ? RK_ENTRY_FLAG_AOT : 0,
                          .handle = w,
                          .owner = owner,
                          .context = w,
                          .serialize = serialize,
                          .add_options = add_options,
                          .release = release,
                          .done = done};
    rk_buf_add_text(&job.metadata, "{}");
    rk_buf_add_text(&job.components, "{}");
    rk_buf_add_text(&job.program, "the program");
    rk_buf_add_text(&job.options, "the options");
    assert_null(rk_publisher_submit(f->publisher, &job));
}

static void a_job_is_stored_with_its_program(void **state) {
    fixture *f = *state;
    submit(f, 0, f);
    assert_true(rk_publisher_drain(f->publisher, NULL, 10 * second_ns));
    work *w = &f->works[0];
    assert_int_equal(atomic_load(&w->released), 1);
    assert_int_equal(atomic_load(&w->done), 1);
    assert_true(atomic_load(&w->stored));
    rk_key key = key_of(0);
    assert_true(rk_store_has(f->store, RK_ENTRY_EXECUTABLE, &key));
    assert_true(rk_store_has(f->store, RK_ENTRY_PROGRAM, &key));
    assert_int_equal(rk_publisher_queued_bytes(f->publisher), 0);
    __attribute__((cleanup(rk_store_lookup_cleanup))) rk_store_lookup lookup = {0};
    assert_null(rk_store_get(f->store, &key, &lookup));
    assert_true(lookup.found);
    assert_int_equal(lookup.view.entry.flags, RK_ENTRY_FLAG_AOT);
    assert_true(rk_span_is(lookup.view.entry.payload, "executable bytes"));
    assert_true(rk_span_is(lookup.view.entry.options, "beside them"));
}

static void a_failing_serialize_stores_the_program_alone(void **state) {
    fixture *f = *state;
    f->works[0].fail_with = RK_UNIMPLEMENTED;
    submit(f, 0, f);
    assert_true(rk_publisher_drain(f->publisher, NULL, 10 * second_ns));
    assert_false(atomic_load(&f->works[0].stored));
    assert_string_equal(atomic_load(&f->works[0].reason), "serialize_failed");
    rk_key key = key_of(0);
    assert_false(rk_store_has(f->store, RK_ENTRY_EXECUTABLE, &key));
    assert_true(rk_store_has(f->store, RK_ENTRY_PROGRAM, &key));
}

static void describe(rk_span program, rk_span format, rk_buf *out_members) {
    assert_true(rk_span_is(program, "the program"));
    assert_true(rk_span_is(format, "the format"));
    rk_buf_add_text(out_members, ",\"sketch\":1");
}

static void submit_alone(fixture *f, bool forget_program) {
    rk_publish_job job = {.key = key_of(0), .describe = describe, .forget_program = forget_program};
    rk_buf_add_text(&job.metadata, "{}");
    rk_buf_add_text(&job.components, "{}");
    rk_buf_add_text(&job.program, "the program");
    rk_buf_add_text(&job.format, "the format");
    rk_buf_add_text(&job.options, "the options");
    assert_null(rk_publisher_submit(f->publisher, &job));
    assert_true(rk_publisher_drain(f->publisher, NULL, 10 * second_ns));
}

static void expect_program(fixture *f, const char *program) {
    rk_key key = key_of(0);
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_digest_to_hex(&key.digest, hex);
    __attribute__((cleanup(rk_store_lookup_cleanup))) rk_store_lookup lookup = {0};
    assert_null(rk_store_read(f->store, RK_ENTRY_PROGRAM, hex, RK_WANT_PAYLOAD, &lookup));
    assert_true(lookup.found);
    assert_true(rk_span_is(lookup.view.entry.payload, program));
    assert_true(rk_span_is(lookup.view.entry.metadata, "{\"sketch\":1}"));
    assert_false(rk_store_has(f->store, RK_ENTRY_EXECUTABLE, &key));
}

static void a_program_can_be_kept_alone(void **state) {
    fixture *f = *state;
    submit_alone(f, false);
    expect_program(f, "the program");
    submit_alone(f, true); // an existing program stays
    expect_program(f, "the program");
}

static void a_program_can_be_forgotten_but_for_its_description(void **state) {
    fixture *f = *state;
    submit_alone(f, true);
    expect_program(f, "");
}

static void release_serializes_a_waiting_job_itself(void **state) {
    fixture *f = *state;
    f->works[0].gate = &f->gate;
    submit(f, 0, f); // keeps the publisher's thread busy
    rk_gate_await(&f->gate, 1);
    submit(f, 1, f);
    rk_publisher_release(f->publisher, &f->works[1]);
    assert_int_equal(atomic_load(&f->works[1].released), 1);
    assert_true(pthread_equal(f->works[1].serialized_by, pthread_self()));
    rk_gate_open(&f->gate);
    assert_true(rk_publisher_drain(f->publisher, NULL, 10 * second_ns));
    assert_true(atomic_load(&f->works[1].stored));
    assert_int_equal(atomic_load(&f->works[1].serialized), 1);
}

static void expect_options(fixture *f, int number, const char *options) {
    __attribute__((cleanup(rk_store_lookup_cleanup))) rk_store_lookup lookup = {0};
    rk_key key = key_of(number);
    assert_null(rk_store_get(f->store, &key, &lookup));
    assert_true(lookup.found);
    assert_true(rk_span_is(lookup.view.entry.options, options));
}

static void a_handle_can_be_used_while_it_is_described(void **state) {
    fixture *f = *state;
    f->works[0].options_gate = &f->gate;
    submit(f, 0, f);
    rk_gate_await(&f->gate, 1);
    rk_publisher_serialize(f->publisher, &f->works[0]);
    assert_int_equal(atomic_load(&f->works[0].released), 0);
    submit(f, 1, f); // the publisher's thread is busy
    rk_publisher_serialize(f->publisher, &f->works[1]);
    assert_true(pthread_equal(f->works[1].serialized_by, pthread_self()));
    assert_int_equal(atomic_load(&f->works[1].released), 0);
    assert_false(rk_publisher_drain(f->publisher, f, 1000000));
    assert_int_equal(atomic_load(&f->works[1].released), 1);
    rk_gate_open(&f->gate);
    rk_publisher_release(f->publisher, &f->works[0]);
    assert_int_equal(atomic_load(&f->works[0].released), 1);
    assert_true(rk_publisher_drain(f->publisher, f, 10 * second_ns));
    expect_options(f, 0, "beside them");
    expect_options(f, 1, ""); // the options were skipped
}

static void release_leaves_out_what_is_not_needed(void **state) {
    fixture *f = *state;
    f->works[0].gate = &f->gate;
    submit(f, 0, f);
    rk_gate_await(&f->gate, 1);
    submit(f, 1, f);
    rk_publisher_serialize(f->publisher, &f->works[1]);
    assert_int_equal(atomic_load(&f->works[1].released), 0);
    rk_publisher_release(f->publisher, &f->works[1]);
    assert_int_equal(atomic_load(&f->works[1].released), 1);
    assert_int_equal(atomic_load(&f->works[1].described), 0);
    rk_gate_open(&f->gate);
    assert_true(rk_publisher_drain(f->publisher, NULL, 10 * second_ns));
    expect_options(f, 1, "");
}

static void *open_gate_later(void *context) {
    (void)usleep(50000);
    rk_gate_open(&((fixture *)context)->gate);
    return NULL;
}

static void release_waits_for_a_job_at_work(void **state) {
    fixture *f = *state;
    f->works[0].gate = &f->gate;
    submit(f, 0, f);
    rk_gate_await(&f->gate, 1);
    pthread_t helper;
    assert_int_equal(pthread_create(&helper, NULL, open_gate_later, f), 0);
    rk_publisher_release(f->publisher, &f->works[0]);
    assert_int_equal(atomic_load(&f->works[0].released), 1);
    (void)pthread_join(helper, NULL);
    assert_true(rk_publisher_drain(f->publisher, NULL, 10 * second_ns));
}

static void a_drain_out_of_time_cancels_and_says_so(void **state) {
    fixture *f = *state;
    f->works[0].gate = &f->gate;
    submit(f, 0, f);
    rk_gate_await(&f->gate, 1);
    submit(f, 1, f);
    assert_false(rk_publisher_drain(f->publisher, f, 1000000));
    assert_int_equal(atomic_load(&f->works[1].released), 1);
    assert_int_equal(atomic_load(&f->works[1].serialized), 0);
    assert_string_equal(atomic_load(&f->works[1].reason), "out_of_time");
    assert_int_equal(atomic_load(&f->works[0].released), 0);
    rk_gate_open(&f->gate);
    rk_publisher_release(f->publisher, &f->works[0]);
    assert_true(rk_publisher_drain(f->publisher, f, 10 * second_ns));
    assert_true(atomic_load(&f->works[0].stored));
}

static void a_drain_of_one_owner_leaves_the_others(void **state) {
    fixture *f = *state;
    const int mine = 1, theirs = 2;
    f->works[0].gate = &f->gate;
    submit(f, 0, &theirs);
    rk_gate_await(&f->gate, 1);
    assert_true(rk_publisher_drain(f->publisher, &mine, 1000000));
    submit(f, 1, &theirs);
    assert_true(rk_publisher_drain(f->publisher, &mine, 1000000));
    assert_int_equal(atomic_load(&f->works[1].done), 0);
    rk_gate_open(&f->gate);
    assert_true(rk_publisher_drain(f->publisher, NULL, 10 * second_ns));
    assert_true(atomic_load(&f->works[1].stored));
}

static void what_was_given_up_is_not_waited_for_again(void **state) {
    fixture *f = *state;
    f->works[0].gate = &f->gate;
    submit(f, 0, f);
    rk_gate_await(&f->gate, 1);
    assert_false(rk_publisher_drain(f->publisher, f, 1000000));
    assert_false(rk_publisher_drain(f->publisher, NULL, 3600 * second_ns));
    rk_gate_open(&f->gate);
    rk_publisher_release(f->publisher, &f->works[0]);
    assert_true(rk_publisher_drain(f->publisher, NULL, 10 * second_ns));
    // After the job has ended, drains wait again.
    submit(f, 1, f);
    assert_true(rk_publisher_drain(f->publisher, NULL, 10 * second_ns));
    assert_true(atomic_load(&f->works[1].stored));
}

static void what_comes_after_the_end_is_refused(void **state) {
    fixture *f = *state;
    submit(f, 0, f);
    assert_true(rk_publisher_close(f->publisher, 10 * second_ns));
    assert_true(atomic_load(&f->works[0].stored));
    submit(f, 1, f);
    assert_int_equal(atomic_load(&f->works[1].serialized), 0);
    assert_int_equal(atomic_load(&f->works[1].released), 1);
    assert_int_equal(atomic_load(&f->works[1].done), 1);
    assert_string_equal(atomic_load(&f->works[1].reason), "out_of_time");
}

static void what_waits_for_a_slow_store_is_limited(void **state) {
    fixture *f = *state;
    f->works[0].more_bytes = MAX_SERIALIZED_BYTES;
    f->works[0].options_gate = &f->gate; // keeps the publisher's thread busy
    submit(f, 0, f);
    rk_gate_await(&f->gate, 1);
    submit(f, 1, f);
    rk_publisher_serialize(f->publisher, &f->works[1]);
    assert_int_equal(atomic_load(&f->works[1].serialized), 1);
    rk_gate_open(&f->gate);
    assert_true(rk_publisher_drain(f->publisher, NULL, 10 * second_ns));
    assert_true(atomic_load(&f->works[0].stored));
    assert_false(atomic_load(&f->works[1].stored));
    assert_string_equal(atomic_load(&f->works[1].reason), "no_room");
    submit(f, 2, f); // memory is available again
    assert_true(rk_publisher_drain(f->publisher, NULL, 10 * second_ns));
    assert_true(atomic_load(&f->works[2].stored));
}

typedef struct releaser {
    fixture *fixture;
    int from, to;
} releaser;

static void *release_many(void *context) {
    const releaser *r = context;
    for (int i = r->from; i < r->to; i++) {
        if (i % 2)
            rk_publisher_serialize(r->fixture->publisher, &r->fixture->works[i]);
        rk_publisher_release(r->fixture->publisher, &r->fixture->works[i]);
    }
    return NULL;
}

static void many_threads_release_while_others_publish(void **state) {
    fixture *f = *state;
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    releaser parts[THREADS];
    for (int i = 0; i < JOBS_MAX; i++)
        submit(f, i, f);
    for (int i = 0; i < THREADS; i++) {
        parts[i] = (releaser){f, i * JOBS_MAX / THREADS, (i + 1) * JOBS_MAX / THREADS};
        assert_int_equal(pthread_create(&threads[i], NULL, release_many, &parts[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    for (int i = 0; i < JOBS_MAX; i++)
        assert_int_equal(atomic_load(&f->works[i].released), 1);
    assert_true(rk_publisher_drain(f->publisher, NULL, 60 * second_ns));
    for (int i = 0; i < JOBS_MAX; i++) {
        assert_int_equal(atomic_load(&f->works[i].done), 1);
        assert_true(atomic_load(&f->works[i].stored));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_job_is_stored_with_its_program, setup, teardown),
        cmocka_unit_test_setup_teardown(a_failing_serialize_stores_the_program_alone, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_program_can_be_kept_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(a_program_can_be_forgotten_but_for_its_description, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(release_serializes_a_waiting_job_itself, setup, teardown),
        cmocka_unit_test_setup_teardown(a_handle_can_be_used_while_it_is_described, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(release_leaves_out_what_is_not_needed, setup, teardown),
        cmocka_unit_test_setup_teardown(release_waits_for_a_job_at_work, setup, teardown),
        cmocka_unit_test_setup_teardown(a_drain_out_of_time_cancels_and_says_so, setup, teardown),
        cmocka_unit_test_setup_teardown(a_drain_of_one_owner_leaves_the_others, setup, teardown),
        cmocka_unit_test_setup_teardown(what_was_given_up_is_not_waited_for_again, setup, teardown),
        cmocka_unit_test_setup_teardown(what_comes_after_the_end_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(what_waits_for_a_slow_store_is_limited, setup, teardown),
        cmocka_unit_test_setup_teardown(many_threads_release_while_others_publish, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
