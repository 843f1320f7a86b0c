// Canonical compile options of hand-made messages: special cases of the wire format.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/proto.h"
#include "fixture.h"

// Field numbers of CompileOptionsProto and ExecutableBuildOptionsProto.
enum {
    ARGUMENT_LAYOUTS = 1,
    PARAMETER_IS_TUPLED = 2,
    BUILD_OPTIONS = 3,
    OVERRIDES = 7,
    VARIANT = 11,
    OUTPUT_INDICES = 12,
    DEVICE_MEMORY_SIZE = 15,
    TUPLE_SHAPES = 4,
};

static bool equivalent(const rk_buf *a, const rk_buf *b) {
    rk_test_canonical left = rk_test_canonicalize(rk_buf_span(a));
    rk_test_canonical right = rk_test_canonicalize(rk_buf_span(b));
    bool same = rk_span_equal(rk_buf_span(&left.bytes), rk_buf_span(&right.bytes));
    rk_test_canonical_cleanup(&left);
    rk_test_canonical_cleanup(&right);
    return same;
}

static void packed_and_unpacked_are_the_same(void **state) {
    (void)state;
    RK_AUTO(rk_buf) unpacked = {0};
    RK_AUTO(rk_buf) packed = {0};
    RK_AUTO(rk_buf) mixed = {0};
    RK_AUTO(rk_buf) swapped = {0};
    rk_proto_add_varint_field(&unpacked, OUTPUT_INDICES, 5);
    rk_proto_add_varint_field(&unpacked, OUTPUT_INDICES, 0);
    rk_proto_add_varint_field(&unpacked, OUTPUT_INDICES, 300);
    rk_proto_add_bytes_field(&packed, OUTPUT_INDICES, rk_span_of("\x05\x00\xAC\x02", 4));
    rk_proto_add_bytes_field(&mixed, OUTPUT_INDICES, rk_span_of("\x05\x00", 2));
    rk_proto_add_varint_field(&mixed, OUTPUT_INDICES, 300);
    rk_proto_add_bytes_field(&swapped, OUTPUT_INDICES, rk_span_of("\x00\x05\xAC\x02", 4));
    assert_true(equivalent(&unpacked, &packed));
    assert_true(equivalent(&unpacked, &mixed));
    assert_false(equivalent(&unpacked, &swapped)); // the order of a list counts
    rk_test_canonical canonical = rk_test_canonicalize(rk_buf_span(&mixed));
    assert_string_equal(rk_test_value(&canonical.fields, "individually_defined_output_indices"),
                        "5,0,300");
    rk_test_canonical_cleanup(&canonical);
}

static void numbers_are_written_whole(void **state) {
    (void)state;
    static const struct {
        uint64_t wire;
        const char *text;
    } NUMBERS[] = {
        {UINT64_MAX, "-1"},
        {UINT64_C(1) << 63, "-9223372036854775808"},
        {INT64_MAX, "9223372036854775807"},
        {10, "10"},
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(NUMBERS); i++) {
        RK_AUTO(rk_buf) options = {0};
        rk_proto_add_varint_field(&options, 5, NUMBERS[i].wire);
        rk_test_canonical canonical = rk_test_canonicalize(rk_buf_span(&options));
        assert_string_equal(rk_test_value(&canonical.fields, "profile_version"), NUMBERS[i].text);
        rk_test_canonical_cleanup(&canonical);
    }
}

static void defaults_and_presence(void **state) {
    (void)state;
    RK_AUTO(rk_buf) empty = {0};
    RK_AUTO(rk_buf) implicit = {0};
    RK_AUTO(rk_buf) presence = {0};
    RK_AUTO(rk_buf) repeated = {0};
    RK_AUTO(rk_buf) once = {0};
    rk_proto_add_varint_field(&implicit, PARAMETER_IS_TUPLED, 0);
    assert_true(equivalent(&empty, &implicit)); // proto3: a default value equals absence
    rk_proto_add_bytes_field(&presence, VARIANT, rk_span_text(""));
    assert_false(equivalent(&empty, &presence)); // except with explicit presence
    rk_proto_add_varint_field(&repeated, PARAMETER_IS_TUPLED, 0);
    rk_proto_add_varint_field(&repeated, PARAMETER_IS_TUPLED, 7);
    rk_proto_add_varint_field(&once, PARAMETER_IS_TUPLED, 1);
    assert_true(equivalent(&repeated, &once)); // the last value counts; nonzero is true
}

