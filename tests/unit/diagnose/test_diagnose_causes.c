// Which of the differences between two programs is the cause, and what follows from it.
#include "run_fixture.h"

static rk_explanation explanation;

static int teardown(void **state) {
    rk_explanation_cleanup(&explanation);
    return run_fixture_teardown(state);
}

static void ask(fixture *f, const char *job, unsigned number) {
    run_fixture_keep(f, job, number, true);
    (void)run_fixture_ask(&f->run, job, number);
}

static void explain(fixture *f) {
    run_fixture_load(f);
    rk_expect_ok(rk_explain(&f->run.model, (rk_earlier_runs){NULL, 0}, &f->corpus, &explanation));
}

// Explains the requests for the first two programs of a job, and returns the second one.
static const rk_explained *explain_two(fixture *f, const char *job) {
    ask(f, job, 1);
    ask(f, job, 2);
    explain(f);
    assert_int_equal(explanation.count, 2);
    return &explanation.items[1];
}

static void expect_cause(const rk_explained *item, rk_cause cause) {
    assert_string_equal(rk_cause_name(item->cause), rk_cause_name(cause));
}

static void expect_in(const char *text, const char *part) {
    if (!text || !strstr(text, part))
        fail_msg("'%s' is not in '%s'", part, text ? text : "nothing");
}

// JAX shares the function of two choices in the second program only. It also converts the number
// that stays weakly typed there, because it multiplies it with one of the full type.
static void numbers_that_are_no_longer_weakly_typed_are_one_cause(void **state) {
    const rk_explained *item = explain_two(*state, "kept_weak");
    expect_cause(item, RK_CAUSE_DTYPE);
    assert_int_equal(item->differences.cause_count, 2);
    for (size_t i = 0; i < item->differences.cause_count; i++) {
        assert_string_equal(item->differences.items[i].before, "weakly typed tensor<f32>");
        assert_string_equal(item->differences.items[i].after, "tensor<f32>");
    }
}

// Only one of the two graphs gives the memory of an input to a result.
static void a_donation_follows_from_other_operations(void **state) {
    const rk_explained *item = explain_two(*state, "torch_donated");
    const rk_differences *list = &item->differences;
    bool has_donation = false;
    expect_cause(item, RK_CAUSE_STRUCTURE);
    assert_int_equal(list->cause_count, 1);
    assert_string_equal(list->items[0].op, "hlo.exponential");
    for (size_t i = 1; i < list->count; i++)
        has_donation |= rk_same_text(list->items[i].attribute, "buffer_donor");
    assert_true(has_donation);
    expect_in(explanation.hidden_branch.evidence, "exponential added");
}

// Both graphs do, for other inputs: the lists of them are compared entry by entry.
static void other_donations_follow_from_other_operations(void **state) {
    const rk_explained *item = explain_two(*state, "torch_donors");
    expect_cause(item, RK_CAUSE_STRUCTURE);
    assert_int_equal(item->differences.cause_count, 1);
    expect_in(explanation.hidden_branch.evidence, "exponential added");
}

static void a_donation_of_jax_follows_from_other_operations(void **state) {
    const rk_explained *item = explain_two(*state, "donated");
    expect_cause(item, RK_CAUSE_STRUCTURE);
    expect_in(explanation.hidden_branch.evidence, "sine added");
}

// Only the last batch has another position, which is thus the rarest change.
static void the_position_of_a_row_follows_from_the_number_of_rows(void **state) {
    for (unsigned i = 1; i <= 4; i++)
        ask(*state, "last_row", i);
    explain(*state);
    const rk_explained *last = &explanation.items[3];
    expect_cause(last, RK_CAUSE_SHAPE);
    assert_int_equal(last->differences.cause_count, 2);
    assert_string_equal(last->differences.items[0].after, "tensor<4x8xf32>");
    assert_string_equal(last->differences.items[1].op, "stablehlo.dynamic_slice");
    assert_int_equal(explanation.pattern_count, 1);
    assert_int_equal(explanation.patterns[0].kind, RK_PATTERN_SHAPE_FAMILY);
    assert_int_equal(explanation.patterns[0].member_count, 3);
}

// The position is an argument of the function that jnp.take calls.
static void a_position_that_is_the_last_row_follows_from_the_number_of_rows(void **state) {
    for (unsigned i = 1; i <= 4; i++)
        ask(*state, "taken_row", i);
    explain(*state);
    expect_cause(&explanation.items[3], RK_CAUSE_SHAPE);
    assert_string_equal(explanation.items[3].differences.items[0].after, "tensor<4x8xf32>");
    assert_int_equal(explanation.pattern_count, 1);
}

// A transpose more of a parameter that load_state_dict copied.
static void views_of_copies_are_no_certain_branch(void **state) {
    const rk_explained *item = explain_two(*state, "torch_restored");
    expect_cause(item, RK_CAUSE_STRUCTURE);
    assert_string_equal(rk_explained_head(item)->op, "hlo.transpose");
    expect_in(item->advice, "the same operations but for transposes, reshapes and broadcasts");
    expect_in(item->advice, "tensors were copied before the step (load_state_dict)");
    assert_false(explanation.hidden_branch.known);
    expect_in(explanation.hidden_branch.evidence, "only in transposes, reshapes and broadcasts");
}

// PyTorch/XLA may record a view once or twice, so a line with views only says little.
static void a_line_of_views_is_no_certain_branch(void **state) {
    const rk_explained *item = explain_two(*state, "torch_folded");
    expect_cause(item, RK_CAUSE_STRUCTURE);
    assert_int_equal(rk_explained_head(item)->line, 9);
    assert_false(explanation.hidden_branch.known);
    expect_in(explanation.hidden_branch.evidence, "only in transposes, reshapes and broadcasts");
}

// A function of a package checks vectors, and then matrices: two values, not two sizes of one.
static void checks_of_another_rank_are_two_checks(void **state) {
    const rk_explained *item = explain_two(*state, "torch_ranks");
    expect_cause(item, RK_CAUSE_FIRST);
    assert_true(explanation.input_shapes.known && !explanation.input_shapes.answer);
}

static void values_that_the_earlier_graph_returns_may_be_a_momentum(void **state) {
    const rk_explained *item = explain_two(*state, "torch_momentum");
    expect_cause(item, RK_CAUSE_PARAMETERS);
    assert_false(item->is_startup);
    expect_in(item->advice,
              "If the earlier one created them, such as the momentum of an optimizer");
}

// The earlier graph returns no value of their type.
static void two_optional_inputs_are_no_momentum(void **state) {
    const rk_explained *item = explain_two(*state, "torch_two_keys");
    expect_cause(item, RK_CAUSE_PARAMETERS);
    assert_int_equal(item->differences.cause_count, 2);
    expect_in(item->advice, "If it is an optional value, always pass one");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, run_fixture_setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(numbers_that_are_no_longer_weakly_typed_are_one_cause),
        TEST(a_donation_follows_from_other_operations),
        TEST(other_donations_follow_from_other_operations),
        TEST(a_donation_of_jax_follows_from_other_operations),
        TEST(the_position_of_a_row_follows_from_the_number_of_rows),
        TEST(a_position_that_is_the_last_row_follows_from_the_number_of_rows),
        TEST(views_of_copies_are_no_certain_branch),
        TEST(a_line_of_views_is_no_certain_branch),
        TEST(checks_of_another_rank_are_two_checks),
        TEST(values_that_the_earlier_graph_returns_may_be_a_momentum),
        TEST(two_optional_inputs_are_no_momentum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
