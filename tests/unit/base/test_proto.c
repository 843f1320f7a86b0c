#include "base/proto.h"

#include "support/expect.h"

static void expect_varint(const char *bytes, size_t len, uint64_t expected) {
    rk_span data = rk_span_of(bytes, len);
    uint64_t value = 0;
    assert_true(rk_proto_take_varint(&data, &value));
    assert_int_equal(value, expected);
    assert_int_equal(data.len, 0);
}

static void varints_from_the_specification(void **state) {
    (void)state;
    expect_varint("\x00", 1, 0);
    expect_varint("\x01", 1, 1);
    expect_varint("\x96\x01", 2, 150);
    expect_varint("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 10, UINT64_MAX);
    expect_varint("\x80\x00", 2, 0); // longer than necessary, but allowed
}

static void varints_that_are_none(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t len;
    } wrong[] = {
        {"", 0},
        {"\x80", 1},
        {"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02", 10},     // more than 64 bits
        {"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 11}, // more than ten bytes
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(wrong); i++) {
        rk_span data = rk_span_of(wrong[i].bytes, wrong[i].len);
        uint64_t value = 0;
        assert_false(rk_proto_take_varint(&data, &value));
        assert_int_equal(data.len, wrong[i].len); // nothing was consumed
    }
}

static void every_wire_type_both_ways(void **state) {
    (void)state;
    RK_AUTO(rk_buf) out = {0};
    rk_proto_add_varint_field(&out, 1, 150);
    rk_proto_add_bytes_field(&out, 2, rk_span_text("testing"));
    rk_proto_add_tag(&out, 3, RK_PROTO_FIXED32);
    rk_buf_add_u32le(&out, 0xDEADBEEF);
    rk_proto_add_tag(&out, 536870911, RK_PROTO_FIXED64); // the largest field number
    rk_buf_add_u64le(&out, 0x0123456789ABCDEF);
    assert_memory_equal(out.data, "\x08\x96\x01\x12\x07testing\x1D", 13);

    rk_span message = rk_buf_span(&out);
    rk_proto_field field;
    bool bad = true;
    assert_true(rk_proto_next(&message, &field, &bad));
    assert_int_equal(field.number, 1);
    assert_int_equal(field.value, 150);
    assert_int_equal(field.whole.len, 3);
    assert_true(rk_proto_next(&message, &field, &bad));
    assert_int_equal(field.number, 2);
    assert_true(rk_span_is(field.bytes, "testing"));
    assert_true(rk_proto_next(&message, &field, &bad));
    assert_int_equal(field.wire, RK_PROTO_FIXED32);
    assert_int_equal(field.value, 0xDEADBEEF);
    assert_true(rk_proto_next(&message, &field, &bad));
    assert_int_equal(field.number, 536870911);
    assert_int_equal(field.value, 0x0123456789ABCDEF);
    assert_false(rk_proto_next(&message, &field, &bad));
    assert_false(bad);
}

static void malformed_messages_are_called_so(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t len;
    } wrong[] = {
        {"\x80", 1},                                           // a truncated tag
        {"\x00\x01", 2},                                       // field number 0
        {"\x80\x80\x80\x80\x10\x00", 6},                       // field number 2^29, too large
        {"\x08", 1},                                           // no value
        {"\x08\x80", 2},                                       // a truncated value
        {"\x0D\x01\x02\x03", 4},                               // truncated fixed32
        {"\x09\x01\x02\x03\x04\x05\x06", 7},                   // truncated fixed64
        {"\x12\x05test", 6},                                   // truncated bytes
        {"\x12\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01x", 12}, // a length near 2^64
        {"\x0B\x0C", 2},                                       // a group
        {"\x0C", 1},                                           // the end of a group
        {"\x0E", 1},                                           // wire type 6
        {"\x0F", 1},                                           // wire type 7
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(wrong); i++) {
        rk_span message = rk_span_of(wrong[i].bytes, wrong[i].len);
        rk_proto_field field;
        bool bad = false;
        assert_false(rk_proto_next(&message, &field, &bad));
        assert_true(bad);
        assert_int_equal(message.len, wrong[i].len);
    }
}

// Every truncated message is read as a shorter message or refused. AddressSanitizer detects reads
// past the end.
static void truncations(void **state) {
    (void)state;
    RK_AUTO(rk_buf) out = {0};
    rk_proto_add_varint_field(&out, 1, 300);
    rk_proto_add_bytes_field(&out, 2, rk_span_text("abc"));
    for (size_t len = 0; len <= out.len; len++) {
        RK_AUTO(rk_buf) copy = {0};
        rk_buf_add(&copy, out.data, len);
        rk_span message = rk_buf_span(&copy);
        rk_proto_field field;
        bool bad = false;
        unsigned fields = 0;
        while (rk_proto_next(&message, &field, &bad))
            fields++;
        assert_true(bad == (len != 0 && len != 3 && len != out.len));
        assert_int_equal(fields, len < 3 ? 0 : len < out.len ? 1 : 2);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(varints_from_the_specification),
        cmocka_unit_test(varints_that_are_none),
        cmocka_unit_test(every_wire_type_both_ways),
        cmocka_unit_test(malformed_messages_are_called_so),
        cmocka_unit_test(truncations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
