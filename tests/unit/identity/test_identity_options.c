// Canonical compile options of messages that JAX sent.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/proto.h"
#include "fixture.h"

#define DEBUG_OPTIONS "executable_build_options.debug_options."

static const char *const VERSIONS[] = {"jax-0.10.2", "jax-0.12.0"};

static const char *file_name(const char *version, const char *kind) {
    static char names[4][64];
    static size_t turn;
    char *name = names[turn++ % RK_ARRAY_LEN(names)];
    (void)snprintf(name, sizeof names[0], "%s-%s.pb", version, kind);
    return name;
}

static bool same_bytes(const char *a, const char *b) {
    rk_buf left = rk_test_options(a), right = rk_test_options(b);
    bool same = rk_span_equal(rk_buf_span(&left), rk_buf_span(&right));
    rk_buf_cleanup(&left);
    rk_buf_cleanup(&right);
    return same;
}

static bool same_canonical(const char *a, const char *b) {
    rk_test_canonical left = rk_test_canonicalize_file(a), right = rk_test_canonicalize_file(b);
    bool same = rk_span_equal(rk_buf_span(&left.bytes), rk_buf_span(&right.bytes));
    rk_digest left_fields, right_fields;
    rk_components_digest(&left.fields, &left_fields);
    rk_components_digest(&right.fields, &right_fields);
    assert_int_equal(same, rk_digest_equal(&left_fields, &right_fields));
    rk_test_canonical_cleanup(&left);
    rk_test_canonical_cleanup(&right);
    return same;
}

static void processes_agree(void **state) {
    (void)state;
    for (size_t i = 0; i < RK_ARRAY_LEN(VERSIONS); i++) {
        const char *first = file_name(VERSIONS[i], "plain-1");
        const char *second = file_name(VERSIONS[i], "plain-2");
        const char *third = file_name(VERSIONS[i], "plain-3");
        assert_false(same_bytes(first, second)); // otherwise the test would show nothing
        assert_false(same_bytes(second, third));
        assert_true(same_canonical(first, second));
        assert_true(same_canonical(second, third));
    }
    assert_false(same_canonical("jax-0.10.2-plain-1.pb", "jax-0.12.0-plain-1.pb"));
}

static void order_of_flags_does_not_matter(void **state) {
    (void)state;
    for (size_t i = 0; i < RK_ARRAY_LEN(VERSIONS); i++) {
        const char *first = file_name(VERSIONS[i], "flags-1");
        const char *second = file_name(VERSIONS[i], "flags-2"); // with one dump flag more
        assert_false(same_bytes(first, second));
        assert_true(same_canonical(first, second));
        assert_false(same_canonical(first, file_name(VERSIONS[i], "plain-1")));
        assert_true(same_canonical(file_name(VERSIONS[i], "overrides-1"),
                                   file_name(VERSIONS[i], "overrides-2")));
    }
}

// Counts the components of `a` that are missing in `b` or have another value there. Sets `out_name`
// to the last such name.
static size_t count_differences(const rk_components *a, const rk_components *b,
                                const char **out_name) {
    size_t count = 0;
    for (size_t i = 0; i < a->count; i++) {
        const char *value = rk_test_value(b, a->items[i].name);
        if (value && strcmp(value, a->items[i].value) == 0)
            continue;
        *out_name = a->items[i].name;
        count++;
    }
    return count;
}

static void one_flag_is_one_named_difference(void **state) {
    (void)state;
    for (size_t i = 0; i < RK_ARRAY_LEN(VERSIONS); i++) {
        rk_test_canonical plain = rk_test_canonicalize_file(file_name(VERSIONS[i], "plain-1"));
        rk_test_canonical on = rk_test_canonicalize_file(file_name(VERSIONS[i], "flag-on"));
        const char *name = "";
        assert_int_equal(plain.fields.count, on.fields.count);
        assert_int_equal(count_differences(&on.fields, &plain.fields, &name), 1);
        assert_string_equal(name, DEBUG_OPTIONS "xla_cpu_enable_fast_math");
        assert_string_equal(rk_test_value(&plain.fields, name), "false");
        assert_string_equal(rk_test_value(&on.fields, name), "true");
        rk_test_canonical_cleanup(&on);
        // As an override of one jit, the flag is an additional component.
        on = rk_test_canonicalize_file(file_name(VERSIONS[i], "toggled"));
        assert_int_equal(count_differences(&plain.fields, &on.fields, &name), 0);
        assert_int_equal(count_differences(&on.fields, &plain.fields, &name), 1);
        assert_string_equal(name, "env_option_overrides[xla_cpu_enable_fast_math].bool_field");
        rk_test_canonical_cleanup(&on);
        rk_test_canonical_cleanup(&plain);
    }
}

