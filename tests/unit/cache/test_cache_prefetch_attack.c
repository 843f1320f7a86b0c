// Attacks on prefetching where its threads release the lock. Destroying or loading at that moment
// must not start another load, and must not make waiting threads believe that memory is available
// again.
#include "support/cmocka.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/thread.h"
#include "cache/prefetcher_internal.h"
#include "support/faults.h"
#include "support/gate.h"

enum { ITEMS_MAX = 32 };
#define MS      ((uint64_t)1000000)
#define FOREVER (UINT64_MAX / 4)

typedef struct work {
    rk_gate *gate; // NULL: loading does not block
    int destroy_ms;
    rk_miss miss;
    atomic_int begun, loaded, destroyed, released;
} work;

typedef struct fixture {
    rk_prefetcher *prefetch;
    work works[ITEMS_MAX];
    rk_gate gate, other_gate;
    int owner, other_owner;
} fixture;

static rk_prefetcher_total last_total;

static void settled(const rk_prefetcher_total *total) {
    last_total = *total;
}

static void nap(int milliseconds) {
    (void)nanosleep(&(struct timespec){0, milliseconds * (long)MS}, NULL);
}

static void load(void *context, rk_answer *out_answer, uint64_t *out_bytes) {
    work *w = context;
    atomic_fetch_add(&w->begun, 1);
    rk_gate_pass(w->gate);
    *out_bytes = 1;
    out_answer->miss = w->miss;
    if (w->miss == RK_MISS_NONE)
        out_answer->handle = w;
    atomic_fetch_add(&w->loaded, 1);
}

static void destroy(void *context, void *handle) {
    work *w = context;
    assert_ptr_equal(handle, w);
    nap(w->destroy_ms);
    atomic_fetch_add(&w->destroyed, 1);
}

