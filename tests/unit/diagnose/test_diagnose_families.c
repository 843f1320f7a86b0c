#include "diagnose/shapes/families.h"

#include <string.h>

#include "support/expect.h"
#include "support/faults.h"

#define COUNT(dims) RK_ARRAY_LEN(dims)

// Finds the families of programs of one kind with three dimensions.
static void find(const int64_t (*dims)[3], size_t count, rk_families *out) {
    rk_family_program programs[16];
    for (size_t i = 0; i < count; i++)
        programs[i] = (rk_family_program){.kind = "f", .dims = dims[i], .dim_count = 3};
    rk_expect_ok(rk_families_find(programs, count, out));
}

static void expect_members(const rk_family *family, size_t axis, const size_t *members,
                           size_t count) {
    assert_int_equal(family->axis, axis);
    assert_int_equal(family->member_count, count);
    assert_memory_equal(family->members, members, count * sizeof *members);
}
#define EXPECT_MEMBERS(family, axis, ...)                                                          \
    expect_members(family, axis, (const size_t[]){__VA_ARGS__},                                    \
                   RK_ARRAY_LEN(((const size_t[]){__VA_ARGS__})))

static void one_axis_makes_a_family(void **state) {
    (void)state;
    static const int64_t dims[][3] = {{8, 100, 4}, {8, 30, 4}, {8, 100, 4}, {8, 64, 4}};
    RK_AUTO(rk_families) families = {0};
    find(dims, COUNT(dims), &families);
    assert_int_equal(families.count, 1);
    EXPECT_MEMBERS(&families.items[0], 1, 1, 3, 0); // by size, equal ones once
    assert_int_equal(families.items[0].along_count, 1);
}

static void what_goes_with_the_axis_belongs_to_it(void **state) {
    (void)state;
    // The first dimension is the third in blocks of 64. The second is the third minus one.
    static const int64_t dims[][3] = {{1, 29, 30}, {2, 99, 100}, {1, 63, 64}};
    RK_AUTO(rk_families) families = {0};
    find(dims, COUNT(dims), &families);
    assert_int_equal(families.count, 1);
    EXPECT_MEMBERS(&families.items[0], 1, 0, 2, 1);
    assert_int_equal(families.items[0].along_count, 3);
}

static void two_axes_make_families_of_each(void **state) {
    (void)state;
    static const int64_t dims[][3] = {{8, 100, 4}, {8, 30, 4},   {16, 100, 4},
                                      {16, 30, 4}, {32, 999, 4}, {8, 7, 4}};
    RK_AUTO(rk_families) families = {0};
    find(dims, COUNT(dims), &families);
    assert_int_equal(families.count, 4);
    EXPECT_MEMBERS(&families.items[0], 0, 0, 2);
    EXPECT_MEMBERS(&families.items[1], 0, 1, 3);
    EXPECT_MEMBERS(&families.items[2], 1, 3, 2);
    EXPECT_MEMBERS(&families.items[3], 1, 5, 1, 0);
}

static void programs_of_other_kinds_stay_apart(void **state) {
    (void)state;
    static const int64_t a[] = {1}, b[] = {2}, c[] = {3};
    const rk_family_program programs[] = {
        {"f", a, 1}, {"g", b, 1}, {"f", c, 1}, {"no parameters", NULL, 0}, {"h", a, 1}};
    RK_AUTO(rk_families) families = {0};
    rk_expect_ok(rk_families_find(programs, RK_ARRAY_LEN(programs), &families));
    assert_int_equal(families.count, 1);
    EXPECT_MEMBERS(&families.items[0], 0, 0, 2);
}

static void equal_programs_are_no_family(void **state) {
    (void)state;
    static const int64_t dims[][3] = {{8, 100, 4}, {8, 100, 4}};
    RK_AUTO(rk_families) families = {0};
    find(dims, COUNT(dims), &families);
    assert_int_equal(families.count, 0);
    rk_expect_ok(rk_families_find(NULL, 0, &families));
    assert_int_equal(families.count, 0);
}

static void many_axes_at_once_are_no_family(void **state) {
    (void)state;
    enum { AXES = 9 }; // each varies alone
    int64_t dims[AXES + 1][AXES] = {{0}};
    rk_family_program programs[AXES + 1];
    for (size_t i = 0; i <= AXES; i++) {
        if (i < AXES)
            dims[i][i] = 1;
        programs[i] = (rk_family_program){.kind = "f", .dims = dims[i], .dim_count = AXES};
    }
    RK_AUTO(rk_families) families = {0};
    rk_expect_ok(rk_families_find(programs, AXES + 1, &families));
    assert_int_equal(families.count, 0);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    static const int64_t dims[][3] = {{8, 100, 4}, {8, 30, 4}, {16, 100, 4}, {16, 30, 4}};
    rk_family_program programs[COUNT(dims)];
    for (size_t i = 0; i < COUNT(dims); i++)
        programs[i] = (rk_family_program){.kind = "f", .dims = dims[i], .dim_count = 3};
    for (unsigned nth = 1;; nth++) {
        RK_AUTO(rk_families) families = {0};
        rk_fault_begin(&(rk_fault_plan){.nth = nth, .calls = RK_FAULT_ALLOC});
        rk_err *err = rk_families_find(programs, COUNT(dims), &families);
        bool reached = rk_fault_end();
        rk_code code = rk_err_code(err);
        rk_err_free(err);
        if (!reached) {
            assert_int_equal(code, RK_OK);
            assert_int_equal(families.count, 4);
            break;
        }
        assert_int_equal(code, RK_RESOURCE_EXHAUSTED);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_axis_makes_a_family),
        cmocka_unit_test(what_goes_with_the_axis_belongs_to_it),
        cmocka_unit_test(two_axes_make_families_of_each),
        cmocka_unit_test(programs_of_other_kinds_stay_apart),
        cmocka_unit_test(equal_programs_are_no_family),
        cmocka_unit_test(many_axes_at_once_are_no_family),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
