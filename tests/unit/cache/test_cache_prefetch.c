// Prefetching: which requests wait, the order of loads, limits on held executables, and drains:
// after a complete drain nothing is held and no thread is inside the plugin.
#include "support/cmocka.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/thread.h"
#include "cache/prefetcher.h"
#include "support/gate.h"

enum { ITEMS_MAX = 64 };
#define MS      ((uint64_t)1000000)
#define FOREVER (UINT64_MAX / 4)

typedef struct fixture fixture;
typedef struct work {
    fixture *fixture;
    rk_gate *gate; // NULL: loading does not block
    uint64_t sleep_ms;
    uint64_t bytes;
    rk_miss miss;
    rk_code code; // of the problem, for a miss
    bool quarantined;
    atomic_int loaded, destroyed, released;
} work;

struct fixture {
    rk_prefetcher *prefetch;
    rk_gate gate;
    work works[ITEMS_MAX];
    atomic_int order[ITEMS_MAX]; // the order of loads
    atomic_int begun, inside, most_inside, ended;
    int owner, other_owner;
};

static rk_prefetcher_total last_total;
static atomic_int settled_count;

static void settled(const rk_prefetcher_total *total) {
    last_total = *total;
    atomic_fetch_add(&settled_count, 1);
}

static void load(void *context, rk_answer *out_answer, uint64_t *out_bytes) {
    work *w = context;
    fixture *f = w->fixture;
    atomic_store(&f->order[atomic_fetch_add(&f->begun, 1)], (int)(w - f->works));
    int inside = atomic_fetch_add(&f->inside, 1) + 1;
    if (inside > atomic_load(&f->most_inside))
        atomic_store(&f->most_inside, inside);
    rk_gate_pass(w->gate);
    if (w->sleep_ms)
        (void)nanosleep(&(struct timespec){0, (long)(w->sleep_ms * MS)}, NULL);
    *out_bytes = w->bytes;
    out_answer->miss = w->miss;
    out_answer->quarantined = w->quarantined;
    if (w->code)
        out_answer->problem = rk_error(w->code, "told to fail");
    if (w->miss == RK_MISS_NONE)
        out_answer->handle = w;
    atomic_fetch_add(&w->loaded, 1);
    atomic_fetch_sub(&f->inside, 1);
    atomic_fetch_add(&f->ended, 1);
}

static void destroy(void *context, void *handle) {
    work *w = context;
    assert_ptr_equal(handle, w);
    assert_int_equal(atomic_fetch_add(&w->destroyed, 1), 0);
}

static void release(void *context) {
    work *w = context;
    assert_int_equal(atomic_fetch_add(&w->released, 1), 0);
}

static const rk_prefetcher_options usual = {
    .threads = 2,
    .quick_ns = 10 * MS,
    .max_bytes = 1000,
    .max_held = 32,
    .early_ns = 60000 * MS,
    .keep_ns = 60000 * MS,
    .settled = settled,
};

static void make(fixture *f, const rk_prefetcher_options *options) {
    const rk_prefetcher_actions actions = {load, destroy, release};
    rk_prefetcher_free(f->prefetch);
    assert_null(rk_prefetcher_new(options, &actions, &f->prefetch));
}

static int setup(void **state) {
    fixture *f = calloc(1, sizeof *f);
    rk_gate_init(&f->gate);
    make(f, &usual);
    atomic_store(&settled_count, 0);
    *state = f;
    return 0;
}

static int teardown(void **state) {
    fixture *f = *state;
    rk_gate_open(&f->gate);
    rk_prefetcher_free(f->prefetch);
    for (int i = 0; i < ITEMS_MAX; i++) // each was handed over or destroyed, never both
        assert_true(atomic_load(&f->works[i].destroyed) <= atomic_load(&f->works[i].loaded));
    free(f);
    return 0;
}

static rk_key key_of(int number) {
    rk_key key = {0};
    (void)snprintf((char *)key.digest.bytes, RK_DIGEST_BYTES, "key %d", number);
    return key;
}

// Item `number`, needed after `wanted_ms`, with an expected load time of `load_ms`.
static rk_prefetcher_item item(fixture *f, int number, uint64_t wanted_ms, uint64_t load_ms) {
    work *w = &f->works[number];
    w->fixture = f;
    return (rk_prefetcher_item){.key = key_of(number),
                                .wanted_ns = rk_steady_ns() + wanted_ms * MS,
                                .load_ns = load_ms * MS,
                                .bytes = w->bytes,
                                .context = w};
}

