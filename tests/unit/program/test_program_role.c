// Names and roles of programs: operations, inputs, results, and results that are carried.
#include "fixture.h"
#include "support/expect.h"

static void roles_are_read_in_all_formats(void **state) {
    (void)state;
    static const struct {
        const char *file;
        rk_program_role role;
    } CASES[] = {
        {"jax-0.10.2-plain.mlir", {6, 1, 1, 1, 0, 0, 0, false}},
        {"jax-0.12.0-plain.mlir", {6, 1, 1, 1, 0, 0, 0, false}},
        {"jax-0.10.2-shard_map.mlir", {12, 1, 1, 0, 0, 0, 0, false}}, // a sum of the input
        {"jax-0.10.2-top_k.mlir", {11, 1, 2, 0, 0, 0, 0, false}},
        {"plain.hlo", {5, 1, 1, 1, 0, 0, 0, false}},
        {"hlo_sharded_train_step.hlo",
         {34, 3, 2, 2, 0, 0, 0, false}}, // parameters and batch; parameters
        {"hlo_cond.hlo", {18, 3, 1, 1, 0, 0, 0, false}},
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(CASES); i++) {
        rk_program_info info = rk_test_inspect(CASES[i].file);
        const rk_program_role *expected = &CASES[i].role, *role = &info.role;
        if (role->operations != expected->operations || role->inputs != expected->inputs ||
            role->results != expected->results || role->carried != expected->carried ||
            (role->carried_types == 0) != (expected->carried == 0) ||
            (role->carried_set == 0) != (expected->carried == 0))
            fail_msg("%s: %u operations, %u inputs, %u results, %u carried", CASES[i].file,
                     role->operations, role->inputs, role->results, role->carried);
        rk_program_info_cleanup(&info);
    }
}

// JAX gives names to the results of a function that the user calls, and empty ones to those of the
// passes that jax.grad makes of it.
static void passes_of_a_transformation_are_told_from_calls(void **state) {
    (void)state;
    static const struct {
        const char *results;
        bool is_transformed;
    } CASES[] = {
        {"(tensor<f32> {jax.result_info = \"\"}, tensor<f32> {jax.result_info = \"\"})", true},
        {"(tensor<f32> {jax.result_info = \"result[0]\"}, tensor<f32> {jax.result_info = \"\"})",
         false},
        {"(tensor<f32>, tensor<f32>)", false},
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(CASES); i++) {
        RK_AUTO(rk_buf) text = {0};
        rk_program_info info;
        rk_buf_add_format(&text,
                          "module @jit_step { func.func public @main(%%arg0: tensor<f32>) -> %s { "
                          "return %%arg0, %%arg0 : tensor<f32>, tensor<f32> } }",
                          CASES[i].results);
        rk_expect_ok(
            rk_program_inspect(rk_span_text(rk_buf_text(&text)), rk_span_text("mlir"), &info));
        if (info.role.is_transformed != CASES[i].is_transformed || info.role.results != 2)
            fail_msg("%s: %u results", CASES[i].results, info.role.results);
        rk_program_info_cleanup(&info);
    }
}

static void the_role_of_other_bytes_is_not_known(void **state) {
    (void)state;
    static const char *const FORMATS[] = {"mlir", "hlo", "hlo_with_config", "neff"};
    for (size_t i = 0; i < RK_ARRAY_LEN(FORMATS); i++) {
        rk_program_info info;
        rk_expect_ok(
            rk_program_inspect(rk_span_text("no program"), rk_span_text(FORMATS[i]), &info));
        assert_int_equal(info.role.operations, 0);
        assert_int_equal(info.role.carried, 0);
        assert_null(info.name);
        rk_program_info_cleanup(&info);
    }
}

static void the_name_is_that_of_the_module(void **state) {
    (void)state;
    static const char *const CASES[][2] = {
        {"jax-0.10.2-plain.mlir", "jit__lambda"},
        {"jax-0.12.0-debug_print.mlir", "jit_f"},
        {"hlo_cond.hlo", "jit_cond"},
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(CASES); i++) {
        rk_program_info info = rk_test_inspect(CASES[i][0]);
        assert_string_equal(info.name, CASES[i][1]);
        rk_program_info_cleanup(&info);
    }
    rk_program_info info;
    static const char TEXT[] = "module @jit_step { func.func public @main() { return } }";
    rk_expect_ok(rk_program_inspect(rk_span_text(TEXT), rk_span_text("mlir"), &info));
    assert_string_equal(info.name, "jit_step");
    rk_program_info_cleanup(&info);
    static const char NAMELESS[] = "module { func.func public @main() { return } }";
    rk_expect_ok(rk_program_inspect(rk_span_text(NAMELESS), rk_span_text("mlir"), &info));
    assert_null(info.name);
    rk_program_info_cleanup(&info);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_name_is_that_of_the_module),
        cmocka_unit_test(roles_are_read_in_all_formats),
        cmocka_unit_test(passes_of_a_transformation_are_told_from_calls),
        cmocka_unit_test(the_role_of_other_bytes_is_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
