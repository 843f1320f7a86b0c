#include "base/buf.h"

#include "base/alloc.h"
#include "support/expect.h"
#include "support/faults.h"

static void an_empty_buffer_is_an_empty_text(void **state) {
    (void)state;
    RK_AUTO(rk_buf) buf = {0};
    assert_string_equal(rk_buf_text(&buf), "");
    rk_expect_ok(rk_buf_status(&buf));
    size_t len = 7;
    assert_null(rk_buf_detach(&buf, &len));
    assert_int_equal(len, 0);
    rk_buf_add(&buf, NULL, 0);
    assert_string_equal(rk_buf_text(&buf), "");
}

static void appends_every_kind(void **state) {
    (void)state;
    RK_AUTO(rk_buf) buf = {0};
    rk_buf_add(&buf, "ab", 2);
    rk_buf_add_span(&buf, rk_span_text("cd"));
    rk_buf_add_text(&buf, "ef");
    rk_buf_add_byte(&buf, 'g');
    rk_buf_add_format(&buf, "-%d-%s-", 42, "x");
    rk_buf_add_hex(&buf, rk_span_of("\x00\x9f\xff", 3));
    rk_expect_ok(rk_buf_status(&buf));
    assert_string_equal(rk_buf_text(&buf), "abcdefg-42-x-009fff");
    assert_int_equal(buf.len, strlen("abcdefg-42-x-009fff"));
}

static void little_endian_both_ways(void **state) {
    (void)state;
    RK_AUTO(rk_buf) buf = {0};
    rk_buf_add_u32le(&buf, 0x04030201);
    rk_buf_add_u64le(&buf, 0x0C0B0A0908070605);
    assert_memory_equal(buf.data, "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0A\x0B\x0C", 12);
    assert_int_equal(rk_load_u32le(buf.data), 0x04030201);
    assert_int_equal(rk_load_u64le(buf.data + 4), 0x0C0B0A0908070605);
}

static void grows_far_beyond_its_first_capacity(void **state) {
    (void)state;
    RK_AUTO(rk_buf) buf = {0};
    for (unsigned i = 0; i < 100000; i++)
        rk_buf_add_byte(&buf, (uint8_t)i);
    rk_expect_ok(rk_buf_status(&buf));
    assert_int_equal(buf.len, 100000);
    for (unsigned i = 0; i < 100000; i++)
        assert_int_equal(buf.data[i], (uint8_t)i);
    assert_int_equal(buf.data[buf.len], 0);
}

static void the_maximum_is_exact_and_failure_sticks(void **state) {
    (void)state;
    RK_AUTO(rk_buf) buf = RK_BUF_INIT(10);
    rk_buf_add_text(&buf, "0123456789");
    rk_expect_ok(rk_buf_status(&buf));
    rk_buf_add_byte(&buf, 'x');
    rk_expect_code(RK_RESOURCE_EXHAUSTED, rk_buf_status(&buf));
    assert_string_equal(rk_buf_text(&buf), "0123456789");
    rk_buf_clear(&buf);
    rk_buf_add_text(&buf, "again");
    rk_expect_ok(rk_buf_status(&buf));
    rk_buf_add_text(&buf, "and too long");
    rk_buf_add_byte(&buf, 'x'); // fits, but an earlier byte is missing
    assert_string_equal(rk_buf_text(&buf), "again");
    rk_expect_code(RK_RESOURCE_EXHAUSTED, rk_buf_status(&buf));
}

static void absurd_sizes_are_refused(void **state) {
    (void)state;
    RK_AUTO(rk_buf) buf = RK_BUF_INIT(SIZE_MAX);
    rk_buf_add_byte(&buf, 1);
    rk_buf_reserve(&buf, SIZE_MAX - 1);
    rk_expect_code(RK_RESOURCE_EXHAUSTED, rk_buf_status(&buf));
    rk_buf_clear(&buf);
    rk_buf_reserve(&buf, SIZE_MAX / 2 + 2);
    rk_expect_code(RK_RESOURCE_EXHAUSTED, rk_buf_status(&buf));
}

static void clean_up_keeps_the_maximum(void **state) {
    (void)state;
    RK_AUTO(rk_buf) buf = RK_BUF_INIT(4);
    rk_buf_add_text(&buf, "1234");
    size_t len = 0;
    rk_autofree uint8_t *detached = rk_buf_detach(&buf, &len);
    assert_memory_equal(detached, "1234", 5);
    assert_int_equal(len, 4);
    rk_buf_add_text(&buf, "12345");
    rk_expect_code(RK_RESOURCE_EXHAUSTED, rk_buf_status(&buf));
    rk_buf_cleanup(&buf);
    rk_buf_add_text(&buf, "12345");
    rk_expect_code(RK_RESOURCE_EXHAUSTED, rk_buf_status(&buf));
}

static void no_memory_keeps_what_was_there(void **state) {
    (void)state;
    for (unsigned nth = 1;; nth++) {
        RK_AUTO(rk_buf) buf = {0};
        rk_fault_begin(&(rk_fault_plan){.nth = nth, .calls = RK_FAULT_ALLOC});
        for (unsigned i = 0; i < 1000; i++)
            rk_buf_add_format(&buf, "%03u", i);
        bool failed = rk_fault_end();
        assert_true(buf.failed == failed);
        assert_int_equal(buf.len % 3, 0);
        if (!failed) {
            assert_int_equal(buf.len, 3000);
            assert_true(nth > 3); // the buffer grew several times
            break;
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_buffer_is_an_empty_text),
        cmocka_unit_test(appends_every_kind),
        cmocka_unit_test(little_endian_both_ways),
        cmocka_unit_test(grows_far_beyond_its_first_capacity),
        cmocka_unit_test(the_maximum_is_exact_and_failure_sticks),
        cmocka_unit_test(absurd_sizes_are_refused),
        cmocka_unit_test(clean_up_keeps_the_maximum),
        cmocka_unit_test(no_memory_keeps_what_was_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