static void add(fixture *f, const rk_prefetcher_item *items, size_t count) {
    assert_null(rk_prefetcher_add(f->prefetch, &f->owner, 7, items, count));
}

static bool take_of(fixture *f, const void *owner, int number, rk_prefetcher_claim *claim) {
    rk_key key = key_of(number);
    bool taken = rk_prefetcher_take(f->prefetch, owner, &key, claim);
    if (taken && claim->answer.miss == RK_MISS_NONE)
        assert_ptr_equal(claim->answer.handle, &f->works[number]);
    rk_answer_cleanup(&claim->answer);
    return taken;
}

static bool take(fixture *f, int number) {
    rk_prefetcher_claim claim;
    return take_of(f, &f->owner, number, &claim);
}

static void nap(long milliseconds) {
    (void)nanosleep(&(struct timespec){0, milliseconds * (long)MS}, NULL);
}

// Waits until `count` loads have ended. The nap lets the prefetcher record the last one.
static void wait_until_ended(fixture *f, int count) {
    while (atomic_load(&f->ended) < count)
        (void)sched_yield();
    nap(2);
}

static void wait_until_settled(void) {
    while (atomic_load(&settled_count) == 0)
        (void)sched_yield();
}

static void what_is_loaded_is_handed_over_once(void **state) {
    fixture *f = *state;
    rk_prefetcher_claim claim;
    f->works[0].bytes = 100;
    add(f, (rk_prefetcher_item[]){item(f, 0, 0, 1), item(f, 1, 1, 1)}, 2);
    wait_until_ended(f, 2);
    assert_false(take_of(f, &f->other_owner, 0, &claim)); // another client gets nothing of ours
    assert_true(take_of(f, &f->owner, 0, &claim));
    assert_int_equal(claim.answer.miss, RK_MISS_NONE);
    assert_int_equal(claim.bytes, 100);
    assert_ptr_equal(claim.context, &f->works[0]);
    assert_false(take(f, 0));
    assert_true(take(f, 1));
    assert_int_equal(atomic_load(&settled_count), 1);
    assert_int_equal(last_total.number, 7);
    assert_int_equal(last_total.listed, 2);
    assert_int_equal(last_total.loaded, 2);
    assert_int_equal(last_total.claimed, 2);
    assert_int_equal(last_total.wasted + last_total.dropped + last_total.taken, 0);
    assert_int_equal(atomic_load(&f->works[0].destroyed), 0);
    assert_int_equal(atomic_load(&f->works[0].released), 0); // it belongs to the taker
}

// Each part of the key counts.
static void another_key_is_not_handed_out(void **state) {
    fixture *f = *state;
    add(f, (rk_prefetcher_item[]){item(f, 0, 0, 1)}, 1);
    wait_until_ended(f, 1);
    for (int part = 0; part < 4; part++) {
        rk_prefetcher_claim claim;
        rk_key key = key_of(0);
        rk_digest *parts[] = {&key.digest, &key.program, &key.options, &key.environment};
        parts[part]->bytes[31] ^= 1;
        assert_false(rk_prefetcher_take(f->prefetch, &f->owner, &key, &claim));
    }
    assert_true(take(f, 0));
}

typedef struct taker {
    fixture *fixture;
    int number;
    bool taken;
    rk_prefetcher_claim claim;
} taker;

static void *run_taker(void *argument) {
    taker *self = argument;
    self->taken = take_of(self->fixture, &self->fixture->owner, self->number, &self->claim);
    return NULL;
}

static void a_request_waits_for_its_own_alone(void **state) {
    fixture *f = *state;
    f->works[0].gate = &f->gate;
    add(f, (rk_prefetcher_item[]){item(f, 0, 0, 500), item(f, 1, 1, 1), item(f, 2, 2, 1)}, 3);
    rk_gate_await(&f->gate, 1);
    taker waits = {.fixture = f};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run_taker, &waits), 0);
    wait_until_ended(f, 2); // the quick items are loaded meanwhile
    assert_true(take(f, 1));
    assert_true(take(f, 2));
    rk_gate_open(&f->gate);
    (void)pthread_join(thread, NULL);
    assert_true(waits.taken);
    wait_until_settled();
    assert_int_equal(last_total.claimed, 3);
}

