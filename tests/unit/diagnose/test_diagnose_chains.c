// Chains of compared programs in long runs: one function with thousands of sets of inputs.
#include "base/alloc.h"
#include "diagnose/explain/patterns_internal.h"
#include "support/expect.h"

// A search of all items for each link of each chain would take longer than the limit of a test.
enum { PROGRAMS = 8000 };

static char name[] = "jit_step", parameter[] = "parameter", file[] = "train.py", mask[] = "mask",
            extra[] = "extra", type[] = "tensor<8xf32>";
static rk_run_compile compiles[PROGRAMS];
static rk_explained items[PROGRAMS];
static rk_known known[PROGRAMS];
static rk_difference differences[PROGRAMS];
static rk_run_model run;
static rk_explanation explanation;

// Makes a run in which each program is compared with the one `back` requests before it.
static void make_chains(size_t back) {
    run = (rk_run_model){.compiles = compiles, .compile_count = PROGRAMS};
    explanation = (rk_explanation){.run = &run, .items = items, .count = PROGRAMS};
    for (size_t i = 0; i < PROGRAMS; i++) {
        compiles[i] = (rk_run_compile){.seq = i + 1, .name = name};
        known[i] = (rk_known){.has_sketch = true};
        differences[i] = (rk_difference){.kind = RK_DIFFERENCE_PARAMETER_ADDED,
                                         .op = parameter,
                                         .attribute = i / back % 2 ? mask : extra,
                                         .after = type,
                                         .file = file,
                                         .line = 1};
        items[i] = (rk_explained){.compile = &compiles[i], .program = &known[i]};
        if (i < back)
            continue;
        items[i].cause = RK_CAUSE_PARAMETERS;
        items[i].nearest = &known[i - back];
        items[i].nearest_of = &compiles[i - back];
        items[i].differences =
            (rk_differences){.items = &differences[i], .count = 1, .cause_count = 1};
    }
}

static void free_patterns(void) {
    for (size_t i = 0; i < explanation.pattern_count; i++) {
        rk_pattern *pattern = &explanation.patterns[i];
        rk_free(pattern->members);
        rk_free(pattern->summary);
        rk_free(pattern->advice);
        rk_free(pattern->file);
    }
    rk_free(explanation.patterns);
}

static void find(void) {
    rk_explainer e = {.run = &run, .out = &explanation};
    rk_expect_ok(rk_find_input_patterns(&e));
}

static void a_long_chain_is_one_group(void **state) {
    (void)state;
    make_chains(1);
    find();
    assert_int_equal(explanation.pattern_count, 1);
    assert_int_equal(explanation.patterns[0].kind, RK_PATTERN_OPTIONAL_INPUTS);
    assert_int_equal(explanation.patterns[0].member_count, PROGRAMS - 1);
    free_patterns();
}

static void chains_of_one_name_are_groups_of_their_own(void **state) {
    (void)state;
    enum { CHAINS = 4 };
    make_chains(CHAINS);
    find();
    assert_int_equal(explanation.pattern_count, CHAINS);
    for (size_t i = 0; i < explanation.pattern_count; i++)
        assert_int_equal(explanation.patterns[i].member_count, PROGRAMS / CHAINS - 1);
    free_patterns();
}

// Of two threads, the later request of the list may be the one that the other was compared with.
static void a_chain_may_go_through_a_later_item(void **state) {
    (void)state;
    make_chains(1);
    explanation.count = 4;
    items[1].nearest_of = &compiles[2]; // 3 → 1 → 2 → 0
    items[1].nearest = &known[2];
    items[2].nearest_of = &compiles[0];
    items[2].nearest = &known[0];
    items[3].nearest_of = &compiles[1];
    items[3].nearest = &known[1];
    differences[3].attribute = extra;
    find();
    assert_int_equal(explanation.pattern_count, 1);
    assert_int_equal(explanation.patterns[0].member_count, 3);
    free_patterns();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_chain_is_one_group),
        cmocka_unit_test(chains_of_one_name_are_groups_of_their_own),
        cmocka_unit_test(a_chain_may_go_through_a_later_item),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