static void fields_are_named_and_valued(void **state) {
    (void)state;
    rk_test_canonical plain = rk_test_canonicalize_file("jax-0.12.0-plain-1.pb");
    static const char *const EXPECTED[][2] = {
        {DEBUG_OPTIONS "xla_multiheap_size_constraint_per_heap", "-1"},
        {DEBUG_OPTIONS "xla_gpu_auto_spmd_partitioning_memory_budget_ratio", "1.1000000238418579"},
        {DEBUG_OPTIONS "xla_gpu_analytical_latency_estimator_options[rtt_us]", "-1"},
        {DEBUG_OPTIONS "xla_gpu_pgle_profile_file_or_directory_path", ""},
        {"executable_build_options.device_ordinal", "-1"},
        {"executable_build_options.num_replicas", "1"},
        {"executable_build_options.device_assignment.computation_devices[0].replica_device_ids",
         "0"},
        {"profile_version", "-1"},
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(EXPECTED); i++) {
        const char *value = rk_test_value(&plain.fields, EXPECTED[i][0]);
        if (!value || strcmp(value, EXPECTED[i][1]) != 0)
            fail_msg("%s is %s", EXPECTED[i][0], value ? value : "missing");
        assert_int_equal(rk_test_count(&plain.fields, EXPECTED[i][0]), 1);
    }
    for (size_t i = 0; i < plain.fields.count; i++) {
        assert_int_equal(plain.fields.items[i].kind, RK_COMPONENT_OPTION);
        assert_null(strstr(plain.fields.items[i].name, "xla_dump_"));
        assert_null(strstr(plain.fields.items[i].name, "field_"));
    }
    rk_test_canonical_cleanup(&plain);
}

static void ignored_fields_leave_no_trace(void **state) {
    (void)state;
    RK_AUTO(rk_buf) without = {0};
    RK_AUTO(rk_buf) plain = {0};
    RK_AUTO(rk_components) fields = {0};
    RK_AUTO(rk_components) plain_fields = {0};
    rk_buf options = rk_test_options("jax-0.12.0-toggled.pb");
    static const char IGNORE[] = "other, xla_cpu_enable_fast_math";
    assert_null(rk_options_canonicalize_without(rk_buf_span(&options), IGNORE, &without, &fields));
    rk_buf_cleanup(&options);
    options = rk_test_options("jax-0.12.0-plain-1.pb");
    assert_null(
        rk_options_canonicalize_without(rk_buf_span(&options), IGNORE, &plain, &plain_fields));
    rk_buf_cleanup(&options);
    assert_true(rk_span_equal(rk_buf_span(&without), rk_buf_span(&plain)));
    assert_int_equal(fields.count, plain_fields.count);
    assert_int_equal(rk_test_count(&fields, DEBUG_OPTIONS "xla_cpu_enable_fast_math"), 0);
    assert_int_equal(rk_test_count(&fields, DEBUG_OPTIONS "xla_cpu_fast_math_honor_nans"), 1);
}

// jaxlib sets this field for a client's compilation, but not for AOT compilation.
static void aot_compilation_has_the_same(void **state) {
    (void)state;
    static const uint8_t not_in_place[] = {9 << 3, 0}; // the last value of a repeated field counts
    rk_buf options = rk_test_options("jax-0.12.0-plain-1.pb");
    rk_test_canonical client = rk_test_canonicalize(rk_buf_span(&options));
    rk_buf_add(&options, not_in_place, sizeof not_in_place);
    rk_test_canonical aot = rk_test_canonicalize(rk_buf_span(&options));
    assert_true(rk_span_equal(rk_buf_span(&client.bytes), rk_buf_span(&aot.bytes)));
    assert_int_equal(rk_test_count(&client.fields, "allow_in_place_mlir_modification"), 0);
    rk_test_canonical_cleanup(&client);
    rk_test_canonical_cleanup(&aot);
    rk_buf_cleanup(&options);
}

static void canonical_form_is_stable(void **state) {
    (void)state;
    // The canonical form is a message and its own canonical form.
    rk_test_canonical once = rk_test_canonicalize_file("jax-0.12.0-overrides-1.pb");
    rk_test_canonical twice = rk_test_canonicalize(rk_buf_span(&once.bytes));
    assert_true(rk_span_equal(rk_buf_span(&once.bytes), rk_buf_span(&twice.bytes)));
    rk_test_canonical_cleanup(&twice);
    rk_test_canonical_cleanup(&once);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_agree),
        cmocka_unit_test(order_of_flags_does_not_matter),
        cmocka_unit_test(one_flag_is_one_named_difference),
        cmocka_unit_test(fields_are_named_and_valued),
        cmocka_unit_test(ignored_fields_leave_no_trace),
        cmocka_unit_test(aot_compilation_has_the_same),
        cmocka_unit_test(canonical_form_is_stable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