static void what_was_not_begun_is_taken_off(void **state) {
    fixture *f = *state;
    f->works[0].gate = f->works[1].gate = &f->gate;
    add(f, (rk_prefetcher_item[]){item(f, 0, 0, 500), item(f, 1, 1, 1), item(f, 2, 2, 1)}, 3);
    rk_gate_await(&f->gate, 2); // both threads are busy
    assert_false(take(f, 2));
    assert_int_equal(atomic_load(&f->works[2].released), 1);
    rk_gate_open(&f->gate);
    assert_true(rk_prefetcher_drain(f->prefetch, &f->owner, FOREVER));
    assert_int_equal(atomic_load(&f->works[2].loaded), 0);
    assert_int_equal(last_total.taken, 1);
    assert_int_equal(last_total.wasted, 2);
}

// Large items, even if needed first, do not delay the quick ones.
static void one_thread_is_kept_for_what_is_quick(void **state) {
    fixture *f = *state;
    rk_prefetcher_item items[12];
    for (int i = 0; i < 4; i++) {
        items[i] = item(f, i, 0, 500);
        f->works[i].gate = &f->gate;
    }
    for (int i = 4; i < 12; i++)
        items[i] = item(f, i, 100 + (uint64_t)i, 1);
    add(f, items, 12);
    wait_until_ended(f, 8); // all quick items, with the gate closed
    for (int i = 4; i < 12; i++)
        assert_true(take(f, i));
    rk_gate_await(&f->gate, 2); // without quick items it loads large ones too
    rk_gate_open(&f->gate);
    assert_true(rk_prefetcher_drain(f->prefetch, &f->owner, FOREVER));
}

// With few processors the second thread loads no large item unless a request waits.
static void where_there_are_few_processors_one_big_one_at_a_time(void **state) {
    fixture *f = *state;
    rk_prefetcher_options gentle = usual;
    gentle.gentle = true;
    make(f, &gentle);
    rk_prefetcher_item items[3];
    for (int i = 0; i < 3; i++) {
        f->works[i].gate = &f->gate;
        items[i] = item(f, i, (uint64_t)i, 500);
    }
    add(f, items, 3);
    rk_gate_await(&f->gate, 1);
    nap(20);
    assert_int_equal(atomic_load(&f->begun), 1);
    taker waits = {.fixture = f};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run_taker, &waits), 0);
    rk_gate_await(&f->gate, 2); // the waiting requester leaves a processor idle
    rk_gate_open(&f->gate);
    (void)pthread_join(thread, NULL);
    assert_true(waits.taken);
    assert_true(rk_prefetcher_drain(f->prefetch, &f->owner, FOREVER));
}

static void what_is_wanted_early_goes_first(void **state) {
    fixture *f = *state;
    rk_prefetcher_options one = usual;
    one.threads = 1;
    make(f, &one);
    rk_prefetcher_item items[] = {item(f, 0, 50, 1), item(f, 1, 10, 500), item(f, 2, 30, 1),
                                  item(f, 3, 5, 1), item(f, 4, 40, 500)};
    items[3].stale = true; // the last run did not use it
    add(f, items, 5);
    wait_until_ended(f, 5);
    static const int expected[] = {1, 2, 4, 0, 3};
    for (int i = 0; i < 5; i++)
        assert_int_equal(atomic_load(&f->order[i]), expected[i]);
}

static void no_more_is_held_than_may_be(void **state) {
    fixture *f = *state;
    rk_prefetcher_item items[4];
    for (int i = 0; i < 4; i++) {
        f->works[i].bytes = i == 3 ? 1001 : 400;
        items[i] = item(f, i, (uint64_t)i, 1);
    }
    add(f, items, 4);
    wait_until_ended(f, 2);
    nap(20);
    assert_int_equal(atomic_load(&f->begun), 2);
    assert_true(take(f, 0));
    wait_until_ended(f, 3);   // memory is available again
    assert_false(take(f, 3)); // it exceeds the limit
    assert_true(take(f, 1));
    assert_true(take(f, 2));
    assert_int_equal(last_total.taken, 1);
}

static void how_many_are_held_is_limited_too(void **state) {
    fixture *f = *state;
    rk_prefetcher_options few = usual;
    few.max_held = 2;
    make(f, &few);
    add(f, (rk_prefetcher_item[]){item(f, 0, 0, 1), item(f, 1, 1, 1), item(f, 2, 2, 1)}, 3);
    wait_until_ended(f, 2);
    nap(20);
    assert_int_equal(atomic_load(&f->begun), 2);
}

