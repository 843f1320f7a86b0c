// Entries with a right digest and wrong content, made by an attacker or by a defect. The decoder
// must refuse them, never read past the end, and never allocate much more memory than the input
// justifies.
#include "sample.h"

#include <zstd.h>

#include "base/alloc.h"

// Offsets from docs/format.md, deliberately not from the code under test.
enum {
    HEAD = 256,
    DIGEST = 32,
    AT_HEADER_BYTES = 12,
    AT_KIND = 16,
    AT_FLAGS = 20,
    AT_SIZES = 168, // stored and raw size, 8 bytes each, of four sections
    AT_COMPRESSIONS = 232,
    AT_SIGNATURE = 236,
    AT_RESERVED = 248,
    COMPONENTS = 0,
    METADATA = 1,
    PAYLOAD = 2,
    OPTIONS = 3,
};

static size_t allocations, largest_allocation;

static void *counting_malloc(size_t size_bytes) {
    allocations++;
    if (size_bytes > largest_allocation)
        largest_allocation = size_bytes;
    return malloc(size_bytes);
}

static const rk_alloc_table counting = {counting_malloc, realloc, free};

static void set_u64(uint8_t *data, size_t at, uint64_t value) {
    for (unsigned i = 0; i < 8; i++)
        data[at + i] = (uint8_t)(value >> (8 * i));
}

static void set_size(rk_buf *data, size_t section, uint64_t stored, uint64_t raw) {
    set_u64(data->data, AT_SIZES + 16 * section, stored);
    set_u64(data->data, AT_SIZES + 16 * section + 8, raw);
}

// Sets the last 32 bytes to the digest of all bytes before them.
static void seal(uint8_t *data, size_t len) {
    static const uint8_t zeros[AT_RESERVED - AT_SIGNATURE];
    rk_hasher hasher;
    rk_digest digest;
    rk_hasher_init(&hasher);
    rk_hasher_add(&hasher, data, AT_SIGNATURE);
    rk_hasher_add(&hasher, zeros, sizeof zeros);
    rk_hasher_add(&hasher, data + AT_RESERVED, len - DIGEST - AT_RESERVED);
    rk_hasher_finish(&hasher, &digest);
    memcpy(data + len - DIGEST, digest.bytes, DIGEST);
}

static rk_entry_fault decode(rk_span data) {
    RK_AUTO(rk_entry_view) view = {0};
    rk_entry_fault fault = RK_ENTRY_OK;
    allocations = largest_allocation = 0;
    rk_alloc_replace(&counting);
    rk_err *err = rk_entry_decode(data, NULL, RK_WANT_PAYLOAD, &view, &fault);
    rk_alloc_replace(NULL);
    sample_ok(err);
    if (fault)
        assert_null(view.payload.data);
    return fault;
}

static rk_buf encoded(rk_entry_kind kind) {
    rk_entry entry = sample_entry(kind, 1);
    rk_buf data = RK_BUF_INIT(0);
    sample_ok(rk_entry_encode(&entry, &data));
    return data;
}

static uint64_t stored_of(const rk_buf *data, size_t section) {
    return rk_load_u64le(data->data + AT_SIZES + 16 * section);
}

static uint64_t raw_of(const rk_buf *data, size_t section) {
    return rk_load_u64le(data->data + AT_SIZES + 16 * section + 8);
}

static void assert_damaged(rk_buf *data) {
    seal(data->data, data->len);
    assert_int_equal(decode(rk_buf_span(data)), RK_ENTRY_DAMAGED);
}

// The seal of this test must equal that of the encoder. Otherwise the other tests would prove
// nothing.
static void seal_is_right(void **state) {
    (void)state;
    RK_AUTO(rk_buf) data = encoded(RK_ENTRY_EXECUTABLE);
    RK_AUTO(rk_buf) copy = {0};
    rk_buf_add_span(&copy, rk_buf_span(&data));
    seal(copy.data, copy.len);
    assert_memory_equal(copy.data, data.data, data.len);
    assert_int_equal(data.data[AT_COMPRESSIONS + PAYLOAD], 1);
}

