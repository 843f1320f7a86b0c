// Pairs of programs that PyTorch/XLA made, as HLO without names of inputs (programs/make_torch),
// and the choice among several causes of one compilation.
#include <stdio.h>

#include "base/alloc.h"
#include "diagnose/diff/diff.h"
#include "diagnose/explain/explain_internal.h"
#include "fixture.h"
#include "support/expect.h"

static rk_program_diff diff;

static int teardown(void **state) {
    (void)state;
    rk_program_diff_cleanup(&diff);
    return 0;
}

static void compare_two(const char *job, unsigned before, unsigned after) {
    rk_test_indexed a, b;
    char file[128];
    (void)snprintf(file, sizeof file, "%s.%u.hlo", job, before);
    rk_test_read(file, &a);
    (void)snprintf(file, sizeof file, "%s.%u.hlo", job, after);
    rk_test_read(file, &b);
    rk_expect_ok(rk_diff_programs(&a.index, &b.index, &diff));
    rk_test_indexed_cleanup(&a);
    rk_test_indexed_cleanup(&b);
}

static void compare(const char *job) {
    compare_two(job, 1, 2);
}

static void expect_values(size_t at, const char *before, const char *after) {
    assert_string_equal(diff.list.items[at].before, before);
    assert_string_equal(diff.list.items[at].after, after);
}

static void the_inserted_input_is_found_among_equal_types(void **unused) {
    (void)unused;
    compare("torch_key");
    assert_int_equal(diff.cause, RK_CAUSE_PARAMETERS);
    assert_int_equal(diff.list.cause_count, 1);
    assert_int_equal(diff.list.items[0].kind, RK_DIFFERENCE_PARAMETER_ADDED);
    assert_string_equal(diff.list.items[0].after, "tensor<8xf32>");
    assert_int_equal(diff.list.items[0].line, 8);
    assert_false(diff.accumulates);
    // All other inputs are the same: the other differences are the use of the new one and its user.
    for (size_t i = 1; i < diff.list.count; i++)
        assert_int_equal(diff.list.items[i].line, i < 2 ? 8 : 9);
}

// What a scatter applies has no line.
static void the_inside_of_a_scatter_is_no_cause(void **unused) {
    (void)unused;
    compare("torch_scatter");
    assert_int_equal(diff.cause, RK_CAUSE_STRUCTURE);
    assert_true(diff.list.cause_count > 0);
    for (size_t i = 0; i < diff.list.cause_count; i++)
        assert_null(strstr(diff.list.items[i].function, "ScatterCombiner"));
}

static void the_line_of_an_input_is_that_of_its_use(void **unused) {
    (void)unused;
    compare("torch_batch");
    assert_int_equal(diff.cause, RK_CAUSE_SHAPE);
    assert_int_equal(diff.list.cause_count, 1);
    expect_values(0, "tensor<8xf32>", "tensor<4xf32>");
    assert_in_range(diff.list.items[0].line, 8, 9);
}

static void two_checks_of_a_package_are_made_on_two_lines(void **unused) {
    (void)unused;
    compare("torch_infinite");
    assert_int_equal(diff.cause, RK_CAUSE_PARAMETERS);
    assert_true(diff.returns_other_package_line);
}

// The first sentence of the second step is as long as the other one of the first step.
static void two_inputs_that_change_their_sizes_are_not_mistaken(void **unused) {
    (void)unused;
    compare("torch_sentences");
    assert_int_equal(diff.cause, RK_CAUSE_SHAPE);
    assert_int_equal(diff.list.cause_count, 2);
    expect_values(0, "tensor<8x5xs64>", "tensor<8x7xs64>");
    expect_values(1, "tensor<8x7xs64>", "tensor<8x6xs64>");
}

// Both have the same uses, and one takes the old length of the other one.
static void an_input_that_takes_the_size_of_another_keeps_its_place(void **unused) {
    (void)unused;
    compare("torch_edges");
    assert_int_equal(diff.cause, RK_CAUSE_SHAPE);
    assert_int_equal(diff.list.cause_count, 2);
    expect_values(0, "tensor<83x4xf32>", "tensor<79x4xf32>");
    expect_values(1, "tensor<79x4xf32>", "tensor<78x4xf32>");
}

