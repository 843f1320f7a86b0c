// Bundles with right digests and wrong content, made by an attacker or by a defect. The reader
// refuses them, and never allocates much more memory than the input justifies.
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>

#include <zstd.h>

#include "support/peak.h"

static const rk_span none = {0};

static rk_span text(const char *string) {
    return rk_span_text(string);
}

// A bundle of two stored blobs, not ended yet.
static maker two_blobs(void) {
    maker file = maker_begin(FIXTURE_HEADER);
    RK_AUTO(rk_buf) noise = {0};
    fixture_add_noise(&noise, 100, 1);
    maker_add_blob(&file, rk_buf_span(&noise), none);
    maker_add_blob(&file, text("second"), none);
    maker_add_module(&file, "pjrt", 2);
    maker_add_item(&file, text("one"), 0);
    maker_add_item(&file, text("two"), 1);
    return file;
}

static void expect(maker *file, rk_code code, const char *words) {
    maker_end(file);
    rk_peak_begin();
    rk_err *err = fixture_check(rk_buf_span(&file->file));
    size_t peak_bytes = rk_peak_bytes();
    rk_peak_end();
    fixture_expect(err, code, words);
    // An error in between uses the allocator too. jansson does not use it.
    assert_true(peak_bytes < RK_BUNDLE_READ_MEMORY_MAX_BYTES + file->rest.len * 8);
    maker_cleanup(file);
}

// The maker of this test must make sound bundles. Otherwise the other tests would prove nothing.
static void maker_makes_sound_bundles(void **state) {
    (void)state;
    RK_AUTO(maker) file = two_blobs();
    maker_end(&file);
    rk_expect_ok(fixture_check(rk_buf_span(&file.file)));
}

enum { AT_OFFSET = 0, AT_STORED = 8, AT_RAW = 16, AT_CODEC = 24, AT_CODEC_RESERVED = 28 };

static void rows(size_t row, size_t field, uint64_t value, bool is_u32, rk_code code,
                 const char *words) {
    maker file = two_blobs();
    uint8_t *at = file.rows.data + row * ROW + field;
    if (is_u32)
        put_u32(at, (uint32_t)value);
    else
        put_u64(at, value);
    expect(&file, code, words);
}

static void overlaps_and_holes(void **state) {
    (void)state;
    static const char words[] = "overlap, or holes";
    RK_AUTO(maker) sound = two_blobs();
    uint64_t first = rk_load_u64le(sound.rows.data);
    uint64_t second = rk_load_u64le(sound.rows.data + ROW);
    rows(0, AT_OFFSET, 0, false, RK_INVALID_ARGUMENT, words); // over the header
    rows(0, AT_OFFSET, first + 64, false, RK_INVALID_ARGUMENT, words);
    rows(0, AT_OFFSET, first + 1, false, RK_INVALID_ARGUMENT, words);
    rows(1, AT_OFFSET, first, false, RK_INVALID_ARGUMENT, words);
    rows(1, AT_OFFSET, second - 64, false, RK_INVALID_ARGUMENT, words);
    rows(1, AT_OFFSET, second + 64, false, RK_INVALID_ARGUMENT, words);
    rows(1, AT_OFFSET, UINT64_MAX, false, RK_INVALID_ARGUMENT, words);
    rows(1, AT_OFFSET, (uint64_t)1 << 63, false, RK_INVALID_ARGUMENT, words);
    rows(0, AT_STORED, 64, false, RK_INVALID_ARGUMENT, "two sizes");
    rows(1, AT_STORED, 65, false, RK_INVALID_ARGUMENT, "a blob outside the file");
    rows(1, AT_STORED, UINT64_MAX, false, RK_INVALID_ARGUMENT, "a blob outside the file");
    rows(1, AT_RAW, 7, false, RK_INVALID_ARGUMENT, "two sizes");
}

static void bytes_without_a_blob(void **state) {
    (void)state;
    maker file = two_blobs(); // 64 bytes that no row covers
    rk_buf_add_text(&file.file, "smuggled");
    while (file.file.len % 64)
        rk_buf_add_byte(&file.file, 0);
    expect(&file, RK_INVALID_ARGUMENT, "does not cover all bytes");
    file = maker_begin(FIXTURE_HEADER);
    maker_add_blob(&file, text("one"), none);
    expect(&file, RK_INVALID_ARGUMENT, "beyond its modules"); // a blob without an item
    file = two_blobs();
    rk_buf_add_byte(&file.rest, 0);
    expect(&file, RK_INVALID_ARGUMENT, "beyond its modules");
    file = two_blobs();
    file.file.data[file.file.len - 1] = 1; // in the padding
    expect(&file, RK_DATA_LOSS, "module pjrt, item two: the content is followed by bytes that");
}

