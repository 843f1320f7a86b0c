#include "diagnose/shapes/buckets.h"

#include <stdbool.h>

#include "support/expect.h"

// A reproducible sequence, the same on all machines.
static uint64_t random_state = 88172645463325252u;
static uint64_t random_below(uint64_t bound) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % bound;
}

static uint64_t round_up(uint64_t size, uint64_t multiple) {
    return (size + multiple - 1) / multiple * multiple;
}

// The padding if every size is rounded up to the smallest sufficient bound; UINT64_MAX if a size
// exceeds all bounds.
static uint64_t padding_of(const rk_bucket_size *sizes, size_t count, const uint64_t *bounds,
                           size_t bound_count) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t best = UINT64_MAX;
        for (size_t b = 0; b < bound_count; b++)
            if (bounds[b] >= sizes[i].size && bounds[b] < best)
                best = bounds[b];
        if (best == UINT64_MAX)
            return UINT64_MAX;
        sum += (best - sizes[i].size) * sizes[i].weight;
    }
    return sum;
}

// The least padding over all sets of at most `buckets` bounds. Bounds are sizes, rounded up.
static uint64_t brute_force(const rk_bucket_size *sizes, size_t count, uint64_t multiple,
                            size_t buckets) {
    uint64_t least = UINT64_MAX;
    for (uint32_t chosen = 1; chosen < UINT32_C(1) << count; chosen++) {
        uint64_t bounds[16];
        size_t bound_count = 0;
        if ((size_t)__builtin_popcount(chosen) > buckets)
            continue;
        for (size_t i = 0; i < count; i++)
            if (chosen >> i & 1)
                bounds[bound_count++] = round_up(sizes[i].size, multiple);
        uint64_t padded = padding_of(sizes, count, bounds, bound_count);
        least = padded < least ? padded : least;
    }
    return least;
}

static size_t make_case(rk_bucket_size *sizes) {
    size_t count = 1 + random_below(10);
    uint64_t largest = random_below(2) ? 40 : 5000;
    for (size_t i = 0; i < count;) {
        sizes[i] = (rk_bucket_size){.size = 1 + random_below(largest),
                                    .weight = random_below(4) ? random_below(1000) : 1,
                                    .compile_ns = random_below(1000)};
        bool is_new = true;
        for (size_t j = 0; j < i; j++)
            is_new = is_new && sizes[j].size != sizes[i].size;
        i += is_new ? 1 : 0;
    }
    return count;
}

static void no_other_choice_pads_less(void **state) {
    (void)state;
    for (int round = 0; round < 1000; round++) {
        rk_bucket_size sizes[10];
        rk_bucket_plan plans[RK_BUCKETS_MAX];
        size_t count = make_case(sizes), plan_count;
        uint64_t multiple = random_below(3) ? 1 : 1 + random_below(16);
        rk_expect_ok(rk_buckets_plan(sizes, count, multiple, RK_BUCKETS_MAX, plans, &plan_count));
        assert_in_range(plan_count, 1, RK_BUCKETS_MAX);
        for (size_t k = 0; k < plan_count; k++) {
            assert_int_equal(plans[k].count, k + 1);
            uint64_t padded = padding_of(sizes, count, plans[k].bounds, plans[k].count);
            assert_int_equal(padded, brute_force(sizes, count, multiple, k + 1));
            assert_true(plans[k].padded == (double)padded);
            for (size_t b = 0; b <= k; b++)
                assert_int_equal(plans[k].bounds[b] % multiple, 0);
        }
    }
}

static void greedy_would_be_worse(void **state) {
    (void)state;
    // Halving the range, or always cutting at the largest gap, would pad more.
    const rk_bucket_size sizes[] = {{1, 1, 5}, {50, 1000, 5}, {60, 1, 5}, {100, 10, 5}};
    rk_bucket_plan plans[RK_BUCKETS_MAX];
    size_t count;
    rk_expect_ok(rk_buckets_plan(sizes, 4, 1, RK_BUCKETS_MAX, plans, &count));
    assert_int_equal(count, 4);
    assert_int_equal(plans[1].bounds[0], 50);
    assert_int_equal(plans[1].bounds[1], 100);
    assert_true(plans[1].padded == 49 + 40);
    assert_true(plans[3].padded == 0);
    assert_int_equal(plans[1].compile_ns, 10);
    assert_int_equal(plans[1].saved_ns, 10);
    assert_int_equal(plans[3].saved_ns, 0);
}

static void sizes_of_one_multiple_share_a_bucket(void **state) {
    (void)state;
    const rk_bucket_size sizes[] = {{130, 1, 7}, {5, 2, 1}, {100, 3, 3}};
    rk_bucket_plan plans[RK_BUCKETS_MAX];
    size_t count;
    rk_expect_ok(rk_buckets_plan(sizes, 3, 128, RK_BUCKETS_MAX, plans, &count));
    assert_int_equal(count, 2);
    assert_int_equal(plans[1].bounds[0], 128);
    assert_int_equal(plans[1].bounds[1], 256);
    assert_int_equal(plans[1].compile_ns, 3 + 7);
    assert_int_equal(plans[1].saved_ns, 1);
    assert_true(plans[1].padded == 126 + 2 * 123 + 3 * 28);
}

static void the_fewest_buckets_that_waste_little_are_chosen(void **state) {
    (void)state;
    const rk_bucket_plan plans[] = {{.waste = 0.5}, {.waste = 0.11}, {.waste = 0.05}};
    assert_int_equal(rk_buckets_choose(plans, 3, 0.12), 1);
    assert_int_equal(rk_buckets_choose(plans, 3, 0.5), 0);
    assert_int_equal(rk_buckets_choose(plans, 3, 0.01), 2);
}

static void what_cannot_be_planned_is_refused(void **state) {
    (void)state;
    static rk_bucket_size many[RK_BUCKETS_MAX_SIZES + 1];
    rk_bucket_plan plans[RK_BUCKETS_MAX];
    size_t count;
    for (size_t i = 0; i < RK_ARRAY_LEN(many); i++)
        many[i] = (rk_bucket_size){.size = i + 1, .weight = 1};
    rk_expect_code(RK_INVALID_ARGUMENT, rk_buckets_plan(many, 0, 1, 8, plans, &count));
    rk_expect_code(RK_INVALID_ARGUMENT, rk_buckets_plan(many, 3, 0, 8, plans, &count));
    rk_expect_code(RK_OUT_OF_RANGE, rk_buckets_plan(many, RK_ARRAY_LEN(many), 1, 8, plans, &count));
    many[0].size = UINT64_MAX - 3;
    rk_expect_code(RK_OUT_OF_RANGE, rk_buckets_plan(many, 1, 8, 8, plans, &count));
    many[0].size = 1;
    rk_expect_ok(rk_buckets_plan(many, RK_BUCKETS_MAX_SIZES, 1, 100, plans, &count));
    assert_int_equal(count, RK_BUCKETS_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_other_choice_pads_less),
        cmocka_unit_test(greedy_would_be_worse),
        cmocka_unit_test(sizes_of_one_multiple_share_a_bucket),
        cmocka_unit_test(the_fewest_buckets_that_waste_little_are_chosen),
        cmocka_unit_test(what_cannot_be_planned_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