// Lists of 7, 9, 5 and 8 elements get 9, 4, 6 and 3. PyTorch/XLA numbers the last input first.
static void lists_of_one_line_are_paired_in_order(void **unused) {
    (void)unused;
    static const char *const types[][2] = {{"tensor<8xs64>", "tensor<3xs64>"},
                                           {"tensor<5xs64>", "tensor<6xs64>"},
                                           {"tensor<9xs64>", "tensor<4xs64>"},
                                           {"tensor<7xs64>", "tensor<9xs64>"}};
    compare("torch_selected");
    assert_int_equal(diff.cause, RK_CAUSE_PARAMETERS); // another input is new
    assert_int_equal(diff.list.cause_count, 1 + RK_ARRAY_LEN(types));
    assert_string_equal(diff.list.items[0].after, "tensor<4xf32>");
    for (size_t i = 0; i < RK_ARRAY_LEN(types); i++)
        expect_values(1 + i, types[i][0], types[i][1]);
}

static void an_input_with_a_line_comes_first(void **unused) {
    (void)unused;
    compare("torch_mean");
    assert_int_equal(diff.cause, RK_CAUSE_PARAMETERS);
    assert_true(diff.list.cause_count > 1);
    bool removed = false;
    for (size_t i = 0; i < diff.list.cause_count; i++)
        removed |= diff.list.items[i].kind == RK_DIFFERENCE_PARAMETER_REMOVED;
    assert_true(removed); // the divisor, which has no line
    assert_int_equal(diff.list.items[0].kind, RK_DIFFERENCE_PARAMETER_ADDED);
    assert_string_equal(diff.list.items[0].after, "tensor<8xf32>");
    assert_int_equal(diff.list.items[0].line, 10);
}

// Only the mask is new. All other inputs are the same in another type.
static void an_input_of_another_type_is_the_same_by_its_use(void **unused) {
    (void)unused;
    size_t added = 0, types = 0;
    compare("torch_half");
    for (size_t i = 0; i < diff.list.count; i++) {
        const rk_difference *d = &diff.list.items[i];
        bool is_input = d->op && strcmp(d->op, "parameter") == 0;
        assert_int_not_equal(d->kind, RK_DIFFERENCE_PARAMETER_REMOVED);
        added += d->kind == RK_DIFFERENCE_PARAMETER_ADDED;
        types += is_input && d->kind == RK_DIFFERENCE_DTYPE;
    }
    assert_int_equal(added, 1);
    assert_int_equal(types, 4);
}

static void gradients_that_the_update_consumes_are_accumulated(void **unused) {
    (void)unused;
    compare("torch_update");
    assert_int_equal(diff.cause, RK_CAUSE_PARAMETERS);
    assert_true(diff.accumulates);
}

// The update needs the gradients in another order, which renumbers the inputs. All that it adds are
// its own numbers.
static void inputs_in_another_order_are_the_same(void **unused) {
    (void)unused;
    size_t added = 0;
    compare_two("torch_micro", 2, 3);
    for (size_t i = 0; i < diff.list.count; i++) {
        const rk_difference *d = &diff.list.items[i];
        if (!d->op || strcmp(d->op, "parameter") != 0)
            continue;
        assert_int_equal(d->kind, RK_DIFFERENCE_PARAMETER_ADDED);
        assert_string_equal(d->after, "tensor<f32>");
        assert_non_null(d->attribute);
        added++;
    }
    assert_int_equal(added, 1);
}

// No operation is the same: which of the three inputs is new is not known, only that one is.
static void an_input_that_is_not_found_by_its_use_has_no_number(void **unused) {
    (void)unused;
    compare("torch_unlike");
    assert_int_equal(diff.cause, RK_CAUSE_PARAMETERS);
    const rk_difference *head = &diff.list.items[0];
    assert_int_equal(head->kind, RK_DIFFERENCE_PARAMETER_ADDED);
    assert_string_equal(head->after, "tensor<8xf32>");
    assert_null(head->attribute);
}

