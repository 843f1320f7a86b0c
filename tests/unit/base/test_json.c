#include "base/json.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>

#include <jansson.h>

#include "support/expect.h"

static void expect_text(rk_span text, const char *expected) {
    RK_AUTO(rk_buf) out = {0};
    rk_json json = rk_json_on(&out);
    rk_json_text(&json, text);
    rk_expect_ok(rk_buf_status(&out));
    assert_string_equal(rk_buf_text(&out), expected);
}

static void commas_and_nesting(void **state) {
    (void)state;
    RK_AUTO(rk_buf) out = {0};
    rk_json json = rk_json_on(&out);
    rk_json_begin_object(&json);
    rk_json_member_string(&json, "name", "x");
    rk_json_member_string(&json, "none", NULL);
    rk_json_key(&json, "list");
    rk_json_begin_array(&json);
    rk_json_uint(&json, UINT64_MAX);
    rk_json_int(&json, INT64_MIN);
    rk_json_begin_object(&json);
    rk_json_end_object(&json);
    rk_json_begin_array(&json);
    rk_json_end_array(&json);
    rk_json_null(&json);
    rk_json_raw(&json, rk_span_text("[1]"));
    rk_json_end_array(&json);
    rk_json_member_bool(&json, "yes", true);
    rk_json_member_bool(&json, "no", false);
    rk_json_member_uint(&json, "count", 3);
    rk_json_member_text(&json, "text", rk_span_text("t"));
    rk_json_member_seconds(&json, "seconds", 1500000000);
    rk_json_end_object(&json);
    assert_string_equal(rk_buf_text(&out),
                        "{\"name\":\"x\",\"none\":null,\"list\":[18446744073709551615,"
                        "-9223372036854775808,{},[],null,[1]],\"yes\":true,\"no\":false,"
                        "\"count\":3,\"text\":\"t\",\"seconds\":1.500000}");
}

static void escapes(void **state) {
    (void)state;
    expect_text(rk_span_text("a\"b\\c\nd\te\x01\x7f"), "\"a\\\"b\\\\c\\nd\\u0009e\\u0001\\u007f\"");
    expect_text(rk_span_of("a\0b", 3), "\"a\\u0000b\"");
}

static void valid_utf8_is_kept(void **state) {
    (void)state;
    // The first and last code point of each length, and the neighbours of the surrogates.
    expect_text(rk_span_text("\xC2\x80\xDF\xBF"), "\"\xC2\x80\xDF\xBF\"");
    expect_text(rk_span_text("\xE0\xA0\x80\xEF\xBF\xBF"), "\"\xE0\xA0\x80\xEF\xBF\xBF\"");
    expect_text(rk_span_text("\xED\x9F\xBF\xEE\x80\x80"), "\"\xED\x9F\xBF\xEE\x80\x80\"");
    expect_text(rk_span_text("\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"),
                "\"\xF0\x90\x80\x80\xF4\x8F\xBF\xBF\"");
}

#define BAD "\xEF\xBF\xBD" // U+FFFD

static void each_invalid_byte_is_replaced(void **state) {
    (void)state;
    expect_text(rk_span_text("\x80"), "\"" BAD "\"");                         // no lead byte
    expect_text(rk_span_text("\xC0\xAF"), "\"" BAD BAD "\"");                 // overlong
    expect_text(rk_span_text("\xC1\xBF"), "\"" BAD BAD "\"");                 // overlong
    expect_text(rk_span_text("\xE0\x9F\xBF"), "\"" BAD BAD BAD "\"");         // overlong
    expect_text(rk_span_text("\xF0\x8F\xBF\xBF"), "\"" BAD BAD BAD BAD "\""); // overlong
    expect_text(rk_span_text("\xED\xA0\x80"), "\"" BAD BAD BAD "\"");         // a surrogate
    expect_text(rk_span_text("\xF4\x90\x80\x80"), "\"" BAD BAD BAD BAD "\""); // past U+10FFFF
    expect_text(rk_span_text("\xF5\x80"), "\"" BAD BAD "\"");
    expect_text(rk_span_text("x\xE2\x82"), "\"x" BAD BAD "\""); // cut short
    expect_text(rk_span_text("\xE2\x82y"), "\"" BAD BAD "y\"");
    expect_text(rk_span_text("\xC3"), "\"" BAD "\"");
}

