// How one difference reads.
#include "cli/diff_view.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/expect.h"

static void expect(rk_difference_kind kind, char *before, char *after, char *constant,
                   const char *text) {
    char op[] = "parameter", attribute[] = "x";
    RK_AUTO(rk_buf) out = {0};
    rk_diff_view_write(&(rk_difference){.kind = kind,
                                        .op = op,
                                        .attribute = attribute,
                                        .before = before,
                                        .after = after,
                                        .constant = constant},
                       &out);
    assert_string_equal(rk_buf_text(&out), text);
}

static void shardings_have_words(void **state) {
    (void)state;
    char none[] = "none", all[] = "[{}, {}]", one[] = "{maximal device=3}", old[] = "{replicated}",
         axis[] = "[{\"data\"}, {}]";
    expect(RK_DIFFERENCE_SHARDING, none, all, NULL,
           "input x: none (no sharding is given) → [{}, {}] (replicated on all its devices)");
    expect(RK_DIFFERENCE_SHARDING, one, old, NULL,
           "input x: {maximal device=3} (on device 3 alone) → {replicated} (replicated on all its "
           "devices)");
    expect(RK_DIFFERENCE_SHARDING, axis, all, NULL,
           "input x: [{\"data\"}, {}] → [{}, {}] (replicated on all its devices)");
}

static void equal_sides_are_not_shown(void **state) {
    (void)state;
    char same[] = "8";
    expect(RK_DIFFERENCE_SHAPE, NULL, NULL, NULL, "input x differs");
    expect(RK_DIFFERENCE_FLAG, same, same, NULL, "flag x differs");
}

static void values_are_short(void **state) {
    (void)state;
    char nine[] = "0.899999976", eight[] = "0.800000012", many[] = "1.0000001000000001",
         whole[] = "9", one[] = "1", least[] = "0xFF800000", half[] = "0xFF80",
         four[] = "4 cpu\naddressable 4\n", two[] = "4 TPU v6 lite\naddressable 2\n";
    expect(RK_DIFFERENCE_CONSTANT, nine, eight, NULL, "input x: 0.9 → 0.8");
    expect(RK_DIFFERENCE_CONSTANT, many, whole, NULL, "input x: 1.0000001 → 9");
    expect(RK_DIFFERENCE_CONSTANT, least, half, NULL, "input x: -inf (f32) → -inf (bf16)");
    expect(RK_DIFFERENCE_TOPOLOGY, four, two, NULL,
           "topology x: 4 cpu → 4 TPU v6 lite, addressable 2");
    expect(RK_DIFFERENCE_FLAG, whole, one, NULL, "flag x: 9 → 1");
}

static void a_constant_in_place_of_an_input_is_shown(void **state) {
    (void)state;
    char type[] = "tensor<f32>", zero[] = "0";
    expect(RK_DIFFERENCE_PARAMETER_ADDED, NULL, type, zero,
           "input x added: tensor<f32>; the earlier program has the constant 0 in its place");
    expect(RK_DIFFERENCE_PARAMETER_REMOVED, type, NULL, zero,
           "input x removed: tensor<f32>; the later program has the constant 0 in its place");
    expect(RK_DIFFERENCE_PARAMETER_ADDED, NULL, type, NULL, "input x added: tensor<f32>");
}

// Which input is new is not known: only the types tell that there is one more.
static void an_input_that_is_not_known_has_no_name(void **state) {
    (void)state;
    char op[] = "parameter", type[] = "tensor<f32>";
    RK_AUTO(rk_buf) more = {0};
    RK_AUTO(rk_buf) fewer = {0};
    rk_difference d = {.kind = RK_DIFFERENCE_PARAMETER_ADDED, .op = op, .after = type};
    rk_diff_view_write(&d, &more);
    assert_string_equal(rk_buf_text(&more), "one more input: tensor<f32>");
    d = (rk_difference){.kind = RK_DIFFERENCE_PARAMETER_REMOVED, .op = op, .before = type};
    rk_diff_view_write(&d, &fewer);
    assert_string_equal(rk_buf_text(&fewer), "one input fewer: tensor<f32>");
}

// Two operations of one call: the frames behind the first are not repeated.
static void an_equal_call_stack_is_shown_once(void **state) {
    (void)state;
    char file[] = "job.py", step[] = "step", op[] = "stablehlo.add", *text = NULL;
    rk_stack_frame first[] = {{file, step, 3}, {file, NULL, 9}};
    rk_stack_frame second[] = {{file, step, 4}, {file, NULL, 9}};
    rk_difference items[] = {
        {.kind = RK_DIFFERENCE_OP_ADDED, .op = op, .file = file, .line = 3, .stack = {first, 2}},
        {.kind = RK_DIFFERENCE_OP_ADDED, .op = op, .file = file, .line = 4, .stack = {second, 2}}};
    const rk_differences list = {.items = items, .count = 2, .cause_count = 2};
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    assert_non_null(out);
    rk_diff_view_print_list(&list, 0, SIZE_MAX, true, out);
    (void)fclose(out);
    assert_string_equal(text, "add added\n    job.py:3\n        job.py:9\n"
                              "add added\n    job.py:4\n        called as above\n");
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_equal_call_stack_is_shown_once),
                                       cmocka_unit_test(an_input_that_is_not_known_has_no_name),
                                       cmocka_unit_test(shardings_have_words),
                                       cmocka_unit_test(equal_sides_are_not_shown),
                                       cmocka_unit_test(values_are_short),
                                       cmocka_unit_test(a_constant_in_place_of_an_input_is_shown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