// The header's padding is in no digest.
static void bytes_after_the_header(void **state) {
    (void)state;
    maker file = two_blobs();
    size_t end = PREFACE + strlen(FIXTURE_HEADER);
    assert_true(end % 64 != 0);
    file.file.data[end] = 1;
    expect(&file, RK_DATA_LOSS, "the header is damaged");
}

static void blobs_in_another_order(void **state) {
    (void)state;
    maker file = maker_begin(FIXTURE_HEADER);
    maker_add_blob(&file, text("one"), none);
    maker_add_blob(&file, text("two"), none);
    maker_add_module(&file, "pjrt", 2);
    maker_add_item(&file, text("a"), 1);
    maker_add_item(&file, text("b"), 0);
    expect(&file, RK_INVALID_ARGUMENT, "blobs in another order");
    file = maker_begin(FIXTURE_HEADER);
    maker_add_module(&file, "pjrt", 1);
    maker_add_item(&file, text("a"), 0);
    expect(&file, RK_INVALID_ARGUMENT, "an item without its blob");
}

static void codecs_and_modes(void **state) {
    (void)state;
    rows(0, AT_CODEC, 2, true, RK_INVALID_ARGUMENT, "unknown codec");
    rows(0, AT_CODEC_RESERVED, 1, true, RK_INVALID_ARGUMENT, "unknown codec");
    rows(0, AT_CODEC, 1, true, RK_DATA_LOSS, "is not a zstd frame");
    rows(0, 64, 0, false, RK_INVALID_ARGUMENT, "two sizes or digests");
    rows(0, 32, 0, false, RK_INVALID_ARGUMENT, "two sizes or digests");
    maker file = two_blobs();
    put_u32(file.rest.data + file.rest.len - 8, 2); // the mode of the last item
    expect(&file, RK_INVALID_ARGUMENT, "unknown mode");
}

static rk_buf packed_text(const char *string, size_t repeat, int checksum) {
    RK_AUTO(rk_buf) raw = {0};
    for (size_t i = 0; i < repeat; i++)
        rk_buf_add_text(&raw, string);
    rk_buf out = RK_BUF_INIT(0);
    rk_buf_reserve(&out, ZSTD_compressBound(raw.len));
    ZSTD_CCtx *context = ZSTD_createCCtx();
    (void)ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, checksum);
    out.len = ZSTD_compress2(context, out.data, ZSTD_compressBound(raw.len), raw.data, raw.len);
    ZSTD_freeCCtx(context);
    return out;
}

static void expect_frame(rk_span stored, uint64_t raw_bytes, const char *words) {
    maker file = maker_begin(FIXTURE_HEADER);
    maker_add_blob(&file, stored, text("some content"));
    put_u64(file.rows.data + AT_RAW, raw_bytes);
    maker_add_module(&file, "pjrt", 1);
    maker_add_item(&file, text("a"), 0);
    expect(&file, RK_DATA_LOSS, words);
}

static void frames(void **state) {
    (void)state;
    RK_AUTO(rk_buf) frame = packed_text("0123456789", 100, 0);
    RK_AUTO(rk_buf) twice = {0};
    rk_buf_add_span(&twice, rk_buf_span(&frame));
    expect_frame(rk_buf_span(&frame), 1000, "differs, when decompressed, from its digest");
    expect_frame(rk_buf_span(&frame), 999, "states another size");
    expect_frame(rk_buf_span(&frame), 1001, "states another size");
    expect_frame(rk_span_of(frame.data, frame.len - 1), 1000, "another size");
    rk_buf_add_byte(&twice, 0);
    expect_frame(rk_buf_span(&twice), 1000, "another size");
    twice.len--;
    rk_buf_add_span(&twice, rk_buf_span(&frame));
    expect_frame(rk_buf_span(&twice), 1000, "another size");
    static const uint8_t skippable[] = {0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 'd', 'a', 't', 'a'};
    RK_AUTO(rk_buf) skipped = {0};
    rk_buf_add(&skipped, skippable, sizeof skippable);
    rk_buf_add_span(&skipped, rk_buf_span(&frame));
    expect_frame(rk_buf_span(&skipped), 1000, "is not a zstd frame");
    frame.data[frame.len / 2] ^= 0x55;
    expect_frame(rk_buf_span(&frame), 1000, "the content");
}