static void numbers_that_mean_nothing(void **state) {
    (void)state;
    RK_AUTO(rk_buf) data = encoded(RK_ENTRY_PROGRAM);
    for (size_t at = AT_HEADER_BYTES; at < AT_FLAGS + 4; at++) {
        for (unsigned bit = at == AT_FLAGS ? 1 : 0; bit < 8; bit++) {
            if (at == AT_KIND && bit < 2)
                continue; // kinds 1 and 2 would become 0 and 3, see below
            data.data[at] ^= (uint8_t)(1u << bit);
            assert_damaged(&data);
            assert_int_equal(allocations, 0);
            data.data[at] ^= (uint8_t)(1u << bit);
        }
    }
    data.data[AT_KIND] = 0;
    assert_damaged(&data);
    data.data[AT_KIND] = 3;
    assert_damaged(&data);
    data.data[AT_KIND] = RK_ENTRY_PROGRAM;
    for (size_t at = AT_SIGNATURE; at < HEAD; at++) {
        data.data[at] = 0x80;
        seal(data.data, data.len);
        rk_entry_fault fault = decode(rk_buf_span(&data)); // a 128-byte signature may be missing
        assert_true(fault == RK_ENTRY_DAMAGED || fault == RK_ENTRY_TRUNCATED);
        data.data[at] = 0;
    }
    for (unsigned value = 0; value < 256; value++) {
        for (size_t section = COMPONENTS; section <= OPTIONS; section++) {
            uint8_t *compression = &data.data[AT_COMPRESSIONS + section];
            uint8_t right = *compression;
            *compression = (uint8_t)value;
            if (value != right)
                assert_damaged(&data);
            *compression = right;
        }
    }
    seal(data.data, data.len);
    assert_int_equal(decode(rk_buf_span(&data)), RK_ENTRY_OK);
}

static void sizes_that_contradict_each_other(void **state) {
    (void)state;
    RK_AUTO(rk_buf) data = encoded(RK_ENTRY_PROGRAM);
    const uint64_t odd[] = {0,
                            1,
                            data.len,
                            RK_ENTRY_MAX_BYTES - 1,
                            RK_ENTRY_MAX_BYTES,
                            RK_ENTRY_MAX_BYTES + 1,
                            UINT64_MAX / 2,
                            UINT64_MAX / 2 + 1,
                            UINT64_MAX - HEAD,
                            UINT64_MAX - HEAD - DIGEST,
                            UINT64_MAX};
    for (size_t section = COMPONENTS; section <= OPTIONS; section++) {
        uint64_t stored = stored_of(&data, section);
        uint64_t raw = raw_of(&data, section);
        for (size_t i = 0; i < RK_ARRAY_LEN(odd) + 4; i++) {
            uint64_t nearby = i % 2 ? stored + 1 : stored - 1;
            set_size(&data, section, i < RK_ARRAY_LEN(odd) ? odd[i] : nearby, raw);
            seal(data.data, data.len);
            assert_int_not_equal(decode(rk_buf_span(&data)), RK_ENTRY_OK);
            assert_int_equal(allocations, 0);
            nearby = i % 2 ? raw + 1 : raw - 1;
            set_size(&data, section, stored, i < RK_ARRAY_LEN(odd) ? odd[i] : nearby);
            assert_damaged(&data);
            assert_int_equal(allocations, 0);
            set_size(&data, section, odd[i % RK_ARRAY_LEN(odd)], odd[i % RK_ARRAY_LEN(odd)]);
            seal(data.data, data.len);
            assert_int_not_equal(decode(rk_buf_span(&data)), RK_ENTRY_OK);
            assert_int_equal(allocations, 0);
        }
        set_size(&data, section, stored, raw);
    }
    // Two sections whose sizes overflow to the right sum.
    uint64_t both = stored_of(&data, COMPONENTS) + stored_of(&data, METADATA);
    set_size(&data, COMPONENTS, UINT64_MAX - 9, UINT64_MAX - 9);
    set_size(&data, METADATA, both + 10, both + 10);
    assert_damaged(&data);
}