static void add_entry(rk_buf *out, const char *key, const char *value) {
    RK_AUTO(rk_buf) override = {0};
    RK_AUTO(rk_buf) entry = {0};
    rk_proto_add_bytes_field(&override, 1, rk_span_text(value));
    rk_proto_add_bytes_field(&entry, 1, rk_span_text(key));
    rk_proto_add_bytes_field(&entry, 2, rk_buf_span(&override));
    rk_proto_add_bytes_field(out, OVERRIDES, rk_buf_span(&entry));
}

static void maps_are_sorted_and_lists_are_not(void **state) {
    (void)state;
    RK_AUTO(rk_buf) one = {0};
    RK_AUTO(rk_buf) other = {0};
    RK_AUTO(rk_buf) list = {0};
    RK_AUTO(rk_buf) reversed = {0};
    add_entry(&one, "b", "1");
    add_entry(&one, "a", "2");
    add_entry(&one, "ab", "3");
    add_entry(&other, "ab", "3");
    add_entry(&other, "b", "old");
    add_entry(&other, "a", "2");
    add_entry(&other, "xla_dump_to", "/somewhere");
    add_entry(&other, "b", "1"); // protobuf: the last entry of a key counts
    assert_true(equivalent(&one, &other));
    rk_proto_add_bytes_field(&list, ARGUMENT_LAYOUTS, rk_span_of("\x10\x0B", 2));
    rk_proto_add_bytes_field(&list, ARGUMENT_LAYOUTS, rk_span_of("\x10\x0C", 2));
    rk_proto_add_bytes_field(&reversed, ARGUMENT_LAYOUTS, rk_span_of("\x10\x0C", 2));
    rk_proto_add_bytes_field(&reversed, ARGUMENT_LAYOUTS, rk_span_of("\x10\x0B", 2));
    assert_false(equivalent(&list, &reversed));
}

static void entries_may_lack_a_key_or_have_another(void **state) {
    (void)state;
    RK_AUTO(rk_buf) options = {0};
    rk_proto_add_bytes_field(&options, OVERRIDES, rk_span_text(""));
    rk_proto_add_bytes_field(&options, OVERRIDES, rk_span_of("\x08\x05", 2)); // a numeric key
    rk_test_canonical canonical = rk_test_canonicalize(rk_buf_span(&options));
    assert_int_equal(rk_test_count(&canonical.fields, "env_option_overrides[5].field_1"), 1);
    rk_test_canonical_cleanup(&canonical);
}

static void order_of_fields_and_split_messages(void **state) {
    (void)state;
    RK_AUTO(rk_buf) one = {0};
    RK_AUTO(rk_buf) other = {0};
    rk_proto_add_varint_field(&one, PARAMETER_IS_TUPLED, 1);
    rk_proto_add_bytes_field(&one, BUILD_OPTIONS, rk_span_of("\x20\x02\x28\x04", 4));
    // protobuf merges repeated occurrences of a message.
    rk_proto_add_bytes_field(&other, BUILD_OPTIONS, rk_span_of("\x28\x04", 2));
    rk_proto_add_varint_field(&other, PARAMETER_IS_TUPLED, 1);
    rk_proto_add_bytes_field(&other, BUILD_OPTIONS, rk_span_of("\x20\x02", 2));
    assert_true(equivalent(&one, &other));
}

static void the_momentary_is_dropped(void **state) {
    (void)state;
    RK_AUTO(rk_buf) build = {0};
    RK_AUTO(rk_buf) with = {0};
    RK_AUTO(rk_buf) without = {0};
    rk_proto_add_varint_field(&build, 4, 1);
    rk_proto_add_bytes_field(&without, BUILD_OPTIONS, rk_buf_span(&build));
    rk_proto_add_varint_field(&build, DEVICE_MEMORY_SIZE, 123456789);
    rk_proto_add_bytes_field(&with, BUILD_OPTIONS, rk_buf_span(&build));
    assert_true(equivalent(&with, &without));
}