// A frame of RLE blocks: 4 bytes for each 128 KiB. `stated` is the size in the frame's header.
static rk_buf bomb(uint64_t stated, size_t blocks, bool is_single_segment) {
    rk_buf out = RK_BUF_INIT(0);
    enum { BLOCK_BYTES = 128 << 10 };
    rk_buf_add_u32le(&out, 0xFD2FB528);
    rk_buf_add_byte(&out, is_single_segment ? 0xE0 : 0xC0); // content size of 8 bytes
    if (!is_single_segment)
        rk_buf_add_byte(&out, (21 - 10) << 3); // window of 2 MiB
    rk_buf_add_u64le(&out, stated);
    for (size_t i = 0; i < blocks; i++) {
        uint32_t block = (uint32_t)(i + 1 == blocks) | 1u << 1 | (uint32_t)BLOCK_BYTES << 3;
        rk_buf_add_byte(&out, (uint8_t)block);
        rk_buf_add_byte(&out, (uint8_t)(block >> 8));
        rk_buf_add_byte(&out, (uint8_t)(block >> 16));
        rk_buf_add_byte(&out, 'x');
    }
    return out;
}

static rk_err *count(void *context, rk_span part) {
    uint64_t *total = context;
    *total += part.len;
    return NULL;
}

// A gigabyte from 32 KiB. It states a small size, a large one, or too large a window.
static void bombs(void **state) {
    (void)state;
    enum { BLOCKS = 8192 };
    const uint64_t full = (uint64_t)BLOCKS << 17;
    static const struct {
        uint64_t stated, declared;
        bool is_single_segment;
        const char *words;
    } cases[] = {
        {100000, 100000, false, "cannot be decompressed"},
        {(uint64_t)1 << 30, 100000, false, "states another size"},
        {((uint64_t)1 << 30) - 1, ((uint64_t)1 << 30) - 1, false, "cannot be decompressed"},
        {(uint64_t)1 << 30, (uint64_t)1 << 30, true, "needs a window of more than 2 MiB"},
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(cases); i++) {
        RK_AUTO(rk_buf) frame = bomb(cases[i].stated, BLOCKS, cases[i].is_single_segment);
        expect_frame(rk_buf_span(&frame), cases[i].declared, cases[i].words);
    }
    // It declares its size: the reader passes all of it on, in constant memory, or refuses it by
    // the caller's maximum.
    RK_AUTO(rk_buf) frame = bomb(full, BLOCKS, false);
    RK_AUTO(maker) file = maker_begin(FIXTURE_HEADER);
    maker_add_blob(&file, rk_buf_span(&frame), text("another content"));
    put_u64(file.rows.data + AT_RAW, full);
    maker_add_module(&file, "pjrt", 1);
    maker_add_item(&file, text("a"), 0);
    maker_end(&file);
    uint64_t total = 0;
    rk_bundle *bundle = NULL;
    RK_AUTO(rk_buf) whole = {0};
    rk_peak_begin();
    rk_expect_ok(fixture_open(rk_buf_span(&file.file), &bundle));
    const rk_bundle_module *module = rk_bundle_module_find(bundle, "pjrt");
    rk_err *err = rk_bundle_read(bundle, module, module->items, count, &total);
    rk_err *too_large = rk_bundle_read_whole(bundle, module, module->items, 1 << 20, &whole);
    rk_bundle_free(bundle);
    size_t peak_bytes = rk_peak_bytes();
    rk_peak_end();
    fixture_expect(err, RK_DATA_LOSS, "differs, when decompressed, from its digest");
    fixture_expect(too_large, RK_OUT_OF_RANGE, "more than the 1048576 allowed");
    assert_int_equal(total, full);
    assert_true(peak_bytes < RK_BUNDLE_READ_MEMORY_MAX_BYTES);
}

static void impossible_sizes(void **state) {
    (void)state;
    rows(0, AT_CODEC, 1, true, RK_DATA_LOSS, "is not a zstd frame");
    for (int i = 0; i < 3; i++) {
        maker file = two_blobs();
        put_u32(file.rows.data + AT_CODEC, 1);
        static const uint64_t raw[] = {0, (uint64_t)101 << 15, ((uint64_t)1 << 40)};
        put_u64(file.rows.data + AT_RAW, raw[i]);
        expect(&file, RK_INVALID_ARGUMENT, "an impossible size");
    }
    rows(0, AT_RAW, ((uint64_t)1 << 40) + 1, false, RK_OUT_OF_RANGE, "more than the 1099511627776");
    rows(0, AT_RAW, UINT64_MAX, false, RK_OUT_OF_RANGE, "more than the 1099511627776");
}

