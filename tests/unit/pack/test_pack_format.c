// The bytes of a pack: what goes in comes out, and anything else is refused.
#include "pack/pack.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "pack/files.h"
#include "support/expect.h"

enum { TABLE_BYTES = 16, NAME_LEN = 0, FLAGS = 4, OFFSET = 16, LEN = 24, ROW_BYTES = 64 };

static rk_pack_item item_of(const char *name, const char *content) {
    rk_pack_item item = {.name = rk_span_text(name),
                         .content = rk_span_text(content),
                         .modified_ns = UINT64_C(1700000000123456789)};
    rk_digest_of(item.content, &item.digest);
    return item;
}

static rk_buf encode(rk_pack_item *items, size_t count) {
    rk_buf data = {0};
    rk_expect_ok(rk_pack_encode(items, count, &data));
    return data;
}

static rk_buf sample(void) {
    rk_pack_item items[] = {item_of("q5/b.py", "second"), item_of("fxgraph/a", "first"),
                            item_of("q5/c.so", "second"), item_of("empty", "")};
    items[2].is_executable = true;
    return encode(items, 4);
}

static void files_come_back(void **state) {
    (void)state;
    RK_AUTO(rk_buf) data = sample();
    rk_autofree rk_pack_item *items = NULL;
    size_t count;
    rk_expect_ok(rk_pack_decode(rk_buf_span(&data), &items, &count));
    assert_int_equal(count, 4);
    assert_true(rk_span_is(items[0].name, "empty"));
    assert_true(rk_span_is(items[1].name, "fxgraph/a"));
    assert_true(rk_span_is(items[2].name, "q5/b.py"));
    assert_true(rk_span_is(items[3].name, "q5/c.so"));
    assert_int_equal(items[0].content.len, 0);
    assert_true(rk_span_is(items[1].content, "first"));
    assert_true(rk_span_is(items[2].content, "second"));
    assert_true(items[3].is_executable && !items[2].is_executable);
    assert_int_equal(items[1].modified_ns, UINT64_C(1700000000123456789));
}

static void equal_contents_are_written_once(void **state) {
    (void)state;
    RK_AUTO(rk_buf) data = sample();
    rk_autofree rk_pack_item *items = NULL;
    size_t count;
    rk_expect_ok(rk_pack_decode(rk_buf_span(&data), &items, &count));
    assert_ptr_equal(items[2].content.data, items[3].content.data);
}

static void an_empty_pack_is_valid(void **state) {
    (void)state;
    RK_AUTO(rk_buf) data = encode(NULL, 0);
    rk_autofree rk_pack_item *items = NULL;
    size_t count;
    rk_expect_ok(rk_pack_decode(rk_buf_span(&data), &items, &count));
    assert_int_equal(count, 0);
}

// The table is needed whole, and so are the contents.
static void every_cut_is_refused(void **state) {
    (void)state;
    RK_AUTO(rk_buf) data = sample();
    for (size_t len = 0; len < data.len; len++) {
        rk_pack_item *items = NULL;
        size_t count;
        rk_expect_code(RK_DATA_LOSS, rk_pack_decode(rk_span_of(data.data, len), &items, &count));
        assert_null(items);
    }
}

static void refuse(rk_buf *data) {
    rk_pack_item *items = NULL;
    size_t count;
    rk_expect_code(RK_DATA_LOSS, rk_pack_decode(rk_buf_span(data), &items, &count));
    assert_null(items);
}

static void hostile_fields_are_refused(void **state) {
    (void)state;
    static const struct {
        size_t at;
        uint64_t value;
        bool is_long;
    } changes[] = {
        {0, 0, false},                                // the magic
        {8, UINT32_MAX, false},                       // the number of files
        {12, 1, false},                               // flags of the pack
        {TABLE_BYTES + NAME_LEN, UINT32_MAX, false},  // the length of a name
        {TABLE_BYTES + NAME_LEN, 0, false},           //
        {TABLE_BYTES + FLAGS, 2, false},              // flags of a file
        {TABLE_BYTES + OFFSET, UINT64_MAX, true},     // where its content is
        {TABLE_BYTES + LEN, UINT64_MAX, true},        // how long it is
        {TABLE_BYTES + LEN, (uint64_t)1 << 40, true}, //
        {TABLE_BYTES + OFFSET, (uint64_t)1 << 40, true},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        RK_AUTO(rk_buf) data = sample();
        if (changes[i].is_long)
            rk_store_u64le(data.data + changes[i].at, changes[i].value);
        else
            rk_store_u32le(data.data + changes[i].at, (uint32_t)changes[i].value);
        refuse(&data);
    }
}

