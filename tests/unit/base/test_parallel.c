#include "base/parallel.h"

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "support/expect.h"
#include "support/faults.h"

enum { ITEMS = 200 };

typedef struct job {
    size_t begun, ended; // both are counted by one thread at a time
    atomic_size_t ran, inside, most_inside;
    atomic_bool is_held; // the first item waits for it
    size_t fails_at[3];  // in begin, run and end; ITEMS: nowhere
} job;

static rk_err *fail_at(const job *self, size_t function, size_t index) {
    return self->fails_at[function] == index ? rk_error(RK_ABORTED, "%zu of %zu", index, function)
                                             : NULL;
}

static rk_err *begin(void *context, size_t index) {
    job *self = context;
    assert_int_equal(index, self->begun++);
    return fail_at(self, 0, index);
}

static rk_err *run(void *context, size_t index) {
    job *self = context;
    size_t inside = atomic_fetch_add(&self->inside, 1) + 1;
    size_t most = atomic_load(&self->most_inside);
    while (inside > most && !atomic_compare_exchange_weak(&self->most_inside, &most, inside))
        continue;
    while (index == 0 && atomic_load(&self->is_held) && atomic_load(&self->ran) < ITEMS / 2)
        (void)sched_yield();
    atomic_fetch_add(&self->ran, 1);
    atomic_fetch_sub(&self->inside, 1);
    return fail_at(self, 1, index);
}

static rk_err *end(void *context, size_t index) {
    job *self = context;
    assert_int_equal(index, self->ended++);
    return fail_at(self, 2, index);
}

static rk_err *run_job(job *self, size_t count, size_t threads) {
    const rk_parallel_work work = {self, count, begin, run, end};
    return rk_parallel_run(&work, threads);
}

static void every_item_runs_once_and_ends_in_order(void **state) {
    (void)state;
    for (size_t threads = 0; threads <= RK_PARALLEL_THREADS_MAX + 1; threads++) {
        job self = {.fails_at = {ITEMS, ITEMS, ITEMS}, .is_held = threads > 1};
        rk_expect_ok(run_job(&self, ITEMS, threads));
        assert_int_equal(self.begun, ITEMS);
        assert_int_equal(self.ran, ITEMS);
        assert_int_equal(self.ended, ITEMS);
        assert_true(self.most_inside <= RK_PARALLEL_THREADS_MAX);
        assert_true(threads < 2 || self.most_inside >= 2);
    }
    job none = {0};
    rk_expect_ok(run_job(&none, 0, 4));
    assert_int_equal(none.begun + none.ran + none.ended, 0);
}

static void an_error_stops_the_rest(void **state) {
    (void)state;
    for (size_t function = 0; function < 3; function++) {
        for (size_t threads = 1; threads <= RK_PARALLEL_THREADS_MAX; threads++) {
            job self = {.fails_at = {ITEMS, ITEMS, ITEMS}};
            self.fails_at[function] = 50;
            rk_err *err = run_job(&self, ITEMS, threads);
            assert_int_equal(rk_err_code(err), RK_ABORTED);
            assert_true(self.ended <= 50 + (function == 2));
            assert_true(threads > 1 || self.begun == 51);
            rk_err_free(err);
        }
    }
}

static void the_error_of_the_first_item_counts(void **state) {
    (void)state;
    job self = {.fails_at = {ITEMS, 0, ITEMS}, .is_held = true};
    self.fails_at[0] = ITEMS / 2 + 20; // fails first
    rk_err *err = run_job(&self, ITEMS, 2);
    assert_string_equal(rk_err_message(err), "0 of 1");
    rk_err_free(err);
}

static void memory_is_short(void **state) {
    (void)state;
    job self = {.fails_at = {ITEMS, ITEMS, ITEMS}};
    rk_fault_begin(&(rk_fault_plan){.nth = 1, .calls = RK_FAULT_ALLOC});
    rk_err *err = run_job(&self, ITEMS, 2);
    assert_true(rk_fault_end());
    assert_int_equal(rk_err_code(err), RK_RESOURCE_EXHAUSTED);
    assert_int_equal(self.begun, 0);
    rk_err_free(err);
}

static void large_items(void **state) {
    (void)state;
    assert_true(rk_parallel_threads() >= 1 && rk_parallel_threads() <= RK_PARALLEL_THREADS_MAX);
    assert_true(rk_parallel_is_large(2, 100, 100));
    assert_true(rk_parallel_is_large(2, 60, 100));
    assert_false(rk_parallel_is_large(2, 50, 100));
    assert_false(rk_parallel_is_large(1, 100, 100)); // on one processor
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_item_runs_once_and_ends_in_order),
        cmocka_unit_test(an_error_stops_the_rest),
        cmocka_unit_test(the_error_of_the_first_item_counts),
        cmocka_unit_test(memory_is_short),
        cmocka_unit_test(large_items),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