static void expect_index(rk_span index, rk_code code, const char *words) {
    RK_AUTO(maker) file = maker_begin(FIXTURE_HEADER);
    maker_end_with(&file, index);
    rk_peak_begin();
    rk_err *err = fixture_check(rk_buf_span(&file.file));
    size_t peak_bytes = rk_peak_bytes();
    rk_peak_end();
    fixture_expect(err, code, words);
    assert_true(peak_bytes < (64 << 10) + 8 * index.len);
}

static void expect_counts(uint32_t blobs, uint32_t modules, uint32_t items, rk_code code,
                          const char *words) {
    RK_AUTO(rk_buf) index = {0};
    rk_buf_add_u32le(&index, blobs);
    rk_buf_add_u32le(&index, modules);
    rk_buf_add_u32le(&index, items);
    rk_buf_add_u32le(&index, 0);
    for (int i = 0; i < 100; i++)
        rk_buf_add_byte(&index, 0);
    expect_index(rk_buf_span(&index), code, words);
}

// Counts that would need much memory, in a file that does not have so many bytes.
static void counts(void **state) {
    (void)state;
    expect_counts(UINT32_MAX, 0, 0, RK_OUT_OF_RANGE, "more than the 1000000 in 256 allowed");
    expect_counts(0, UINT32_MAX, 0, RK_OUT_OF_RANGE, "more than the 1000000 in 256 allowed");
    expect_counts(0, 0, UINT32_MAX, RK_OUT_OF_RANGE, "more than the 1000000 in 256 allowed");
    expect_counts(0, 257, 0, RK_OUT_OF_RANGE, "more than the 1000000 in 256 allowed");
    expect_counts(0, 1, 1000001, RK_OUT_OF_RANGE, "more than the 1000000 in 256 allowed");
    expect_counts(1000000, 1, 0, RK_INVALID_ARGUMENT, "shorter than its counts say");
    expect_counts(0, 256, 0, RK_INVALID_ARGUMENT, "shorter than its counts say");
    expect_counts(0, 1, 1000000, RK_INVALID_ARGUMENT, "shorter than its counts say");
    expect_counts(2, 0, 0, RK_INVALID_ARGUMENT, "shorter than its counts say");
    expect_counts(0, 0, 0, RK_INVALID_ARGUMENT, "beyond its modules");
    for (size_t len = 0; len < INDEX_HEAD; len++) {
        static const uint8_t zeros[INDEX_HEAD];
        expect_index(rk_span_of(zeros, len), RK_INVALID_ARGUMENT, "damaged beginning");
    }
    RK_AUTO(rk_buf) index = {0};
    for (int i = 0; i < 12; i++)
        rk_buf_add_byte(&index, 0);
    rk_buf_add_u32le(&index, 1);
    expect_index(rk_buf_span(&index), RK_INVALID_ARGUMENT, "damaged beginning");
    static const uint32_t item_counts[] = {1, 3, UINT32_MAX};
    for (size_t i = 0; i < RK_ARRAY_LEN(item_counts); i++) {
        maker file = two_blobs();
        put_u32(file.rest.data + 12, item_counts[i]);
        expect(&file, RK_INVALID_ARGUMENT, "the index has ");
    }
}

// The index cut off inside each field, with a right digest.
static void cut_index(void **state) {
    (void)state;
    RK_AUTO(maker) whole = two_blobs();
    for (size_t len = 0; len < whole.rest.len; len++) {
        maker file = two_blobs();
        file.rest.len = len;
        maker_end(&file);
        rk_err *err = fixture_check(rk_buf_span(&file.file));
        assert_int_equal(rk_err_code(err), RK_INVALID_ARGUMENT);
        rk_err_free(err);
        maker_cleanup(&file);
    }
}

static void add_attribute(rk_buf *out, rk_span name, rk_span value) {
    rk_buf_add_u32le(out, (uint32_t)name.len);
    rk_buf_add_span(out, name);
    rk_buf_add_u32le(out, (uint32_t)value.len);
    rk_buf_add_span(out, value);
}