// Decodes an entry whose stored payload is `packed`, with a declared size of `raw`.
static rk_entry_fault decode_payload(rk_span packed, uint64_t raw) {
    RK_AUTO(rk_buf) data = RK_BUF_INIT(0);
    rk_entry entry = sample_entry(RK_ENTRY_EXECUTABLE, 2);
    entry.payload = (rk_span){0};
    sample_ok(rk_entry_encode(&entry, &data));
    data.len -= DIGEST;
    rk_buf_add_span(&data, packed);
    static const uint8_t digest[DIGEST];
    rk_buf_add(&data, digest, sizeof digest);
    sample_ok(rk_buf_status(&data));
    set_size(&data, PAYLOAD, packed.len, raw);
    data.data[AT_COMPRESSIONS + PAYLOAD] = 1;
    seal(data.data, data.len);
    return decode(rk_buf_span(&data));
}

static void frames_that_are_not_the_payload(void **state) {
    (void)state;
    enum { RAW = 5000 };
    uint8_t raw[RAW];
    memset(raw, 'r', sizeof raw);
    uint8_t frame[2 * RAW];
    size_t len = ZSTD_compress(frame, sizeof frame, raw, sizeof raw, 3);
    assert_false(ZSTD_isError(len));
    assert_int_equal(decode_payload(rk_span_of(frame, len), RAW), RK_ENTRY_OK);
    assert_int_equal(decode_payload(rk_span_of(frame, len), RAW - 1), RK_ENTRY_DAMAGED);
    assert_int_equal(decode_payload(rk_span_of(frame, len), RAW + 1), RK_ENTRY_DAMAGED);
    for (size_t cut = 0; cut < len; cut++)
        assert_int_equal(decode_payload(rk_span_of(frame, cut), RAW), RK_ENTRY_DAMAGED);
    memcpy(frame + len, frame, len); // below: two frames, an extra byte, a skippable frame
    assert_int_equal(decode_payload(rk_span_of(frame, 2 * len), RAW), RK_ENTRY_DAMAGED);
    assert_int_equal(decode_payload(rk_span_of(frame, 2 * len), 2 * RAW), RK_ENTRY_DAMAGED);
    assert_int_equal(decode_payload(rk_span_of(frame, len + 1), RAW), RK_ENTRY_DAMAGED);
    static const uint8_t skippable[] = {0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0};
    memcpy(frame + len, skippable, sizeof skippable);
    assert_int_equal(decode_payload(rk_span_of(frame, len + sizeof skippable), RAW),
                     RK_ENTRY_DAMAGED);
    assert_int_equal(decode_payload(rk_span_of(skippable, sizeof skippable), 0), RK_ENTRY_DAMAGED);
    assert_int_equal(decode_payload(rk_span_of(raw, 100), RAW), RK_ENTRY_DAMAGED);
}

static void frames_without_their_size(void **state) {
    (void)state;
    uint8_t raw[3000] = {0};
    uint8_t frame[4000];
    ZSTD_CCtx *context = ZSTD_createCCtx();
    assert_non_null(context);
    (void)ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
    size_t len = ZSTD_compress2(context, frame, sizeof frame, raw, sizeof raw);
    assert_false(ZSTD_isError(len));
    (void)ZSTD_freeCCtx(context);
    assert_int_equal(decode_payload(rk_span_of(frame, len), sizeof raw), RK_ENTRY_DAMAGED);
    assert_int_equal(decode_payload(rk_span_of(frame, len), UINT64_MAX), RK_ENTRY_DAMAGED);
}