static void unknown_fields_are_kept(void **state) {
    (void)state;
    RK_AUTO(rk_buf) with = {0};
    RK_AUTO(rk_buf) without = {0};
    RK_AUTO(rk_buf) wrong_type = {0};
    rk_proto_add_varint_field(&without, PARAMETER_IS_TUPLED, 1);
    rk_proto_add_varint_field(&with, PARAMETER_IS_TUPLED, 1);
    rk_proto_add_varint_field(&with, 999, 42);
    assert_false(equivalent(&with, &without));
    rk_test_canonical canonical = rk_test_canonicalize(rk_buf_span(&with));
    assert_string_equal(rk_test_value(&canonical.fields, "field_999"), "42");
    rk_test_canonical_cleanup(&canonical);
    // A field with another type is unknown too.
    rk_proto_add_bytes_field(&wrong_type, PARAMETER_IS_TUPLED, rk_span_text("text"));
    canonical = rk_test_canonicalize(rk_buf_span(&wrong_type));
    assert_string_equal(rk_test_value(&canonical.fields, "field_2"), "text");
    assert_true(rk_span_equal(rk_buf_span(&canonical.bytes), rk_buf_span(&wrong_type)));
    rk_test_canonical_cleanup(&canonical);
}

static void expect_raw(rk_span bytes) {
    rk_test_canonical canonical = rk_test_canonicalize(bytes);
    assert_true(rk_span_equal(rk_buf_span(&canonical.bytes), bytes));
    assert_int_equal(canonical.fields.count, 1);
    assert_string_equal(canonical.fields.items[0].name, "compile_options");
    rk_test_canonical_cleanup(&canonical);
}

static void bad_bytes_stand_for_themselves(void **state) {
    (void)state;
    expect_raw(rk_span_text("no message at all"));
    expect_raw(rk_span_of("\x10\x01\x0B", 3));         // valid, then a group
    expect_raw(rk_span_of("\x10\x01\x1A\x02\x20", 5)); // longer than the message
    expect_raw(rk_span_of("\x1A\x01\x20", 3));         // an invalid inner message
    expect_raw(rk_span_of("\x62\x01\x80", 3));         // an invalid packed list
}

// ShapeProto contains ShapeProto: tuples of tuples.
static void nest_shapes(size_t depth, rk_buf *out) {
    RK_AUTO(rk_buf) inner = {0};
    rk_buf_add_text(&inner, "\x10\x0B");
    for (size_t i = 0; i < depth; i++) {
        RK_AUTO(rk_buf) outer = {0};
        rk_proto_add_bytes_field(&outer, TUPLE_SHAPES, rk_buf_span(&inner));
        rk_buf_clear(&inner);
        rk_buf_add_span(&inner, rk_buf_span(&outer));
    }
    rk_proto_add_bytes_field(out, ARGUMENT_LAYOUTS, rk_buf_span(&inner));
}

static void depth_is_bounded(void **state) {
    (void)state;
    RK_AUTO(rk_buf) fair = {0};
    RK_AUTO(rk_buf) deep = {0};
    nest_shapes(30, &fair);
    rk_test_canonical canonical = rk_test_canonicalize(rk_buf_span(&fair));
    assert_int_equal(canonical.fields.count, 1);
    assert_non_null(strstr(canonical.fields.items[0].name, "tuple_shapes[0].element_type"));
    rk_test_canonical_cleanup(&canonical);
    nest_shapes(2000, &deep);
    expect_raw(rk_buf_span(&deep));
}

static void many_fields_are_hashed_but_not_all_named(void **state) {
    (void)state;
    RK_AUTO(rk_buf) many = {0};
    for (int i = 0; i < 70000; i++)
        rk_proto_add_bytes_field(&many, ARGUMENT_LAYOUTS, rk_span_of("\x10\x0B", 2));
    rk_test_canonical canonical = rk_test_canonicalize(rk_buf_span(&many));
    assert_int_equal(canonical.fields.count, 65536);
    assert_true(rk_span_equal(rk_buf_span(&canonical.bytes), rk_buf_span(&many)));
    rk_test_canonical_cleanup(&canonical);
}