static void bad_names_are_refused(void **state) {
    (void)state;
    static const char *const names[] = {"../x", "/abs", "a//b", "a/.", "x\ny"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        rk_pack_item item = item_of(names[i], "content");
        RK_AUTO(rk_buf) data = encode(&item, 1);
        refuse(&data);
    }
    rk_pack_item twice[] = {item_of("same", "1"), item_of("same", "2")};
    RK_AUTO(rk_buf) data = encode(twice, 2);
    refuse(&data);
}

static void times_do_not_count(void **state) {
    (void)state;
    rk_pack_item one = item_of("a", "content"), other = one;
    rk_digest first, second;
    other.modified_ns = 5;
    rk_pack_digest(&one, 1, &first);
    rk_pack_digest(&other, 1, &second);
    assert_true(rk_digest_equal(&first, &second));
    other.is_executable = true;
    rk_pack_digest(&other, 1, &second);
    assert_false(rk_digest_equal(&first, &second));
}

// Equal contents are stored once, so a small pack could write much.
static void the_sum_of_the_files_is_limited(void **state) {
    (void)state;
    enum { COUNT = 64, BYTES = 8 << 20 };
    rk_pack_item items[COUNT];
    char names[COUNT][16];
    RK_AUTO(rk_buf) data = {0};
    rk_autofree char *content = rk_malloc(BYTES);
    assert_non_null(content);
    memset(content, 'x', BYTES);
    for (size_t i = 0; i < COUNT; i++) {
        (void)snprintf(names[i], sizeof names[i], "q5/%02zu.py", i);
        items[i] =
            (rk_pack_item){.name = rk_span_text(names[i]), .content = rk_span_of(content, BYTES)};
        rk_digest_of(items[i].content, &items[i].digest);
    }
    rk_expect_code(RK_OUT_OF_RANGE, rk_pack_encode(items, COUNT, &data));
    rk_expect_ok(rk_pack_encode(items, 2, &data));
    RK_AUTO(rk_buf) more = {0}; // rows of the same content, one after the other
    rk_buf_add(&more, data.data, 8);
    rk_buf_add_u32le(&more, COUNT);
    rk_buf_add_u32le(&more, 0);
    for (size_t i = 0; i < COUNT; i++) {
        rk_buf_add_u32le(&more, 8);
        rk_buf_add(&more, data.data + TABLE_BYTES + FLAGS, ROW_BYTES - FLAGS);
        rk_buf_add(&more, names[i], 8);
    }
    rk_buf_add(&more, content, BYTES);
    refuse(&more);
}

// JAX writes into the final file, and may be killed.
static void a_cut_function_of_jax_is_not_whole(void **state) {
    (void)state;
    static const uint8_t frame[] = {0x28, 0xb5, 0x2f, 0xfd, 0x20, 4,   0x21,
                                    0,    0,    'c',  'o',  'd',  'e', 0};
    const size_t len = sizeof frame - 1;
    assert_true(rk_pack_content_is_whole("f-cache", rk_span_of(frame, len)));
    for (size_t cut = 4; cut < len; cut++)
        assert_false(rk_pack_content_is_whole("f-cache", rk_span_of(frame, cut)));
    assert_false(rk_pack_content_is_whole("f-cache", rk_span_of(frame, len + 1)));
    assert_false(rk_pack_content_is_whole("f-cache", rk_span_of(frame, 0)));
    assert_true(rk_pack_content_is_whole("f-cache", rk_span_text("zlib")));
    assert_true(rk_pack_content_is_whole("fxgraph/a", rk_span_of(frame, len - 1)));
}

// The file is never rewritten: a new version of the format gets a new one.
static void the_golden_file_is_read(void **state) {
    (void)state;
    RK_AUTO(rk_buf) golden = {0};
    RK_AUTO(rk_buf) data = sample();
    rk_expect_ok(rk_fs_read(RK_TEST_GOLDEN_DIR "/pack-v1", 1 << 20, &golden));
    assert_true(rk_span_equal(rk_buf_span(&golden), rk_buf_span(&data)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_come_back),
        cmocka_unit_test(equal_contents_are_written_once),
        cmocka_unit_test(an_empty_pack_is_valid),
        cmocka_unit_test(every_cut_is_refused),
        cmocka_unit_test(hostile_fields_are_refused),
        cmocka_unit_test(bad_names_are_refused),
        cmocka_unit_test(times_do_not_count),
        cmocka_unit_test(the_sum_of_the_files_is_limited),
        cmocka_unit_test(a_cut_function_of_jax_is_not_whole),
        cmocka_unit_test(the_golden_file_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