// Another JSON implementation reads the result, whatever the input bytes.
static void any_bytes_give_json(void **state) {
    (void)state;
    uint32_t random = 12345;
    for (unsigned round = 0; round < 2000; round++) {
        uint8_t bytes[24];
        for (size_t i = 0; i < sizeof bytes; i++) {
            random = random * 1664525 + 1013904223;
            // Mostly bytes with a meaning in UTF-8.
            bytes[i] = (uint8_t)(random >> 28 ? 0x78 | random >> 24 : random >> 16);
        }
        RK_AUTO(rk_buf) out = {0};
        rk_json json = rk_json_on(&out);
        rk_json_begin_array(&json);
        rk_json_text(&json, rk_span_of(bytes, round % sizeof bytes));
        rk_json_end_array(&json);
        json_error_t error;
        json_t *read = json_loadb(rk_buf_text(&out), out.len, JSON_ALLOW_NUL, &error);
        if (!read)
            print_error("%s: %s\n", error.text, rk_buf_text(&out));
        assert_non_null(read);
        json_decref(read);
    }
}

static void expect_double(double value, const char *expected) {
    RK_AUTO(rk_buf) out = {0};
    rk_json json = rk_json_on(&out);
    rk_json_double(&json, value);
    assert_string_equal(rk_buf_text(&out), expected);
}

static void doubles(void **state) {
    (void)state;
    expect_double(0.5, "0.5");
    expect_double(-3.0, "-3");
    expect_double(0.1, "0.10000000000000001");
    expect_double(1e300, "1.0000000000000001e+300");
    expect_double(-5e-324, "-4.9406564584124654e-324");
    expect_double((double)NAN, "null");
    expect_double((double)INFINITY, "null");
    expect_double(-(double)INFINITY, "null");
}

static void expect_seconds(uint64_t nanoseconds, const char *expected) {
    RK_AUTO(rk_buf) out = {0};
    rk_json json = rk_json_on(&out);
    rk_json_seconds(&json, nanoseconds);
    assert_string_equal(rk_buf_text(&out), expected);
}

// CMakeLists.txt builds these locales: a decimal comma, and a decimal point of two bytes.
static void doubles_ignore_the_locale(void **state) {
    (void)state;
    static const char *const names[] = {"de_DE", "ps_AF"};
    for (size_t i = 0; i < RK_ARRAY_LEN(names); i++) {
        assert_non_null(setlocale(LC_NUMERIC, names[i]));
        assert_string_not_equal(localeconv()->decimal_point, ".");
        expect_double(-1234.5, "-1234.5");
        expect_double(1e300, "1.0000000000000001e+300");
        expect_seconds(1500000000, "1.500000");
    }
    (void)setlocale(LC_NUMERIC, "C");
}

static void seconds_are_rounded_to_microseconds(void **state) {
    (void)state;
    expect_seconds(0, "0.000000");
    expect_seconds(499, "0.000000");
    expect_seconds(500, "0.000001");
    expect_seconds(1999999500, "2.000000");
    expect_seconds(UINT64_MAX, "18446744073.709552");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commas_and_nesting),
        cmocka_unit_test(escapes),
        cmocka_unit_test(valid_utf8_is_kept),
        cmocka_unit_test(each_invalid_byte_is_replaced),
        cmocka_unit_test(any_bytes_give_json),
        cmocka_unit_test(doubles),
        cmocka_unit_test(doubles_ignore_the_locale),
        cmocka_unit_test(seconds_are_rounded_to_microseconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
