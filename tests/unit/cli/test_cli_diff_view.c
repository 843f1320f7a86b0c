// How one difference reads.
#include "cli/diff_view.h"

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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_input_that_is_not_known_has_no_name),
                                       cmocka_unit_test(shardings_have_words),
                                       cmocka_unit_test(a_constant_in_place_of_an_input_is_shown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
