// Decoding returns an entry or a reason for any bytes. Only the encoded bytes give the entry.
#include "sample.h"

#include <stdio.h>

static rk_buf encoded(const rk_entry *entry) {
    rk_buf data = RK_BUF_INIT(RK_ENTRY_MAX_BYTES);
    sample_ok(rk_entry_encode(entry, &data));
    return data;
}

static rk_entry_fault fault_of(rk_span data, const rk_key *expected) {
    RK_AUTO(rk_entry_view) view = {0};
    rk_entry_fault fault = RK_ENTRY_OK;
    sample_ok(rk_entry_decode(data, expected, RK_WANT_PAYLOAD, &view, &fault));
    return fault;
}

static void assert_round_trip(const rk_entry *entry) {
    RK_AUTO(rk_buf) data = encoded(entry);
    RK_AUTO(rk_entry_view) view = {0};
    rk_entry_fault fault = RK_ENTRY_DAMAGED;
    sample_ok(rk_entry_decode(rk_buf_span(&data), &entry->key, RK_WANT_PAYLOAD, &view, &fault));
    assert_int_equal(fault, RK_ENTRY_OK);
    sample_assert_same(&view.entry, entry);
    assert_int_equal(view.stored_bytes, data.len);
    assert_int_equal(view.payload_raw_bytes, entry->payload.len);

    RK_AUTO(rk_entry_view) head = {0};
    sample_ok(rk_entry_decode(rk_buf_span(&data), &entry->key, RK_WANT_HEAD, &head, &fault));
    assert_int_equal(fault, RK_ENTRY_OK);
    rk_entry expected = *entry;
    expected.payload = expected.options = (rk_span){0};
    sample_assert_same(&head.entry, &expected);
    assert_null(head.payload.data);
    assert_int_equal(head.payload_raw_bytes, entry->payload.len);
}

static rk_sign_public sign(rk_buf *data, uint8_t seed_byte) {
    uint8_t seed[RK_SIGN_SEED_BYTES] = {seed_byte};
    rk_sign_secret secret;
    rk_sign_public public_key;
    rk_sign_from_seed(seed, &secret, &public_key);
    sample_ok(rk_entry_sign(&secret, &public_key, data));
    return public_key;
}

static void round_trips(void **state) {
    (void)state;
    rk_entry entry = sample_entry(RK_ENTRY_EXECUTABLE, 1);
    assert_round_trip(&entry);
    entry = sample_entry(RK_ENTRY_PROGRAM, 2);
    assert_round_trip(&entry);
    entry.payload = entry.options = entry.components = entry.metadata = (rk_span){0};
    assert_round_trip(&entry);
    entry.created_ns = entry.compile_ns = UINT64_MAX;
    assert_round_trip(&entry);
}

// Lengths around every threshold of the encoder, with compressible and incompressible bytes.
static void round_trips_of_all_lengths(void **state) {
    (void)state;
    uint8_t *noise = sample_noise(600, 7);
    uint8_t *zeros = calloc(600, 1);
    assert_non_null(zeros);
    for (size_t len = 0; len < 600; len++) {
        rk_entry entry = sample_entry(RK_ENTRY_PROGRAM, 3);
        entry.payload = rk_span_of(noise, len);
        entry.options = rk_span_of(zeros, len);
        assert_round_trip(&entry);
        entry.payload = rk_span_of(zeros, len);
        assert_round_trip(&entry);
    }
    free(noise);
    free(zeros);
}

static void round_trips_of_twenty_megabytes(void **state) {
    (void)state;
    enum { LEN = 20 << 20 };
    uint8_t *noise = sample_noise(LEN, 8);
    rk_entry entry = sample_entry(RK_ENTRY_EXECUTABLE, 4);
    entry.payload = rk_span_of(noise, LEN);
    assert_round_trip(&entry);
    for (size_t i = 0; i < LEN; i++)
        noise[i] = (uint8_t)(noise[i] & 3);
    assert_round_trip(&entry);
    RK_AUTO(rk_buf) data = encoded(&entry);
    assert_true(data.len < LEN / 2);
    free(noise);
}

static void encoding_appends(void **state) {
    (void)state;
    rk_entry entry = sample_entry(RK_ENTRY_EXECUTABLE, 5);
    RK_AUTO(rk_buf) alone = encoded(&entry);
    RK_AUTO(rk_buf) data = RK_BUF_INIT(0);
    rk_buf_add_text(&data, "before");
    sample_ok(rk_entry_encode(&entry, &data));
    assert_int_equal(data.len, 6 + alone.len);
    assert_memory_equal(data.data, "before", 6);
    assert_memory_equal(data.data + 6, alone.data, alone.len);
}