static void long_values_are_named_by_digest(void **state) {
    (void)state;
    RK_AUTO(rk_buf) build = {0};
    RK_AUTO(rk_buf) options = {0};
    RK_AUTO(rk_buf) profile = {0};
    for (int i = 0; i < 300000; i++)
        rk_buf_add_text(&profile, "fdo!");
    rk_proto_add_bytes_field(&build, 14, rk_buf_span(&profile));
    rk_proto_add_bytes_field(&options, BUILD_OPTIONS, rk_buf_span(&build));
    rk_test_canonical canonical = rk_test_canonicalize(rk_buf_span(&options));
    const char *value = rk_test_value(&canonical.fields, "executable_build_options.fdo_profile");
    assert_non_null(value);
    assert_memory_equal(value, "1200000 bytes, BLAKE2b ", 23);
    assert_true(canonical.bytes.len > profile.len);
    rk_test_canonical_cleanup(&canonical);
}

static uint64_t next_random(uint64_t *state) { // xorshift64
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

// Uses a block of exactly this size, so that the sanitizer detects reads outside of it.
static void canonicalize_copy(rk_span options) {
    uint8_t *copy = malloc(options.len ? options.len : 1);
    assert_non_null(copy);
    if (options.len)
        memcpy(copy, options.data, options.len);
    rk_test_canonical canonical = rk_test_canonicalize(rk_span_of(copy, options.len));
    rk_test_canonical_cleanup(&canonical);
    free(copy);
}

static void damage_is_survived(void **state) {
    (void)state;
    rk_buf options = rk_test_options("jax-0.12.0-overrides-1.pb");
    RK_AUTO(rk_buf) spoiled = {0};
    uint64_t random = 88172645463325252u;
    for (size_t len = 0; len <= options.len; len++)
        canonicalize_copy(rk_span_of(options.data, len));
    for (int round = 0; round < 3000; round++) {
        rk_buf_clear(&spoiled);
        rk_buf_add_span(&spoiled, rk_buf_span(&options));
        for (uint64_t n = 1 + next_random(&random) % 3; n; n--)
            spoiled.data[next_random(&random) % spoiled.len] = (uint8_t)next_random(&random);
        canonicalize_copy(rk_buf_span(&spoiled));
    }
    rk_buf_cleanup(&options);
}

static size_t allocations_left;

static void *failing_malloc(size_t size_bytes) {
    return allocations_left && allocations_left-- ? malloc(size_bytes) : NULL;
}

static void *failing_realloc(void *ptr, size_t size_bytes) {
    return allocations_left && allocations_left-- ? realloc(ptr, size_bytes) : NULL;
}

static const rk_alloc_table failing = {failing_malloc, failing_realloc, free};

static void short_memory(void **state) {
    (void)state;
    rk_buf options = rk_test_options("jax-0.12.0-overrides-1.pb");
    size_t failures = 0;
    for (size_t n = 0;; n++) {
        RK_AUTO(rk_buf) bytes = {0};
        RK_AUTO(rk_components) fields = {0};
        allocations_left = n;
        rk_alloc_replace(&failing);
        rk_err *err = rk_options_canonicalize(rk_buf_span(&options), &bytes, &fields);
        rk_alloc_replace(NULL);
        if (!err)
            break;
        assert_int_equal(rk_err_code(err), RK_RESOURCE_EXHAUSTED);
        rk_err_free(err);
        failures++;
    }
    assert_true(failures > 100);
    rk_buf_cleanup(&options);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_and_unpacked_are_the_same),
        cmocka_unit_test(numbers_are_written_whole),
        cmocka_unit_test(defaults_and_presence),
        cmocka_unit_test(maps_are_sorted_and_lists_are_not),
        cmocka_unit_test(entries_may_lack_a_key_or_have_another),
        cmocka_unit_test(order_of_fields_and_split_messages),
        cmocka_unit_test(the_momentary_is_dropped),
        cmocka_unit_test(unknown_fields_are_kept),
        cmocka_unit_test(bad_bytes_stand_for_themselves),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(many_fields_are_hashed_but_not_all_named),
        cmocka_unit_test(long_values_are_named_by_digest),
        cmocka_unit_test(damage_is_survived),
        cmocka_unit_test(short_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