static void moving_averages_are_not_accumulated(void **unused) {
    (void)unused;
    compare("torch_state");
    assert_int_equal(diff.cause, RK_CAUSE_PARAMETERS);
    assert_false(diff.accumulates);
}

static void views_of_gradients_are_no_cause(void **unused) {
    (void)unused;
    compare("torch_views");
    assert_int_equal(diff.cause, RK_CAUSE_CONSTANT);
    assert_int_equal(diff.list.cause_count, 1);
    expect_values(0, "0", "1");
    assert_int_equal(diff.list.items[0].line, 10);
}

// Several causes.

static const rk_run_compile request;

static void add(rk_explained *item, rk_difference_kind kind, const char *op, unsigned line) {
    const rk_difference plain = {.kind = kind, .order = (uint32_t)item->differences.count};
    const rk_difference_words words = {.op = rk_span_text(op)};
    const rk_source place = {.file = rk_span_text("/job/train.py"), .line = line};
    rk_expect_ok(rk_differences_note(&item->differences, &plain, &words, &place));
}

// A counter on line 8 in each of `count` compilations; the last one also has another size on line
// 20.
static void make_counter(rk_explanation *x, size_t count) {
    x->items = rk_calloc(count, sizeof *x->items);
    assert_non_null(x->items);
    x->count = count;
    for (size_t i = 0; i < count; i++) {
        x->items[i].compile = x->items[i].nearest_of = &request;
        x->items[i].cause = RK_CAUSE_CONSTANT;
        add(&x->items[i], RK_DIFFERENCE_CONSTANT, "hlo.add", 8);
    }
    add(&x->items[count - 1], RK_DIFFERENCE_PARAMETER_ADDED, "parameter", 20);
}

static void the_rarest_change_comes_first(void **unused) {
    (void)unused;
    rk_explanation x = {0};
    make_counter(&x, 4);
    rk_expect_ok(rk_explain_choose_heads(&x));
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(x.items[i].cause, RK_CAUSE_CONSTANT);
    assert_int_equal(x.items[3].cause, RK_CAUSE_PARAMETERS);
    assert_int_equal(rk_explained_head(&x.items[3])->line, 20);
    assert_int_equal(x.items[3].differences.items[1].line, 8);
    rk_explanation_cleanup(&x);
}

// A change that never occurs without another one may be its consequence.
static void a_change_that_never_comes_alone_does_not_lead(void **unused) {
    (void)unused;
    rk_explanation x = {0};
    make_counter(&x, 2);
    rk_expect_ok(rk_explain_choose_heads(&x));
    assert_int_equal(rk_explained_head(&x.items[1])->line, 8);
    rk_explanation_cleanup(&x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_inserted_input_is_found_among_equal_types, teardown),
        cmocka_unit_test_teardown(the_inside_of_a_scatter_is_no_cause, teardown),
        cmocka_unit_test_teardown(the_line_of_an_input_is_that_of_its_use, teardown),
        cmocka_unit_test_teardown(two_inputs_that_change_their_sizes_are_not_mistaken, teardown),
        cmocka_unit_test_teardown(two_checks_of_a_package_are_made_on_two_lines, teardown),
        cmocka_unit_test_teardown(an_input_with_a_line_comes_first, teardown),
        cmocka_unit_test_teardown(an_input_that_takes_the_size_of_another_keeps_its_place,
                                  teardown),
        cmocka_unit_test_teardown(lists_of_one_line_are_paired_in_order, teardown),
        cmocka_unit_test_teardown(an_input_of_another_type_is_the_same_by_its_use, teardown),
        cmocka_unit_test_teardown(gradients_that_the_update_consumes_are_accumulated, teardown),
        cmocka_unit_test_teardown(inputs_in_another_order_are_the_same, teardown),
        cmocka_unit_test_teardown(an_input_that_is_not_found_by_its_use_has_no_number, teardown),
        cmocka_unit_test_teardown(moving_averages_are_not_accumulated, teardown),
        cmocka_unit_test_teardown(views_of_gradients_are_no_cause, teardown),
        cmocka_unit_test(the_rarest_change_comes_first),
        cmocka_unit_test(a_change_that_never_comes_alone_does_not_lead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
