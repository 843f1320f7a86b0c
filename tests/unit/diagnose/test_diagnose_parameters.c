#include "diagnose/shapes/parameters.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "program/read.h"
#include "support/expect.h"

static rk_model *read(const char *file, rk_buf *code) {
    char path[1024];
    rk_model *model = NULL;
    rk_autofree char *reason = NULL;
    (void)snprintf(path, sizeof path, "%s/%s", RK_TEST_DATA, file);
    rk_expect_ok(rk_fs_read(path, 1 << 20, code));
    rk_expect_ok(
        rk_model_read(rk_buf_span(code), rk_span_text(strrchr(file, '.') + 1), 0, &model, &reason));
    assert_non_null(model);
    return model;
}

// Compares the parameters, with their dimensions inserted, with a text like "f32[3,4]".
static void expect_parameters(const char *file, const char *expected) {
    RK_AUTO(rk_buf) code = {0};
    RK_AUTO(rk_buf) text = {0};
    RK_AUTO(rk_parameters) parameters = {0};
    rk_model *model = read(file, &code);
    rk_expect_ok(rk_parameters_read(model, &parameters));
    rk_parameters_print(&parameters, NULL, 0, &text);
    assert_string_equal(rk_buf_text(&text), expected);
    rk_model_free(model);
}

static void those_of_bytecode_are_read(void **state) {
    (void)state;
    expect_parameters("jax-0.10.2-top_k.mlir", "f32[4,4]");
    expect_parameters("jax-0.12.0-top_k.mlir", "f32[4,4]");
}

static void those_of_the_entry_computation_are_read(void **state) {
    (void)state;
    expect_parameters("hlo_cond.hlo", "pred[],f32[3],f32[3]");
}

static void holes_are_filled_with_symbols(void **state) {
    (void)state;
    int64_t dims[] = {8, INT64_MIN, 30};
    rk_parameters parameters = {.dims = dims, .dim_count = 3};
    RK_AUTO(rk_buf) text = {0};
    rk_buf_add_text(&parameters.text, "f32[\x01,\x01],s32[\x01]");
    const rk_parameters_symbol symbols[] = {{0, "n"}, {2, "2n"}};
    rk_parameters_print(&parameters, symbols, 2, &text);
    assert_string_equal(rk_buf_text(&text), "f32[n,?],s32[2n]");
    rk_buf_cleanup(&parameters.text);
}

static uint64_t operations_of(const char *file) {
    RK_AUTO(rk_buf) code = {0};
    rk_model *model = read(file, &code);
    uint64_t operations = rk_parameters_operations(model);
    rk_model_free(model);
    return operations;
}

// Readers of HLO may add a name again that they no longer remember.
static void a_name_with_two_ids_counts_once(void **state) {
    (void)state;
    RK_AUTO(rk_buf) code = {0};
    rk_model *model = read("hlo_cond.hlo", &code);
    uint64_t before = rk_parameters_operations(model);
    bool renamed = false;
    for (uint32_t i = model->ops.count; i-- > 0 && !renamed;) {
        rk_span name = rk_model_string(model, model->ops.items[i].name);
        renamed = rk_span_is(name, "hlo.parameter");
        if (renamed)
            model->ops.items[i].name = rk_model_add_string(model, name);
    }
    assert_true(renamed);
    assert_true(rk_parameters_operations(model) == before);
    rk_model_free(model);
}

static void operations_distinguish_programs(void **state) {
    (void)state;
    assert_true(operations_of("jax-0.10.2-top_k.mlir") == operations_of("jax-0.12.0-top_k.mlir"));
    assert_true(operations_of("jax-0.10.2-top_k.mlir") != operations_of("jax-0.10.2-plain.mlir"));
}

static void a_program_without_functions_is_an_error(void **state) {
    (void)state;
    RK_AUTO(rk_parameters) parameters = {0};
    const rk_model model = {0};
    rk_expect_code(RK_INVALID_ARGUMENT, rk_parameters_read(&model, &parameters));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_of_bytecode_are_read),
        cmocka_unit_test(those_of_the_entry_computation_are_read),
        cmocka_unit_test(holes_are_filled_with_symbols),
        cmocka_unit_test(a_name_with_two_ids_counts_once),
        cmocka_unit_test(operations_distinguish_programs),
        cmocka_unit_test(a_program_without_functions_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