// Complete frames of one uncompressed block with a wrong size.
static void frames_that_break_their_word(void **state) {
    (void)state;
    enum { CLAIM = 100, START = 9 };
    for (unsigned block = 0; block < 2 * CLAIM; block++) {
        uint8_t frame[START + 2 * CLAIM] = {0x28, 0xb5, 0x2f, 0xfd, 0x20, CLAIM};
        frame[6] = (uint8_t)(block << 3 | 1);
        frame[7] = (uint8_t)(block >> 5);
        assert_int_equal(decode_payload(rk_span_of(frame, START + block), CLAIM),
                         block == CLAIM ? RK_ENTRY_OK : RK_ENTRY_DAMAGED);
    }
}

// A small complete frame that claims gigabytes, as does the entry's head: refused before any
// allocation.
static void bombs(void **state) {
    (void)state;
    // A single segment with an 8-byte content size, and one empty last block.
    uint8_t frame[16] = {0x28, 0xb5, 0x2f, 0xfd, 0xe0, [13] = 1};
    const uint64_t claims[] = {64u << 20, RK_ENTRY_MAX_BYTES, RK_ENTRY_MAX_BYTES + 1,
                               UINT64_MAX - 2};
    for (size_t i = 0; i < RK_ARRAY_LEN(claims); i++) {
        set_u64(frame, 5, claims[i]);
        assert_int_equal(decode_payload(rk_span_of(frame, sizeof frame), claims[i]),
                         RK_ENTRY_DAMAGED);
        assert_int_equal(allocations, 0);
    }
}

static void mutate(rk_buf *data, uint64_t *random) {
    for (uint64_t count = 1 + sample_random(random) % 4; count; count--) {
        // Mostly the head, because it contains the sizes.
        size_t range = sample_random(random) % 4 ? HEAD : data->len;
        size_t at = sample_random(random) % range;
        uint64_t how = sample_random(random) % 4;
        uint8_t value = (uint8_t)sample_random(random);
        if (how == 0)
            data->data[at] = value;
        else if (how == 1)
            data->data[at] ^= (uint8_t)(1u << value % 8);
        else if (how == 2)
            data->data[at] = value % 2 ? 0xff : 0;
        else
            data->data[at] = data->data[sample_random(random) % data->len];
    }
    if (sample_random(random) % 8 == 0)
        data->len -= sample_random(random) % (data->len - HEAD - DIGEST);
}

static void assert_encodes_again(rk_span data) {
    RK_AUTO(rk_entry_view) view = {0};
    RK_AUTO(rk_entry_view) second = {0};
    RK_AUTO(rk_buf) again = RK_BUF_INIT(0);
    rk_entry_fault fault = RK_ENTRY_OK;
    sample_ok(rk_entry_decode(data, NULL, RK_WANT_PAYLOAD, &view, &fault));
    sample_ok(rk_entry_encode(&view.entry, &again));
    sample_ok(
        rk_entry_decode(rk_buf_span(&again), &view.entry.key, RK_WANT_PAYLOAD, &second, &fault));
    assert_int_equal(fault, RK_ENTRY_OK);
    sample_assert_same(&second.entry, &view.entry);
}

// Half of the inputs get a right digest after the damage.
static void a_hundred_thousand_mutations(void **state) {
    (void)state;
    rk_buf originals[] = {encoded(RK_ENTRY_EXECUTABLE), encoded(RK_ENTRY_PROGRAM)};
    RK_AUTO(rk_buf) data = RK_BUF_INIT(0);
    uint64_t random = 20250101;
    unsigned sound = 0;
    for (unsigned i = 0; i < 100000; i++) {
        rk_buf_clear(&data);
        rk_buf_add_span(&data, rk_buf_span(&originals[i / 2 % 2]));
        mutate(&data, &random);
        if (i % 2)
            seal(data.data, data.len);
        rk_entry_fault fault = decode(rk_buf_span(&data));
        if (i % 2 == 0)
            assert_true(fault != RK_ENTRY_OK || data.len == originals[i / 2 % 2].len);
        if (fault && i % 2 == 0)
            assert_int_equal(allocations, 0);
        assert_true(largest_allocation <= data.len * 32768 + 1);
        if (fault == RK_ENTRY_OK && ++sound)
            assert_encodes_again(rk_buf_span(&data));
    }
    assert_true(sound > 1000); // the seal can be passed: dates and keys are free
    for (size_t i = 0; i < RK_ARRAY_LEN(originals); i++)
        rk_buf_cleanup(&originals[i]);
}