static void unused_items_are_discarded_after_a_while(void **state) {
    fixture *f = *state;
    rk_prefetcher_options brief = usual;
    brief.keep_ns = 30 * MS;
    make(f, &brief);
    add(f, (rk_prefetcher_item[]){item(f, 0, 0, 1), item(f, 1, 1, 1)}, 2);
    wait_until_settled();
    assert_int_equal(last_total.loaded, 2);
    assert_int_equal(last_total.wasted, 2);
    assert_true(last_total.wasted_load_ns == last_total.load_ns);
    while (atomic_load(&f->works[0].released) == 0) // after the report
        (void)sched_yield();
    assert_int_equal(atomic_load(&f->works[0].destroyed), 1);
    assert_int_equal(atomic_load(&f->works[0].released), 1);
    assert_false(take(f, 0));
}

static void what_is_wanted_late_is_loaded_late(void **state) {
    fixture *f = *state;
    rk_prefetcher_options punctual = usual;
    punctual.early_ns = 10 * MS;
    make(f, &punctual);
    uint64_t start_ns = rk_steady_ns();
    add(f, (rk_prefetcher_item[]){item(f, 0, 60, 1)}, 1);
    wait_until_ended(f, 1);
    assert_true(rk_steady_ns() - start_ns >= 45 * MS);
    assert_true(take(f, 0));
}

static void meet(fixture *f, int number) {
    rk_key key = key_of(number);
    rk_prefetcher_note_request(f->prefetch, &f->owner, &key);
}

static void items_of_a_departed_run_are_discarded(void **state) {
    fixture *f = *state;
    add(f, (rk_prefetcher_item[]){item(f, 0, 0, 1), item(f, 1, 1, 1)}, 2);
    wait_until_ended(f, 2);
    nap(20);
    assert_true(take(f, 0));
    for (int i = 0; i < 15; i++)
        meet(f, 40);
    assert_int_equal(atomic_load(&f->works[1].destroyed), 0);
    meet(f, 40);
    assert_int_equal(atomic_load(&f->works[1].destroyed), 1);
    assert_int_equal(atomic_load(&settled_count), 1);
    assert_true(last_total.departed);
}

static void without_memory_all_items_are_discarded(void **state) {
    fixture *f = *state;
    f->works[1].gate = &f->gate;
    add(f, (rk_prefetcher_item[]){item(f, 0, 0, 1), item(f, 1, 1, 500)}, 2);
    assert_null(rk_prefetcher_add(f->prefetch, &f->other_owner, 8,
                                  (rk_prefetcher_item[]){item(f, 2, 0, 1)}, 1));
    wait_until_ended(f, 2);
    rk_gate_await(&f->gate, 1);
    nap(20);
    assert_int_equal(rk_prefetcher_discard(f->prefetch, NULL, RK_PREFETCHER_MEMORY_SHORT), 2);
    assert_int_equal(rk_prefetcher_discard(f->prefetch, NULL, RK_PREFETCHER_MEMORY_SHORT), 0);
    rk_gate_open(&f->gate); // the running load is discarded too
    assert_true(rk_prefetcher_drain(f->prefetch, &f->owner, FOREVER));
    assert_true(last_total.relieved);
    assert_int_equal(atomic_load(&f->works[1].destroyed), 1);
    assert_false(take(f, 2));
}

static void items_of_one_owner_are_discarded_alone(void **state) {
    fixture *f = *state;
    add(f, (rk_prefetcher_item[]){item(f, 0, 0, 1)}, 1);
    assert_null(rk_prefetcher_add(f->prefetch, &f->other_owner, 8,
                                  (rk_prefetcher_item[]){item(f, 1, 0, 1)}, 1));
    wait_until_ended(f, 2);
    nap(20);
    (void)rk_prefetcher_discard(f->prefetch, &f->owner, RK_PREFETCHER_NOT_NEEDED);
    rk_prefetcher_await_discards(f->prefetch, FOREVER);
    assert_int_equal(atomic_load(&f->works[0].destroyed), 1);
    assert_false(take(f, 0));
    assert_false(last_total.relieved); // memory was not short
    rk_prefetcher_claim claim;
    assert_true(take_of(f, &f->other_owner, 1, &claim));
}