// A bundle whose only item has these encoded attributes.
static void expect_attributes(uint32_t number, const rk_buf *encoded, rk_code code,
                              const char *words) {
    maker file = maker_begin(FIXTURE_HEADER);
    maker_add_blob(&file, text("content"), none);
    maker_add_module(&file, "pjrt", 1);
    maker_add_item(&file, text("a"), 0);
    put_u32(file.rest.data + file.rest.len - 4, number);
    rk_buf_add_span(&file.rest, rk_buf_span(encoded));
    if (code != RK_OK) {
        expect(&file, code, words);
        return;
    }
    maker_end(&file);
    rk_expect_ok(fixture_check(rk_buf_span(&file.file)));
    maker_cleanup(&file);
}

static void expect_one_attribute(rk_span name, rk_span value, rk_code code, const char *words) {
    RK_AUTO(rk_buf) encoded = {0};
    add_attribute(&encoded, name, value);
    expect_attributes(1, &encoded, code, words);
}

static void attributes(void **state) {
    (void)state;
    RK_AUTO(rk_buf) big = {0};
    fixture_add_noise(&big, 4096, 1);
    for (size_t i = 0; i < big.len; i++)
        big.data[i] = 'a' + big.data[i] % 26;
    expect_one_attribute(text("a"), text(""), RK_OK, "");
    expect_one_attribute(text("a"), text("two\nlines"), RK_OK, "");
    expect_one_attribute(text("a"), rk_span_of(big.data, 4095), RK_OK, "");
    expect_one_attribute(text("a"), rk_buf_span(&big), RK_INVALID_ARGUMENT, "4,096 bytes");
    expect_one_attribute(text(""), text("x"), RK_INVALID_ARGUMENT, "an empty name");
    expect_one_attribute(text("a\n"), text("x"), RK_INVALID_ARGUMENT, "a control character");
    expect_one_attribute(text("a\xff"), text("x"), RK_INVALID_ARGUMENT, "is not UTF-8");
    expect_one_attribute(text("a"), text("\xff"), RK_INVALID_ARGUMENT, "is not UTF-8");
    expect_one_attribute(text("a"), rk_span_of("\0", 1), RK_INVALID_ARGUMENT, "NUL");
    RK_AUTO(rk_buf) many = {0};
    for (int i = 0; i < 64; i++) {
        char name[8];
        (void)snprintf(name, sizeof name, "a%02d", i);
        add_attribute(&many, text(name), text("x"));
    }
    expect_attributes(64, &many, RK_OK, "");
    expect_attributes(63, &many, RK_INVALID_ARGUMENT, "beyond its modules");
    expect_attributes(65, &many, RK_OUT_OF_RANGE, "65 attributes, more than the 64 allowed");
    expect_attributes(UINT32_MAX, &many, RK_OUT_OF_RANGE, "more than the 64 allowed");
    RK_AUTO(rk_buf) two = {0};
    add_attribute(&two, text("b"), text("x"));
    add_attribute(&two, text("a"), text("x"));
    expect_attributes(2, &two, RK_INVALID_ARGUMENT, "is not in order");
    rk_buf_clear(&two);
    add_attribute(&two, text("a"), text("x"));
    add_attribute(&two, text("a"), text("y"));
    expect_attributes(2, &two, RK_INVALID_ARGUMENT, "occurs twice");
    expect_attributes(3, &two, RK_INVALID_ARGUMENT, "occurs twice");
}

static void expect_header(const char *header, rk_code code, const char *words) {
    RK_AUTO(maker) file = maker_begin(header);
    maker_end(&file);
    fixture_expect(fixture_check(rk_buf_span(&file.file)), code, words);
}

#define TYPE "\"media_type\":\"application/vnd.rekindle.bundle.v1\""