static void release(void *context) {
    work *w = context;
    atomic_fetch_add(&w->released, 1);
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

static void make(fixture *f, size_t max_held) {
    const rk_prefetcher_actions actions = {load, destroy, release};
    rk_prefetcher_options options = usual;
    options.max_held = max_held;
    rk_prefetcher_free(f->prefetch);
    assert_null(rk_prefetcher_new(&options, &actions, &f->prefetch));
}

static int setup(void **state) {
    fixture *f = calloc(1, sizeof *f);
    rk_gate_init(&f->gate);
    rk_gate_init(&f->other_gate);
    make(f, usual.max_held);
    *state = f;
    return 0;
}

static int teardown(void **state) {
    fixture *f = *state;
    rk_gate_open(&f->gate);
    rk_gate_open(&f->other_gate);
    rk_prefetcher_free(f->prefetch);
    free(f);
    return 0;
}

static rk_key key_of(int number) {
    rk_key key = {0};
    (void)snprintf((char *)key.digest.bytes, RK_DIGEST_BYTES, "key %d", number);
    return key;
}

static void add_for(fixture *f, const void *owner, int first, int count) {
    rk_prefetcher_item items[ITEMS_MAX];
    for (int i = 0; i < count; i++)
        items[i] = (rk_prefetcher_item){.key = key_of(first + i),
                                        .wanted_ns = rk_steady_ns() + (uint64_t)i * MS,
                                        .load_ns = MS,
                                        .bytes = 1,
                                        .context = &f->works[first + i]};
    assert_null(rk_prefetcher_add(f->prefetch, owner, 1, items, (size_t)count));
}

static bool take(fixture *f, int number, rk_prefetcher_claim *out_claim) {
    rk_key key = key_of(number);
    return rk_prefetcher_take(f->prefetch, &f->owner, &key, out_claim);
}

static void wait_for(atomic_int *count, int least) {
    while (atomic_load(count) < least)
        (void)sched_yield();
}

static int count_unloaded(fixture *f, int first, int count) {
    int unloaded = 0;
    (void)pthread_mutex_lock(&f->prefetch->mutex);
    for (const rk_prefetcher_list *list = f->prefetch->lists; list; list = list->next)
        for (const rk_prefetcher_job *job = list->jobs; job; job = job->next) {
            long number = (work *)job->what.context - f->works;
            bool is_unloaded =
                job->state == RK_PREFETCHER_QUEUED || job->state == RK_PREFETCHER_LOADING;
            unloaded += is_unloaded && number >= first && number < first + count;
        }
    (void)pthread_mutex_unlock(&f->prefetch->mutex);
    return unloaded;
}

static void wait_until_loaded(fixture *f, int first, int count) {
    while (count_unloaded(f, first, count) > 0)
        (void)sched_yield();
}

// Two items are loaded and the limit is two. Destroying the first makes space, but takes some time.
static void be_full(fixture *f, const void *owner) {
    make(f, 2);
    for (int i = 0; i < 4; i++)
        f->works[i].destroy_ms = 30;
    add_for(f, owner, 0, 4);
    wait_until_loaded(f, 0, 2);
}

static void assert_not_begun(fixture *f, int first, int count) {
    for (int i = first; i < first + count; i++) {
        assert_int_equal(atomic_load(&f->works[i].begun), 0);
        assert_int_equal(atomic_load(&f->works[i].released), 1);
    }
}

static void a_drain_begins_nothing_new(void **state) {
    fixture *f = *state;
    be_full(f, &f->owner);
    assert_true(rk_prefetcher_drain(f->prefetch, &f->owner, FOREVER));
    assert_not_begun(f, 2, 2);
}

static void relief_begins_nothing_new(void **state) {
    fixture *f = *state;
    be_full(f, &f->owner);
    add_for(f, &f->other_owner, 4, 2); // other clients share the memory: these must not start
    assert_int_equal(rk_prefetcher_discard(f->prefetch, NULL, RK_PREFETCHER_MEMORY_SHORT), 2);
    nap(5);
    assert_not_begun(f, 2, 4);
}

static void an_end_begins_nothing_new(void **state) {
    fixture *f = *state;
    be_full(f, &f->owner);
    add_for(f, &f->other_owner, 4, 2);
    assert_true(rk_prefetcher_close(f->prefetch, FOREVER));
    assert_not_begun(f, 2, 4);
}

static void *open_after_a_nap(void *argument) {
    fixture *f = argument;
    nap(20);
    rk_gate_open(&f->gate);
    return NULL;
}

// Memory is available only after the running load of a discarded item has ended and the item was
// destroyed.
static void relief_waits_for_what_is_being_loaded(void **state) {
    fixture *f = *state;
    pthread_t thread;
    f->works[0].gate = &f->gate;
    add_for(f, &f->owner, 0, 1);
    wait_for(&f->works[0].begun, 1);
    assert_int_equal(rk_prefetcher_discard(f->prefetch, NULL, RK_PREFETCHER_MEMORY_SHORT), 0);
    assert_int_equal(pthread_create(&thread, NULL, open_after_a_nap, f), 0);
    rk_prefetcher_await_discards(f->prefetch, FOREVER);
    assert_int_equal(atomic_load(&f->works[0].destroyed), 1);
    (void)pthread_join(thread, NULL);
}

static void a_wait_for_a_load_ends_with_the_first(void **state) {
    fixture *f = *state;
    pthread_t thread;
    rk_prefetcher_await_load(f->prefetch, FOREVER); // nothing is being loaded
    f->works[0].gate = &f->gate;
    f->works[1].gate = &f->other_gate;
    add_for(f, &f->owner, 0, 2);
    wait_for(&f->works[0].begun, 1);
    wait_for(&f->works[1].begun, 1);
    rk_prefetcher_await_load(f->prefetch, 10 * MS); // waits no longer than the limit
    assert_int_equal(pthread_create(&thread, NULL, open_after_a_nap, f), 0);
    rk_prefetcher_await_load(f->prefetch, FOREVER);
    (void)pthread_join(thread, NULL);
    assert_int_equal(atomic_load(&f->works[0].loaded), 1);
    assert_int_equal(atomic_load(&f->works[1].loaded), 0);
    rk_gate_open(&f->other_gate);
}

static void *relieve(void *argument) {
    fixture *f = argument;
    (void)rk_prefetcher_discard(f->prefetch, NULL, RK_PREFETCHER_MEMORY_SHORT);
    return NULL;
}

// Two threads run out of memory at once. The second waits until the first has destroyed its items.
static void relief_waits_for_another_relief(void **state) {
    fixture *f = *state;
    pthread_t thread;
    for (int i = 0; i < 3; i++)
        f->works[i].destroy_ms = 30;
    add_for(f, &f->owner, 0, 3);
    wait_until_loaded(f, 0, 3);
    assert_int_equal(pthread_create(&thread, NULL, relieve, f), 0);
    nap(10);
    (void)rk_prefetcher_discard(f->prefetch, NULL, RK_PREFETCHER_MEMORY_SHORT);
    rk_prefetcher_await_discards(f->prefetch, FOREVER);
    for (int i = 0; i < 3; i++)
        assert_int_equal(atomic_load(&f->works[i].destroyed), 1);
    (void)pthread_join(thread, NULL);
}

static void relief_does_not_wait_for_what_is_wanted(void **state) {
    fixture *f = *state;
    rk_prefetcher_await_discards(f->prefetch, FOREVER); // nothing was discarded
    add_for(f, &f->owner, 0, 1);
    wait_until_loaded(f, 0, 1);
    rk_prefetcher_await_discards(f->prefetch, FOREVER); // a loaded item is no reason to wait
    assert_int_equal(atomic_load(&f->works[0].destroyed), 0);
    rk_prefetcher_claim claim;
    assert_true(take(f, 0, &claim));
    f->works[1].gate = &f->gate;
    add_for(f, &f->owner, 1, 1);
    wait_for(&f->works[1].begun, 1);
    assert_int_equal(rk_prefetcher_discard(f->prefetch, NULL, RK_PREFETCHER_MEMORY_SHORT), 0);
    rk_prefetcher_await_discards(f->prefetch, 10 * MS); // waits no longer than the limit
    assert_int_equal(atomic_load(&f->works[1].loaded), 0);
}

// A repeated request for a listed item, or for one that could not be loaded, does not count as a
// departure from the list.
static void what_was_on_the_list_is_no_other_thing(void **state) {
    fixture *f = *state;
    rk_prefetcher_claim claim;
    rk_key known = key_of(0), failed = key_of(1);
    f->works[1].miss = RK_MISS_ABSENT;
    add_for(f, &f->owner, 0, 3);
    wait_until_loaded(f, 0, 3);
    assert_true(take(f, 0, &claim));
    for (int i = 0; i < 100; i++) {
        assert_false(take(f, 0, &claim));
        rk_prefetcher_note_request(f->prefetch, &f->owner, &known);
        rk_prefetcher_note_request(f->prefetch, &f->owner, &failed);
        rk_prefetcher_note_request(f->prefetch, &f->other_owner,
                                   &(rk_key){0}); // this owner has no list
    }
    assert_true(take(f, 2, &claim));
    assert_false(last_total.departed);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_drain_begins_nothing_new),
        TEST(relief_begins_nothing_new),
        TEST(an_end_begins_nothing_new),
        TEST(relief_waits_for_what_is_being_loaded),
        TEST(a_wait_for_a_load_ends_with_the_first),
        TEST(relief_waits_for_another_relief),
        TEST(relief_does_not_wait_for_what_is_wanted),
        TEST(what_was_on_the_list_is_no_other_thing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
