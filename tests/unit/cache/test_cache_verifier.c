// The verifier takes the configured share of jobs, one at a time and in order. It refuses jobs
// beyond its memory limit. It is never inside the plugin after a complete drain.
#include "support/cmocka.h"

#include <pthread.h>
#include <stdlib.h>

#include "cache/verifier.h"
#include "support/gate.h"

enum { JOBS_MAX = 64 };
static const uint64_t second_ns = 1000000000u;

typedef struct fixture fixture;
typedef struct work {
    fixture *fixture;
    rk_gate *describe_gate, *verify_gate; // NULL: does not block
    pthread_t described_by;
    atomic_int described, verified, done;
    atomic_bool saw_cancelled;
} work;

struct fixture {
    rk_verifier *verifier;
    rk_gate gate;
    work works[JOBS_MAX];
    atomic_int order[JOBS_MAX]; // the order of verification
    atomic_int verified, done, inside;
};

static void make_verifier(fixture *f, uint32_t share_ppm) {
    const rk_verifier_options options = {
        .share_ppm = share_ppm, .seed = 42, .max_jobs = 8, .max_held_bytes = 1000};
    assert_null(rk_verifier_new(&options, &f->verifier));
}

static int setup(void **state) {
    fixture *f = calloc(1, sizeof *f);
    rk_gate_init(&f->gate);
    make_verifier(f, 1000000);
    *state = f;
    return 0;
}

static int teardown(void **state) {
    fixture *f = *state;
    rk_gate_open(&f->gate);
    rk_verifier_free(f->verifier);
    free(f);
    return 0;
}

static void describe(void *context) {
    work *w = context;
    rk_gate_pass(w->describe_gate);
    w->described_by = pthread_self();
    atomic_fetch_add(&w->described, 1);
}

static void verify(void *context, const atomic_bool *cancelled) {
    work *w = context;
    fixture *f = w->fixture;
    assert_int_equal(atomic_load(&w->described), 1);
    assert_int_equal(atomic_fetch_add(&f->inside, 1), 0);
    rk_gate_pass(w->verify_gate);
    atomic_store(&w->saw_cancelled, atomic_load(cancelled));
    atomic_store(&f->order[atomic_fetch_add(&f->verified, 1)], (int)(w - f->works));
    atomic_fetch_add(&w->verified, 1);
    atomic_fetch_sub(&f->inside, 1);
}

static void done(void *context) {
    work *w = context;
    atomic_fetch_add(&w->done, 1);
    atomic_fetch_add(&w->fixture->done, 1);
}

static bool submit(fixture *f, int number, const void *owner, size_t held_bytes) {
    work *w = &f->works[number];
    w->fixture = f;
    const rk_verify_job job = {.held_bytes = held_bytes,
                               .handle = w,
                               .owner = owner,
                               .context = w,
                               .describe = describe,
                               .verify = verify,
                               .done = done};
    return rk_verifier_submit(f->verifier, &job);
}

static void wait_until_done(fixture *f, int count) {
    while (atomic_load(&f->done) < count)
        (void)sched_yield();
}

// Submits a job that blocks at the gate, so that all later jobs wait.
static void block(fixture *f) {
    f->works[0].verify_gate = &f->gate;
    assert_true(submit(f, 0, f, 0));
    rk_gate_await(&f->gate, 1);
}

static void the_share_is_what_was_asked_for(void **state) {
    fixture *f = *state;
    static const struct {
        uint32_t share_ppm;
        int least, most;
    } cases[] = {{0, 0, 0}, {10000, 800, 1200}, {500000, 49000, 51000}, {1000000, 100000, 100000}};
    for (size_t i = 0; i < RK_ARRAY_LEN(cases); i++) {
        rk_verifier_free(f->verifier);
        make_verifier(f, cases[i].share_ppm);
        int chosen = 0;
        for (int asked = 0; asked < 100000; asked++)
            chosen += rk_verifier_chooses(f->verifier);
        assert_in_range(chosen, cases[i].least, cases[i].most);
    }
}

static void other_seeds_choose_others(void **state) {
    (void)state;
    bool differs = false;
    rk_verifier *verifiers[2];
    for (uint64_t i = 0; i < 2; i++) {
        const rk_verifier_options options = {.share_ppm = 500000, .seed = i * 12345};
        assert_null(rk_verifier_new(&options, &verifiers[i]));
    }
    for (int asked = 0; asked < 64; asked++)
        differs |= rk_verifier_chooses(verifiers[0]) != rk_verifier_chooses(verifiers[1]);
    assert_true(differs);
    rk_verifier_free(verifiers[0]);
    rk_verifier_free(verifiers[1]);
}

static void jobs_are_verified_in_order_one_at_a_time(void **state) {
    fixture *f = *state;
    block(f);
    for (int i = 1; i < 8; i++)
        assert_true(submit(f, i, f, 10));
    assert_int_equal(rk_verifier_held_bytes(f->verifier), 70);
    rk_gate_open(&f->gate);
    wait_until_done(f, 8);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(atomic_load(&f->order[i]), i);
        assert_int_equal(atomic_load(&f->works[i].done), 1);
    }
    assert_true(rk_verifier_drain(f->verifier, NULL, 10 * second_ns));
    assert_int_equal(rk_verifier_held_bytes(f->verifier), 0);
}

static void a_full_queue_takes_nothing(void **state) {
    fixture *f = *state;
    block(f);
    assert_true(submit(f, 1, f, 600));
    assert_false(submit(f, 2, f, 401));
    assert_true(submit(f, 2, f, 400));
    for (int i = 3; i < 8; i++)
        assert_true(submit(f, i, f, 0));
    assert_false(submit(f, 8, f, 0));
    assert_int_equal(atomic_load(&f->works[8].done), 0);
}