static void what_is_not_to_be_trusted_goes_for_all(void **state) {
    fixture *f = *state;
    rk_prefetcher_item again = item(f, 2, 0, 1);
    again.key = key_of(0);
    add(f, (rk_prefetcher_item[]){item(f, 0, 0, 1), item(f, 1, 0, 1)}, 2);
    assert_null(rk_prefetcher_add(f->prefetch, &f->other_owner, 8, &again, 1));
    wait_until_ended(f, 3);
    rk_key key = key_of(0);
    rk_prefetcher_discard_key(f->prefetch, &key);
    rk_prefetcher_await_discards(f->prefetch, FOREVER);
    assert_int_equal(atomic_load(&f->works[0].destroyed), 1);
    assert_int_equal(atomic_load(&f->works[2].destroyed), 1);
    assert_false(take(f, 0));
    assert_true(take(f, 1));
}

static void failures_are_reported_where_they_count(void **state) {
    fixture *f = *state;
    rk_prefetcher_claim claim;
    f->works[0].miss = RK_MISS_DAMAGED;
    f->works[0].quarantined = true;
    f->works[1].miss = RK_MISS_ABSENT;
    add(f, (rk_prefetcher_item[]){item(f, 0, 0, 1), item(f, 1, 1, 1)}, 2);
    wait_until_ended(f, 2);
    assert_true(take_of(f, &f->owner, 0, &claim)); // otherwise no request would report the failure
    assert_int_equal(claim.answer.miss, RK_MISS_DAMAGED);
    assert_true(claim.answer.quarantined);
    assert_false(take(f, 1)); // the entry may exist by now
    wait_until_settled();
    assert_int_equal(last_total.failed, 2);
    assert_int_equal(last_total.loaded, 0);
}

static void a_plugin_that_cannot_load_is_asked_once(void **state) {
    fixture *f = *state;
    rk_prefetcher_item items[8];
    for (int i = 0; i < 8; i++) {
        f->works[i].miss = RK_MISS_UNIMPLEMENTED;
        f->works[i].code = RK_UNIMPLEMENTED;
        items[i] = item(f, i, (uint64_t)i, 1);
    }
    f->works[0].gate = f->works[1].gate = &f->gate;
    add(f, items, 8);
    rk_gate_await(&f->gate, 2);
    rk_gate_open(&f->gate);
    wait_until_settled();
    assert_int_equal(atomic_load(&f->begun), 2);
    assert_int_equal(last_total.dropped, 6);
}

static void a_load_without_memory_ends_it(void **state) {
    fixture *f = *state;
    f->works[1].miss = RK_MISS_REFUSED;
    f->works[1].code = RK_RESOURCE_EXHAUSTED;
    f->works[1].gate = &f->gate;
    add(f, (rk_prefetcher_item[]){item(f, 0, 0, 1), item(f, 1, 1, 500)}, 2);
    wait_until_ended(f, 1);
    rk_gate_open(&f->gate);
    wait_until_settled();
    assert_int_equal(atomic_load(&f->works[0].destroyed), 1);
    assert_true(last_total.relieved);
}

static void a_drain_leaves_no_thread_inside(void **state) {
    fixture *f = *state;
    rk_prefetcher_options options = usual;
    options.max_held = 10; // so that some items are left, however late the drain comes
    make(f, &options);
    rk_prefetcher_item items[20];
    for (int i = 0; i < 20; i++) {
        f->works[i].sleep_ms = 2;
        items[i] = item(f, i, (uint64_t)i, 1);
    }
    add(f, items, 20);
    wait_until_ended(f, 5);
    assert_true(rk_prefetcher_drain(f->prefetch, &f->owner, FOREVER));
    assert_int_equal(atomic_load(&f->inside), 0);
    int loaded = 0, destroyed = 0, released = 0;
    for (int i = 0; i < 20; i++) {
        loaded += atomic_load(&f->works[i].loaded);
        destroyed += atomic_load(&f->works[i].destroyed);
        released += atomic_load(&f->works[i].released);
    }
    assert_true(loaded >= 5 && loaded <= 10);
    assert_int_equal(destroyed, loaded);
    assert_int_equal(released, 20);
    assert_int_equal(last_total.wasted, loaded);
}

static void a_drain_gives_up_in_time(void **state) {
    fixture *f = *state;
    f->works[0].gate = &f->gate;
    add(f, (rk_prefetcher_item[]){item(f, 0, 0, 1)}, 1);
    rk_gate_await(&f->gate, 1);
    assert_false(rk_prefetcher_drain(f->prefetch, &f->owner, 10 * MS));
    assert_false(rk_prefetcher_drain(f->prefetch, &f->owner, FOREVER)); // does not wait again
    assert_false(rk_prefetcher_close(f->prefetch, FOREVER));
    rk_gate_open(&f->gate);
    make(f, &usual); // frees the old prefetcher, which waits
    assert_int_equal(atomic_load(&f->works[0].destroyed), 1);
}