static void encoding_refuses(void **state) {
    (void)state;
    RK_AUTO(rk_buf) data = RK_BUF_INIT(0);
    rk_entry entry = sample_entry(RK_ENTRY_EXECUTABLE, 6);
    entry.kind = (rk_entry_kind)3;
    sample_fails(rk_entry_encode(&entry, &data), RK_INVALID_ARGUMENT);
    entry = sample_entry(RK_ENTRY_EXECUTABLE, 6);
    entry.flags = 2;
    sample_fails(rk_entry_encode(&entry, &data), RK_INVALID_ARGUMENT);
    entry = sample_entry(RK_ENTRY_EXECUTABLE, 6);
    entry.payload.len = RK_ENTRY_MAX_BYTES;
    sample_fails(rk_entry_encode(&entry, &data), RK_OUT_OF_RANGE);
    entry.payload.len = SIZE_MAX;
    sample_fails(rk_entry_encode(&entry, &data), RK_OUT_OF_RANGE);
    assert_int_equal(data.len, 0);
}

static void every_bit_counts(void **state) {
    (void)state;
    rk_entry entries[] = {sample_entry(RK_ENTRY_EXECUTABLE, 9), {0}, {0}};
    entries[1] = entries[0];
    entries[1].payload = entries[1].metadata = entries[1].components = (rk_span){0};
    entries[2] = entries[0];
    for (size_t e = 0; e < 3; e++) {
        RK_AUTO(rk_buf) data = encoded(&entries[e]);
        if (e == 2)
            sign(&data, 1);
        for (size_t bit = 0; bit < 8 * data.len; bit++) {
            data.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
            rk_entry_fault fault = fault_of(rk_buf_span(&data), NULL);
            size_t byte = bit / 8;
            if (byte < 8)
                assert_int_equal(fault, RK_ENTRY_NOT_AN_ENTRY);
            else if (byte < 12)
                assert_int_equal(fault, RK_ENTRY_UNKNOWN_VERSION);
            else
                assert_true(fault == RK_ENTRY_DAMAGED || fault == RK_ENTRY_TRUNCATED);
            data.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        assert_int_equal(fault_of(rk_buf_span(&data), &entries[e].key), RK_ENTRY_OK);
    }
}

// Each length in a block of exactly this size, so that a sanitizer detects reads past the end.
static void every_length_counts(void **state) {
    (void)state;
    rk_entry entry = sample_entry(RK_ENTRY_PROGRAM, 10);
    RK_AUTO(rk_buf) data = encoded(&entry);
    (void)sign(&data, 1);
    for (size_t len = 0; len < data.len; len++) {
        uint8_t *cut = malloc(len ? len : 1);
        assert_non_null(cut);
        memcpy(cut, data.data, len);
        assert_int_equal(fault_of(rk_span_of(cut, len), NULL), RK_ENTRY_TRUNCATED);
        free(cut);
    }
    assert_int_equal(fault_of((rk_span){0}, NULL), RK_ENTRY_TRUNCATED);
    for (size_t extra = 1; extra < 300; extra++) {
        rk_buf_add_byte(&data, (uint8_t)extra);
        assert_int_equal(fault_of(rk_buf_span(&data), NULL), RK_ENTRY_DAMAGED);
    }
}

static void any_alignment_will_do(void **state) {
    (void)state;
    rk_entry entry = sample_entry(RK_ENTRY_EXECUTABLE, 11);
    RK_AUTO(rk_buf) data = encoded(&entry);
    for (size_t shift = 1; shift < 8; shift++) {
        uint8_t *moved = malloc(data.len + shift);
        assert_non_null(moved);
        memcpy(moved + shift, data.data, data.len);
        assert_int_equal(fault_of(rk_span_of(moved + shift, data.len), &entry.key), RK_ENTRY_OK);
        free(moved);
    }
}

// The whole key is compared, not only the digest in the file name.
static void another_key_is_refused(void **state) {
    (void)state;
    rk_entry entry = sample_entry(RK_ENTRY_EXECUTABLE, 12);
    RK_AUTO(rk_buf) data = encoded(&entry);
    rk_digest *parts[] = {&entry.key.digest, &entry.key.program, &entry.key.options,
                          &entry.key.environment};
    for (size_t i = 0; i < RK_ARRAY_LEN(parts); i++) {
        for (size_t byte = 0; byte < RK_DIGEST_BYTES; byte++) {
            parts[i]->bytes[byte] ^= 1;
            assert_int_equal(fault_of(rk_buf_span(&data), &entry.key), RK_ENTRY_OTHER_KEY);
            parts[i]->bytes[byte] ^= 1;
        }
    }
    assert_int_equal(fault_of(rk_buf_span(&data), &entry.key), RK_ENTRY_OK);
}

static void assert_signed(const rk_buf *data, const rk_entry *entry, const rk_sign_public *by) {
    RK_AUTO(rk_entry_view) view = {0};
    rk_entry_fault fault = RK_ENTRY_DAMAGED;
    sample_ok(rk_entry_decode(rk_buf_span(data), &entry->key, RK_WANT_PAYLOAD, &view, &fault));
    assert_int_equal(fault, RK_ENTRY_OK);
    sample_assert_same(&view.entry, entry);
    assert_int_equal(view.is_signed, by != NULL);
    if (by)
        assert_true(rk_sign_public_equal(&view.signer, by));
}

static void signing_changes_nothing_else(void **state) {
    (void)state;
    for (unsigned seed = 20; seed < 24; seed++) {
        rk_entry entry = sample_entry(seed % 2 ? RK_ENTRY_PROGRAM : RK_ENTRY_EXECUTABLE, seed);
        if (seed > 21)
            entry.metadata = entry.components = (rk_span){0};
        RK_AUTO(rk_buf) data = encoded(&entry);
        assert_signed(&data, &entry, NULL);
        size_t before = data.len;
        for (uint8_t by = 1; by < 3; by++) { // the second signature replaces the first
            rk_sign_public signer = sign(&data, by);
            assert_int_equal(data.len, before + RK_ENTRY_SIGNATURE_BYTES);
            assert_signed(&data, &entry, &signer);
        }
    }
}

// A signature that is moved to another entry, or gets another key, is invalid. The check is
// corrected, because it needs no secret.
static void signatures_cannot_be_moved(void **state) {
    (void)state;
    enum { CHECK = 32, FIELDS_AT = 236, FIELDS = 12 };
    rk_entry entry = sample_entry(RK_ENTRY_EXECUTABLE, 30);
    RK_AUTO(rk_buf) good = encoded(&entry);
    (void)sign(&good, 1);
    const uint8_t *signature = good.data + good.len - RK_ENTRY_SIGNATURE_BYTES;
    for (int change = 0; change < 9; change++) {
        rk_entry other = entry;
        switch (change) {
        case 0:
            other.key.digest.bytes[0] ^= 1;
            break;
        case 1:
            other.key.environment.bytes[31] ^= 1;
            break;
        case 2:
            other.payload = rk_span_text("code of somebody else's");
            break;
        case 3:
            other.metadata = rk_span_text("{}");
            break;
        case 4:
            other.kind = RK_ENTRY_PROGRAM;
            break;
        case 5:
            other.flags ^= RK_ENTRY_FLAG_AOT;
            break;
        case 6:
            other.compile_ns++;
            break;
        default: // 7: another key, below; 8: no change
            break;
        }
        RK_AUTO(rk_buf) data = encoded(&other);
        rk_sign_public another = sign(&data, 2);
        uint8_t *place = data.data + data.len - RK_ENTRY_SIGNATURE_BYTES;
        memcpy(place, signature, RK_ENTRY_SIGNATURE_BYTES - CHECK);
        if (change == 7)
            memcpy(place, another.bytes, sizeof another.bytes);
        rk_hasher hasher;
        rk_digest check;
        rk_hasher_init(&hasher);
        rk_hasher_add(&hasher, data.data + FIELDS_AT, FIELDS);
        rk_hasher_add(&hasher, place, RK_ENTRY_SIGNATURE_BYTES - CHECK);
        rk_hasher_finish(&hasher, &check);
        memcpy(place + RK_ENTRY_SIGNATURE_BYTES - CHECK, check.bytes, CHECK);
        assert_int_equal(fault_of(rk_buf_span(&data), NULL),
                         change == 8 ? RK_ENTRY_OK : RK_ENTRY_DAMAGED);
    }
}

static void only_entries_are_signed(void **state) {
    (void)state;
    rk_sign_secret secret = {0};
    rk_sign_public public_key = {0};
    rk_entry entry = sample_entry(RK_ENTRY_EXECUTABLE, 31);
    RK_AUTO(rk_buf) data = encoded(&entry);
    data.data[300] ^= 1;
    size_t before = data.len;
    sample_fails(rk_entry_sign(&secret, &public_key, &data), RK_INVALID_ARGUMENT);
    assert_int_equal(data.len, before);
}

static void faults_have_texts(void **state) {
    (void)state;
    for (int a = RK_ENTRY_OK; a <= RK_ENTRY_OTHER_KEY; a++)
        for (int b = a + 1; b <= RK_ENTRY_OTHER_KEY; b++)
            assert_string_not_equal(rk_entry_fault_text((rk_entry_fault)a),
                                    rk_entry_fault_text((rk_entry_fault)b));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trips),
        cmocka_unit_test(round_trips_of_all_lengths),
        cmocka_unit_test(round_trips_of_twenty_megabytes),
        cmocka_unit_test(encoding_appends),
        cmocka_unit_test(encoding_refuses),
        cmocka_unit_test(every_bit_counts),
        cmocka_unit_test(every_length_counts),
        cmocka_unit_test(any_alignment_will_do),
        cmocka_unit_test(another_key_is_refused),
        cmocka_unit_test(signing_changes_nothing_else),
        cmocka_unit_test(signatures_cannot_be_moved),
        cmocka_unit_test(only_entries_are_signed),
        cmocka_unit_test(faults_have_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