static void headers(void **state) {
    (void)state;
    static const char *const not_json[] = {
        "",
        "{",
        "[]",
        "null",
        "{" TYPE,
        "{" TYPE "}x",
        "{" TYPE "," TYPE ",\"made_with\":{}}",
        "{" TYPE ",\"made_with\":{\"a\":\"1\",\"a\":\"2\"},\"annotations\":{}}",
        "{" TYPE ",\"made_with\":{\"a\":\"\xff\"},\"annotations\":{}}",
        "{" TYPE ",\"made_with\":{\"a\":\"\\u0000\"},\"annotations\":{}}",
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(not_json); i++)
        expect_header(not_json[i], RK_INVALID_ARGUMENT, "the header is not JSON");
    expect_header("{}", RK_INVALID_ARGUMENT, "another media type");
    expect_header("{\"media_type\":\"text/plain\"}", RK_INVALID_ARGUMENT, "another media type");
    expect_header("{" TYPE ",\"annotations\":{}}", RK_INVALID_ARGUMENT, "no \"made_with\"");
    expect_header("{" TYPE ",\"made_with\":[],\"annotations\":{}}", RK_INVALID_ARGUMENT,
                  "no \"made_with\"");
    expect_header("{" TYPE ",\"made_with\":{}}", RK_INVALID_ARGUMENT, "no \"annotations\"");
    expect_header("{" TYPE ",\"made_with\":{\"a\":1},\"annotations\":{}}", RK_INVALID_ARGUMENT,
                  "no text");
    expect_header("{" TYPE ",\"made_with\":{\"\":\"1\"},\"annotations\":{}}", RK_INVALID_ARGUMENT,
                  "an empty name");
    expect_header("{" TYPE ",\"made_with\":{\"a\\nb\":\"1\"},\"annotations\":{}}",
                  RK_INVALID_ARGUMENT, "a control character");
    RK_AUTO(maker) unknown = maker_begin("{" TYPE ",\"made_with\":{},\"annotations\":{},\"x\":1}");
    maker_end(&unknown);
    rk_expect_ok(fixture_check(rk_buf_span(&unknown.file)));
    RK_AUTO(rk_buf) large = {0};
    rk_buf_add_text(&large, "{" TYPE ",\"made_with\":{},\"annotations\":{");
    for (int i = 0; i < 1025; i++)
        rk_buf_add_format(&large, "%s\"a%d\":\"\"", i ? "," : "", i);
    rk_buf_add_text(&large, "}}");
    expect_header(rk_buf_text(&large), RK_OUT_OF_RANGE, "more than the 1024 allowed");
    while (large.len <= 256 << 10)
        rk_buf_add_byte(&large, ' ');
    expect_header(rk_buf_text(&large), RK_OUT_OF_RANGE, "more than the 262144 allowed");
    RK_AUTO(rk_buf) deep = {0};
    while (deep.len < 256 << 10)
        rk_buf_add_byte(&deep, '[');
    expect_header(rk_buf_text(&deep), RK_INVALID_ARGUMENT, "the header is not JSON");
}

// Places in the footer, with a right check.
static void footers(void **state) {
    (void)state;
    static const uint64_t numbers[] = {
        0, 1, 63, 64, 65, 128, 1 << 20, (uint64_t)1 << 63, UINT64_MAX - 255, UINT64_MAX};
    for (size_t i = 0; i < RK_ARRAY_LEN(numbers); i++) {
        for (size_t at = AT_INDEX_OFFSET; at <= AT_FILE_BYTES; at += 8) {
            if (at == AT_HEAD_DIGEST)
                at = AT_FILE_BYTES;
            RK_AUTO(maker) file = two_blobs();
            maker_end(&file);
            put_u64(file.file.data + file.file.len - FOOTER + at, numbers[i]);
            fixture_seal(&file.file);
            rk_err *err = fixture_check(rk_buf_span(&file.file));
            assert_int_equal(rk_err_code(err), RK_DATA_LOSS);
            rk_err_free(err);
        }
    }
    // An index that begins in the middle of the blobs.
    RK_AUTO(maker) file = two_blobs();
    maker_end(&file);
    uint8_t *footer = file.file.data + file.file.len - FOOTER;
    uint64_t offset = rk_load_u64le(footer + AT_INDEX_OFFSET);
    uint64_t len = rk_load_u64le(footer + AT_INDEX_BYTES);
    put_u64(footer + AT_INDEX_OFFSET, offset - 64);
    put_u64(footer + AT_INDEX_BYTES, len + 64);
    fixture_seal(&file.file);
    rk_err *err = fixture_check(rk_buf_span(&file.file));
    assert_non_null(err);
    rk_err_free(err);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maker_makes_sound_bundles),
        cmocka_unit_test(overlaps_and_holes),
        cmocka_unit_test(bytes_without_a_blob),
        cmocka_unit_test(bytes_after_the_header),
        cmocka_unit_test(blobs_in_another_order),
        cmocka_unit_test(codecs_and_modes),
        cmocka_unit_test(frames),
        cmocka_unit_test(bombs),
        cmocka_unit_test(impossible_sizes),
        cmocka_unit_test(counts),
        cmocka_unit_test(cut_index),
        cmocka_unit_test(attributes),
        cmocka_unit_test(headers),
        cmocka_unit_test(footers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
