#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/heap_reserve.h"
#include "support/expect.h"
#include "support/mapped.h"

#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||                               \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define OWN_MALLOC true
#else
#define OWN_MALLOC false
#endif

enum { MIB = 1 << 20 };

static void *reserve(void *argument) {
    size_t *bytes = argument;
    rk_heap_reservation reservation;
    rk_heap_reserve(*bytes, &reservation);
    *bytes = reservation.count ? rk_mapped_bytes(reservation.pins[0]) : 0;
    void *small[1000];
    for (size_t i = 0; i < RK_ARRAY_LEN(small); i++)
        assert_non_null(small[i] = malloc(1000));
    for (size_t i = 0; i < RK_ARRAY_LEN(small); i++)
        free(small[i]);
    rk_heap_release(&reservation);
    assert_int_equal(reservation.count, 0);
    return NULL;
}

static size_t reserved_in_a_thread(size_t bytes) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, reserve, &bytes), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return bytes;
}

// True if the machine limits address space. Then rk_heap_reserve does nothing.
static bool is_scarce(void) {
    struct rlimit space, data;
    assert_int_equal(getrlimit(RLIMIT_AS, &space), 0);
    assert_int_equal(getrlimit(RLIMIT_DATA, &data), 0);
    FILE *file = fopen("/proc/sys/vm/overcommit_memory", "re");
    int mode = file ? fgetc(file) : '2';
    if (file)
        (void)fclose(file);
    return space.rlim_cur != RLIM_INFINITY || data.rlim_cur != RLIM_INFINITY || mode == '2';
}

static void space_is_reserved(void **state) {
    (void)state;
    if (OWN_MALLOC) {
        assert_int_equal(reserved_in_a_thread(50 * MIB), 0);
        return;
    }
    if (is_scarce())
        skip();
    assert_true(reserved_in_a_thread(50 * MIB) >= 49 * MIB);
}

static void space_is_reserved_in_more_than_one_heap(void **state) {
    (void)state;
    if (OWN_MALLOC || is_scarce())
        skip();
    rk_heap_reservation reservation;
    rk_heap_reserve(SIZE_MAX, &reservation);
    assert_true(reservation.count > 16 && reservation.count <= RK_HEAP_PINS_MAX);
    rk_heap_release(&reservation);
}

static void nothing_is_asked_for(void **state) {
    (void)state;
    assert_int_equal(reserved_in_a_thread(0), 0);
    assert_int_equal(reserved_in_a_thread(1000), 0);
}

static void address_space_that_is_limited_is_left_alone(void **state) {
    (void)state;
    if (OWN_MALLOC) // the sanitizer needs the address space
        skip();
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_DATA, &before), 0);
    limit = before;
    limit.rlim_cur = (rlim_t)1 << 40;
    if (setrlimit(RLIMIT_DATA, &limit) != 0)
        skip();
    assert_int_equal(reserved_in_a_thread(50 * MIB), 0);
    assert_int_equal(setrlimit(RLIMIT_DATA, &before), 0);
}

typedef struct claimant {
    pthread_barrier_t *allocated; // the next thread may start
    pthread_barrier_t *step;
    uintptr_t address; // of its last allocation
} claimant;

static void *claim_then_allocate(void *argument) {
    claimant *self = argument;
    rk_heap_claim();
    (void)pthread_barrier_wait(self->step);
    (void)pthread_barrier_wait(self->step); // the other threads have allocated
    void *block = malloc(4000);
    self->address = (uintptr_t)block;
    free(block);
    return NULL;
}

static void *allocate_and_stay(void *argument) {
    claimant *self = argument;
    void *block = malloc(4000);
    self->address = (uintptr_t)block;
    (void)pthread_barrier_wait(self->allocated);
    (void)pthread_barrier_wait(self->step);
    free(block);
    return NULL;
}

// A thread that claims its heap early shares it with no later thread and not with the first. The
// threads allocate in turn: glibc counts a new heap before other threads can share it, so threads
// that allocate at the same moment share the few heaps that are already in its list.
static void a_heap_that_was_claimed_is_its_own(void **state) {
    (void)state;
    if (OWN_MALLOC || is_scarce())
        skip();
    enum { OTHERS_MAX = 8192, HEAP_BYTES = 64 * MIB };
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    // A few more threads than heaps. With many more, threads would share every heap.
    size_t count = (size_t)CPU_COUNT(&set) * 8 + 2;
    if (count > OTHERS_MAX)
        skip();
    pthread_barrier_t one, turn, all;
    assert_int_equal(pthread_barrier_init(&one, NULL, 2), 0);
    assert_int_equal(pthread_barrier_init(&turn, NULL, 2), 0);
    assert_int_equal(pthread_barrier_init(&all, NULL, (unsigned)count + 1), 0);
    claimant first = {.step = &one}, *others = calloc(count, sizeof *others);
    pthread_t thread, *threads = calloc(count, sizeof *threads);
    assert_int_equal(pthread_create(&thread, NULL, claim_then_allocate, &first), 0);
    (void)pthread_barrier_wait(&one);
    for (size_t i = 0; i < count; i++) {
        others[i] = (claimant){.allocated = &turn, .step = &all};
        assert_int_equal(pthread_create(&threads[i], NULL, allocate_and_stay, &others[i]), 0);
        (void)pthread_barrier_wait(&turn);
    }
    (void)pthread_barrier_wait(&all);
    (void)pthread_barrier_wait(&one);
    assert_int_equal(pthread_join(thread, NULL), 0);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_not_equal(others[i].address / HEAP_BYTES, first.address / HEAP_BYTES);
    }
    assert_int_not_equal((uintptr_t)threads / HEAP_BYTES, first.address / HEAP_BYTES);
    free(threads);
    free(others);
    (void)pthread_barrier_destroy(&all);
    (void)pthread_barrier_destroy(&turn);
    (void)pthread_barrier_destroy(&one);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(space_is_reserved),
        cmocka_unit_test(space_is_reserved_in_more_than_one_heap),
        cmocka_unit_test(nothing_is_asked_for),
        cmocka_unit_test(address_space_that_is_limited_is_left_alone),
        cmocka_unit_test(a_heap_that_was_claimed_is_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