static void what_is_destroyed_is_described_by_the_one_who_does(void **state) {
    fixture *f = *state;
    block(f);
    assert_true(submit(f, 1, f, 0));
    rk_verifier_release(f->verifier, &f->works[1]);
    assert_int_equal(atomic_load(&f->works[1].described), 1);
    assert_true(pthread_equal(f->works[1].described_by, pthread_self()));
    rk_verifier_release(f->verifier, &f->works[1]);
    rk_verifier_release(f->verifier, &f->works[2]);
    assert_int_equal(atomic_load(&f->works[1].described), 1);
    rk_gate_open(&f->gate);
    wait_until_done(f, 2);
    assert_int_equal(atomic_load(&f->works[1].verified), 1);
}

static void *open_later(void *untyped) {
    rk_gate_await(untyped, 1);
    rk_gate_open(untyped);
    return NULL;
}

static void release_waits_for_one_that_is_being_described(void **state) {
    fixture *f = *state;
    f->works[0].describe_gate = &f->gate;
    assert_true(submit(f, 0, f, 0));
    rk_gate_await(&f->gate, 1);
    pthread_t opener;
    assert_int_equal(pthread_create(&opener, NULL, open_later, &f->gate), 0);
    rk_verifier_release(f->verifier, &f->works[0]);
    assert_int_equal(atomic_load(&f->works[0].described), 1);
    assert_int_equal(pthread_join(opener, NULL), 0);
    wait_until_done(f, 1);
}

static void a_drain_cancels_what_waits_and_waits_for_what_was_begun(void **state) {
    fixture *f = *state;
    int other;
    block(f);
    for (int i = 1; i < 5; i++)
        assert_true(submit(f, i, f, 0));
    assert_true(submit(f, 5, &other, 0));
    assert_false(rk_verifier_drain(f->verifier, f, 1));
    for (int i = 1; i < 5; i++) {
        assert_int_equal(atomic_load(&f->works[i].done), 1);
        assert_int_equal(atomic_load(&f->works[i].verified), 0);
    }
    assert_int_equal(atomic_load(&f->works[0].done) + atomic_load(&f->works[5].done), 0);
    // The second drain does not wait for the same job again.
    assert_false(rk_verifier_drain(f->verifier, f, 1000 * second_ns));
    assert_true(rk_verifier_drain(f->verifier, &f->works, 1000 * second_ns));
    rk_gate_open(&f->gate);
    wait_until_done(f, 6);
    assert_true(atomic_load(&f->works[0].saw_cancelled));
    assert_int_equal(atomic_load(&f->works[5].verified), 1);
    assert_false(atomic_load(&f->works[5].saw_cancelled));
}

static void what_is_being_described_is_not_verified_after_a_drain(void **state) {
    fixture *f = *state;
    f->works[0].describe_gate = &f->gate;
    assert_true(submit(f, 0, f, 0));
    rk_gate_await(&f->gate, 1);
    assert_false(rk_verifier_drain(f->verifier, f, 1));
    rk_gate_open(&f->gate);
    wait_until_done(f, 1);
    assert_int_equal(atomic_load(&f->works[0].verified), 0);
}

static void closed_it_takes_nothing_and_finishes(void **state) {
    fixture *f = *state;
    block(f);
    assert_true(submit(f, 1, f, 0));
    rk_verifier_close(f->verifier);
    assert_int_equal(atomic_load(&f->works[1].done), 1);
    assert_int_equal(atomic_load(&f->works[1].verified), 0);
    assert_false(submit(f, 2, f, 0));
    // The close waits even for a job that a drain gave up.
    assert_false(rk_verifier_drain(f->verifier, f, 1));
    pthread_t opener;
    assert_int_equal(pthread_create(&opener, NULL, open_later, &f->gate), 0);
    assert_true(rk_verifier_finish(f->verifier, 0));
    assert_int_equal(pthread_join(opener, NULL), 0);
    assert_int_equal(atomic_load(&f->works[0].done), 1);
}

typedef struct crowd {
    fixture *fixture;
    int first;
} crowd;

static void *submit_and_release(void *untyped) {
    const crowd *c = untyped;
    for (int i = c->first; i < c->first + JOBS_MAX / 4; i++) {
        while (!submit(c->fixture, i, c, 1))
            (void)sched_yield();
        if (i % 2)
            rk_verifier_release(c->fixture->verifier, &c->fixture->works[i]);
    }
    // The drain may have cancelled some jobs; that depends on timing.
    assert_true(rk_verifier_drain(c->fixture->verifier, c, 1000 * second_ns));
    return NULL;
}

static void many_threads(void **state) {
    fixture *f = *state;
    pthread_t threads[4];
    crowd crowds[4];
    for (int i = 0; i < 4; i++) {
        crowds[i] = (crowd){f, i * (JOBS_MAX / 4)};
        assert_int_equal(pthread_create(&threads[i], NULL, submit_and_release, &crowds[i]), 0);
    }
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(atomic_load(&f->done), JOBS_MAX);
    for (int i = 0; i < JOBS_MAX; i++)
        assert_int_equal(atomic_load(&f->works[i].done), 1);
    assert_int_equal(rk_verifier_held_bytes(f->verifier), 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_share_is_what_was_asked_for),
        TEST(other_seeds_choose_others),
        TEST(jobs_are_verified_in_order_one_at_a_time),
        TEST(a_full_queue_takes_nothing),
        TEST(what_is_destroyed_is_described_by_the_one_who_does),
        TEST(release_waits_for_one_that_is_being_described),
        TEST(a_drain_cancels_what_waits_and_waits_for_what_was_begun),
        TEST(what_is_being_described_is_not_verified_after_a_drain),
        TEST(closed_it_takes_nothing_and_finishes),
        TEST(many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