// An attacker can correct the check, because it needs no secret.
static void seal_signature(rk_buf *data) {
    enum { CHECK = 32, SECTION = 128 };
    uint8_t *section = data->data + data->len - SECTION;
    rk_hasher hasher;
    rk_digest check;
    rk_hasher_init(&hasher);
    rk_hasher_add(&hasher, data->data + AT_SIGNATURE, AT_RESERVED - AT_SIGNATURE);
    rk_hasher_add(&hasher, section, SECTION - CHECK);
    rk_hasher_finish(&hasher, &check);
    memcpy(section + SECTION - CHECK, check.bytes, CHECK);
}

static void signatures_that_mean_nothing(void **state) {
    (void)state;
    const uint8_t seed[RK_SIGN_SEED_BYTES] = {7};
    rk_sign_secret secret;
    rk_sign_public public_key;
    rk_sign_from_seed(seed, &secret, &public_key);
    rk_entry entry = sample_entry(RK_ENTRY_EXECUTABLE, 1);
    RK_AUTO(rk_buf) data = RK_BUF_INIT(0);
    sample_ok(rk_entry_encode(&entry, &data));
    sample_ok(rk_entry_sign(&secret, &public_key, &data));
    assert_int_equal(decode(rk_buf_span(&data)), RK_ENTRY_OK);
    for (unsigned type = 0; type < 256; type++) {
        data.data[AT_SIGNATURE] = (uint8_t)type;
        seal_signature(&data);
        assert_int_equal(decode(rk_buf_span(&data)), type == 1 ? RK_ENTRY_OK : RK_ENTRY_DAMAGED);
    }
    data.data[AT_SIGNATURE] = 1;
    // Longer and shorter signatures that fill the file exactly.
    for (unsigned bytes = 0; bytes < 300; bytes++) {
        RK_AUTO(rk_buf) other = RK_BUF_INIT(0);
        rk_buf_add(&other, data.data, data.len - 128);
        for (unsigned i = 0; i < bytes; i++)
            rk_buf_add_byte(&other, data.data[data.len - 128 + i % 128]);
        set_u64(other.data, AT_SIGNATURE + 4, bytes);
        if (bytes >= 128)
            seal_signature(&other);
        assert_int_equal(decode(rk_buf_span(&other)),
                         bytes == 128 ? RK_ENTRY_OK : RK_ENTRY_DAMAGED);
    }
    set_u64(data.data, AT_SIGNATURE + 4, UINT64_MAX - 100);
    seal_signature(&data);
    assert_int_equal(decode(rk_buf_span(&data)), RK_ENTRY_DAMAGED);
    // Signed by a key that accepts every signature.
    set_u64(data.data, AT_SIGNATURE + 4, 128);
    memset(data.data + data.len - 128, 0, 96);
    data.data[data.len - 128] = 1;
    data.data[data.len - 96] = 1;
    seal_signature(&data);
    assert_int_equal(decode(rk_buf_span(&data)), RK_ENTRY_DAMAGED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seal_is_right),
        cmocka_unit_test(numbers_that_mean_nothing),
        cmocka_unit_test(sizes_that_contradict_each_other),
        cmocka_unit_test(frames_that_are_not_the_payload),
        cmocka_unit_test(frames_without_their_size),
        cmocka_unit_test(frames_that_break_their_word),
        cmocka_unit_test(bombs),
        cmocka_unit_test(a_hundred_thousand_mutations),
        cmocka_unit_test(signatures_that_mean_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
