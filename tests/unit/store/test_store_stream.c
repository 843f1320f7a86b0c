// An entry in parts gives the same result as the whole entry, whatever the bytes and the parts.
#include "sample.h"

#include "store/entry_stream.h"

static rk_entry_fault decode(rk_span data, rk_entry_view *out_view) {
    rk_entry_fault fault = RK_ENTRY_OK;
    sample_ok(rk_entry_decode(data, NULL, RK_WANT_HEAD, out_view, &fault));
    return fault;
}

static void assert_same_view(const rk_entry_view *got, const rk_entry_view *expected) {
    sample_assert_same(&got->entry, &expected->entry);
    assert_int_equal(got->stored_bytes, expected->stored_bytes);
    assert_int_equal(got->is_signed, expected->is_signed);
    assert_memory_equal(&got->signer, &expected->signer, sizeof got->signer);
    assert_int_equal(got->payload_raw_bytes, expected->payload_raw_bytes);
}

static void compare_one(rk_span data, size_t part_bytes, bool is_tapped) {
    RK_AUTO(rk_entry_view) expected = {0};
    RK_AUTO(rk_entry_view) got = {0};
    rk_entry_stream stream;
    rk_entry_fault fault = RK_ENTRY_OK;
    rk_hasher hasher;
    rk_hasher_init(&hasher);
    rk_entry_stream_begin(data.len, is_tapped, &stream);
    for (size_t at = 0; at < data.len; at += part_bytes) {
        size_t len = data.len - at < part_bytes ? data.len - at : part_bytes;
        rk_entry_stream_add(&stream, rk_span_of(data.data + at, len));
        if (is_tapped)
            rk_entry_stream_tap(&stream, rk_span_of(data.data + at, len), &hasher);
        rk_hasher_add(&hasher, data.data + at, len);
    }
    sample_ok(rk_entry_stream_end(&stream, &got, &fault));
    assert_int_equal(fault, decode(data, &expected));
    if (!fault)
        assert_same_view(&got, &expected);
    rk_entry_stream_cleanup(&stream);
}

static void compare(rk_span data, size_t part_bytes) {
    compare_one(data, part_bytes, false);
    compare_one(data, part_bytes, true);
}

static rk_buf make_entry(unsigned seed, size_t payload_bytes, bool is_signed) {
    rk_buf data = RK_BUF_INIT(RK_ENTRY_MAX_BYTES);
    uint8_t *noise = sample_noise(payload_bytes, seed + 1), key_seed[RK_SIGN_SEED_BYTES] = {7};
    rk_entry entry = sample_entry(seed % 2 ? RK_ENTRY_EXECUTABLE : RK_ENTRY_PROGRAM, seed);
    rk_sign_secret secret;
    rk_sign_public public_key;
    entry.payload = rk_span_of(noise, payload_bytes);
    sample_ok(rk_entry_encode(&entry, &data));
    rk_sign_from_seed(key_seed, &secret, &public_key);
    if (is_signed)
        sample_ok(rk_entry_sign(&secret, &public_key, &data));
    free(noise);
    return data;
}

static void sound_entries(void **state) {
    (void)state;
    static const size_t parts[] = {1, 7, 255, 256, 257, 4096, 1 << 20};
    for (unsigned seed = 0; seed < 4; seed++)
        for (size_t i = 0; i < RK_ARRAY_LEN(parts); i++) {
            RK_AUTO(rk_buf) data = make_entry(seed, seed * 3000, seed > 1);
            compare(rk_buf_span(&data), parts[i]);
        }
}

static void every_changed_byte(void **state) {
    (void)state;
    for (int is_signed = 0; is_signed < 2; is_signed++) {
        RK_AUTO(rk_buf) data = make_entry(3, 500, is_signed);
        for (size_t at = 0; at < data.len; at++) {
            data.data[at] ^= (uint8_t)(1u << at % 8);
            compare(rk_buf_span(&data), 300);
            data.data[at] ^= (uint8_t)(1u << at % 8);
        }
    }
}

static void every_length(void **state) {
    (void)state;
    RK_AUTO(rk_buf) data = make_entry(1, 300, false);
    rk_buf_add_text(&data, "more");
    for (size_t len = 0; len <= data.len; len++)
        compare(rk_span_of(data.data, len), 100);
}

static void other_numbers_of_bytes_than_announced(void **state) {
    (void)state;
    RK_AUTO(rk_buf) data = make_entry(1, 300, false);
    for (int more = -1; more <= 1; more += 2) {
        RK_AUTO(rk_entry_view) view = {0};
        rk_entry_stream stream;
        rk_entry_fault fault = RK_ENTRY_OK;
        rk_entry_stream_begin(data.len, false, &stream);
        rk_buf_add_byte(&data, 0);
        rk_entry_stream_add(&stream, rk_span_of(data.data, (size_t)((int)data.len - 1 + more)));
        data.len--;
        sample_ok(rk_entry_stream_end(&stream, &view, &fault));
        assert_int_equal(fault, more < 0 ? RK_ENTRY_TRUNCATED : RK_ENTRY_DAMAGED);
        rk_entry_stream_cleanup(&stream);
    }
}

static void the_start_tells_the_rest(void **state) {
    (void)state;
    RK_AUTO(rk_buf) data = make_entry(1, 30000, true);
    RK_AUTO(rk_entry_view) expected = {0};
    size_t start_bytes = 0;
    assert_int_equal(decode(rk_buf_span(&data), &expected), RK_ENTRY_OK);
    rk_span head = rk_span_of(data.data, RK_ENTRY_HEADER_BYTES);
    assert_int_equal(rk_entry_start_bytes(head, data.len, &start_bytes), RK_ENTRY_OK);
    assert_true(start_bytes < 2000);
    for (size_t len = 0; len <= start_bytes; len++) {
        RK_AUTO(rk_entry_view) view = {0};
        rk_entry_fault fault = RK_ENTRY_OK;
        sample_ok(rk_entry_peek(rk_span_of(data.data, len), data.len, &view, &fault));
        assert_int_equal(fault, len < start_bytes ? RK_ENTRY_TRUNCATED : RK_ENTRY_OK);
        if (!fault)
            sample_assert_same(&view.entry, &expected.entry);
    }
    assert_int_equal(rk_entry_start_bytes(head, data.len - 1, &start_bytes), RK_ENTRY_TRUNCATED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_entries),
        cmocka_unit_test(every_changed_byte),
        cmocka_unit_test(every_length),
        cmocka_unit_test(other_numbers_of_bytes_than_announced),
        cmocka_unit_test(the_start_tells_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
