#include "base/alloc.h"

#include <string.h>

#include "support/cmocka.h"
#include "support/faults.h"

static void nothing_is_still_memory(void **state) {
    (void)state;
    rk_autofree void *empty = rk_malloc(0);
    assert_non_null(empty);
    rk_autofree void *none = rk_calloc(0, 8);
    assert_non_null(none);
    rk_free(NULL);
}

static void calloc_is_zeroed_and_checks_its_product(void **state) {
    (void)state;
    static const char zeros[64];
    rk_autofree char *block = rk_calloc(8, 8);
    assert_memory_equal(block, zeros, sizeof zeros);
    assert_null(rk_calloc(SIZE_MAX / 2, 3));
}

static void strndup_takes_exactly_len_bytes(void **state) {
    (void)state;
    rk_autofree char *copy = rk_strndup("a\0bc", 3);
    assert_memory_equal(copy, "a\0b", 4);
}

static void failures_reach_the_caller(void **state) {
    (void)state;
    rk_autofree char *kept = rk_strdup("kept");
    rk_fault_begin(&(rk_fault_plan){.nth = 1, .calls = RK_FAULT_ALLOC, .lasting = true});
    void *results[] = {rk_malloc(1), rk_calloc(1, 1), rk_realloc(kept, 100), rk_strdup("x")};
    assert_true(rk_fault_end());
    for (size_t i = 0; i < RK_ARRAY_LEN(results); i++)
        assert_null(results[i]);
    assert_string_equal(kept, "kept");
}

static void take_leaves_null_behind(void **state) {
    (void)state;
    rk_autofree char *text = rk_strdup("text");
    rk_autofree char *taken = RK_TAKE(text);
    assert_null(text);
    assert_string_equal(taken, "text");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_still_memory),
        cmocka_unit_test(calloc_is_zeroed_and_checks_its_product),
        cmocka_unit_test(strndup_takes_exactly_len_bytes),
        cmocka_unit_test(failures_reach_the_caller),
        cmocka_unit_test(take_leaves_null_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