static void *open_gate_later(void *argument) {
    nap(50);
    rk_gate_open(argument);
    return NULL;
}

static void what_one_owner_gave_up_is_no_others(void **state) {
    fixture *f = *state;
    rk_gate other;
    rk_gate_init(&other);
    f->works[0].gate = &f->gate;
    f->works[1].gate = &other;
    const rk_prefetcher_item first = item(f, 0, 0, 1), second = item(f, 1, 0, 1);
    add(f, &first, 1);
    rk_gate_await(&f->gate, 1);
    assert_false(rk_prefetcher_drain(f->prefetch, &f->owner, 10 * MS));
    assert_null(rk_prefetcher_add(f->prefetch, &other, 8, &second, 1));
    rk_gate_await(&other, 1);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, open_gate_later, &other), 0);
    assert_true(rk_prefetcher_drain(f->prefetch, &other, FOREVER));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(atomic_load(&f->works[1].destroyed), 1);
    assert_false(rk_prefetcher_close(f->prefetch, FOREVER));
}

static void a_closed_one_takes_no_list(void **state) {
    fixture *f = *state;
    assert_true(rk_prefetcher_close(f->prefetch, FOREVER));
    const rk_prefetcher_item one = item(f, 0, 0, 1);
    rk_err *err = rk_prefetcher_add(f->prefetch, &f->owner, 1, &one, 1);
    assert_non_null(err);
    rk_err_free(err);
    assert_int_equal(atomic_load(&f->works[0].released), 1);
}

// Takes items while other threads load, relieve and drain.
static void *run_many(void *argument) {
    fixture *f = argument;
    for (int round = 0; round < 200; round++)
        for (int i = 0; i < 32; i++) {
            rk_prefetcher_claim claim;
            if (take_of(f, &f->owner, i, &claim)) {
                destroy(claim.context, claim.context);
                release(claim.context);
            }
        }
    return NULL;
}

static void many_at_once(void **state) {
    enum { THREADS = 4, ROUNDS = 10 };
    fixture *f = *state;
    for (int round = 0; round < ROUNDS; round++) {
        rk_prefetcher_item items[32];
        memset(f->works, 0, sizeof f->works);
        atomic_store(&f->begun, 0);
        for (int i = 0; i < 32; i++)
            items[i] = item(f, i, (uint64_t)(i % 7), i % 3 ? 1 : 500);
        add(f, items, 32);
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, run_many, f), 0);
        if (round % 2)
            (void)rk_prefetcher_discard(f->prefetch, NULL, RK_PREFETCHER_MEMORY_SHORT);
        for (int i = 0; i < THREADS; i++)
            (void)pthread_join(threads[i], NULL);
        assert_true(rk_prefetcher_drain(f->prefetch, &f->owner, FOREVER));
        for (int i = 0; i < 32; i++) {
            assert_int_equal(atomic_load(&f->works[i].destroyed), atomic_load(&f->works[i].loaded));
            assert_int_equal(atomic_load(&f->works[i].released), 1);
        }
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(what_is_loaded_is_handed_over_once),
        TEST(another_key_is_not_handed_out),
        TEST(a_request_waits_for_its_own_alone),
        TEST(what_was_not_begun_is_taken_off),
        TEST(one_thread_is_kept_for_what_is_quick),
        TEST(where_there_are_few_processors_one_big_one_at_a_time),
        TEST(what_is_wanted_early_goes_first),
        TEST(no_more_is_held_than_may_be),
        TEST(how_many_are_held_is_limited_too),
        TEST(unused_items_are_discarded_after_a_while),
        TEST(what_is_wanted_late_is_loaded_late),
        TEST(items_of_a_departed_run_are_discarded),
        TEST(without_memory_all_items_are_discarded),
        TEST(items_of_one_owner_are_discarded_alone),
        TEST(what_is_not_to_be_trusted_goes_for_all),
        TEST(failures_are_reported_where_they_count),
        TEST(a_plugin_that_cannot_load_is_asked_once),
        TEST(a_load_without_memory_ends_it),
        TEST(a_drain_leaves_no_thread_inside),
        TEST(a_drain_gives_up_in_time),
        TEST(what_one_owner_gave_up_is_no_others),
        TEST(a_closed_one_takes_no_list),
        TEST(many_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
