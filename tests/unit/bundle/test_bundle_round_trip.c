// What the writer wrote, the reader gives back.
#include "fixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "support/peak.h"
#include "support/tempdir.h"

static rk_buf read_item(const rk_bundle *bundle, const rk_bundle_module *module, size_t number) {
    rk_buf data = RK_BUF_INIT(0);
    rk_expect_ok(
        rk_bundle_read_whole(bundle, module, &module->items[number], (size_t)1 << 30, &data));
    return data;
}

static void assert_content(const rk_bundle *bundle, const rk_bundle_module *module, size_t number,
                           unsigned content) {
    RK_AUTO(rk_buf) got = read_item(bundle, module, number);
    RK_AUTO(rk_buf) expected = fixture_content(content);
    assert_true(rk_span_equal(rk_buf_span(&got), rk_buf_span(&expected)));
}

static void assert_modules(const rk_bundle *bundle) {
    size_t count = 0;
    const rk_bundle_module *modules = rk_bundle_modules(bundle, &count);
    assert_int_equal(count, 2);
    assert_true(rk_span_is(modules[0].name, "pjrt"));
    assert_true(rk_span_is(modules[1].name, "inductor"));
    assert_ptr_equal(rk_bundle_module_find(bundle, "inductor"), &modules[1]);
    assert_null(rk_bundle_module_find(bundle, "triton"));
    assert_int_equal(modules[0].item_count, 3);
    assert_int_equal(modules[1].item_count, 2);
    assert_true(rk_span_is(modules[0].items[0].name, "objects/ab/one.rkx"));
    assert_content(bundle, &modules[0], 0, 0);
    assert_content(bundle, &modules[0], 1, 1);
    assert_content(bundle, &modules[0], 2, 2);
    assert_content(bundle, &modules[1], 0, 3);
    assert_content(bundle, &modules[1], 1, 0);
    assert_false(modules[0].items[0].is_executable);
    assert_true(modules[1].items[0].is_executable);
    RK_AUTO(rk_buf) first = fixture_content(0);
    assert_int_equal(modules[0].raw_bytes, first.len + strlen("a short text"));
    assert_int_equal(modules[1].raw_bytes, first.len + 200);
}

static void assert_attributes(rk_bundle_attributes attributes) {
    rk_bundle_pair pair;
    rk_span value;
    assert_int_equal(attributes.count, 2);
    assert_true(rk_bundle_attribute_find(attributes, "kind", &value));
    assert_true(rk_span_is(value, "executable"));
    assert_false(rk_bundle_attribute_find(attributes, "kin", &value));
    assert_true(rk_bundle_attribute_next(&attributes, &pair)); // sorted by name
    assert_true(rk_span_is(pair.name, "after"));
    assert_int_equal(pair.value.len, 0);
    assert_true(rk_bundle_attribute_next(&attributes, &pair));
    assert_true(rk_span_is(pair.name, "kind"));
    assert_false(rk_bundle_attribute_next(&attributes, &pair));
}

static rk_err *count_progress(void *context, uint64_t done_bytes, uint64_t total_bytes) {
    unsigned *calls = context;
    (*calls)++;
    assert_true(done_bytes <= total_bytes);
    return NULL;
}

static void everything_comes_back(void **state) {
    (void)state;
    char *directory = rk_test_tempdir();
    char *path = fixture_path(directory, "a.rkb");
    fixture_write(path, NULL);
    rk_autobundle bundle = NULL;
    rk_expect_ok(rk_bundle_open(path, &bundle));
    const rk_bundle_head *head = rk_bundle_head_of(bundle);
    assert_int_equal(head->created_ns, 1700000000123456789u);
    assert_int_equal(head->made_with.count, 1);
    assert_true(rk_span_is(head->made_with.items[0].name, "jax"));
    assert_true(rk_span_is(head->made_with.items[0].value, "0.10.2"));
    assert_int_equal(head->annotations.count, 0);
    assert_modules(bundle);
    size_t count = 0;
    const rk_bundle_module *modules = rk_bundle_modules(bundle, &count);
    assert_attributes(modules[0].attributes);
    assert_attributes(modules[0].items[0].attributes);
    assert_int_equal(modules[1].attributes.count, 0);
    unsigned calls = 0;
    rk_expect_ok(rk_bundle_check(bundle, count_progress, &calls));
    assert_int_equal(calls, 4);
    assert_false(rk_bundle_signature_of(bundle).is_present);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(rk_bundle_file_bytes(bundle), info.st_size);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_int_equal(rk_test_count_entries(directory), 1);
    free(path);
    rk_test_tempdir_remove(directory);
}

static void equal_contents_are_stored_once(void **state) {
    (void)state;
    char *directory = rk_test_tempdir();
    char *path = fixture_path(directory, "a.rkb");
    fixture_write(path, NULL);
    rk_autobundle bundle = NULL;
    rk_expect_ok(rk_bundle_open(path, &bundle));
    assert_int_equal(rk_bundle_blob_count(bundle), 4);
    const rk_bundle_module *first = rk_bundle_module_find(bundle, "pjrt");
    const rk_bundle_module *second = rk_bundle_module_find(bundle, "inductor");
    assert_int_equal(first->items[0].blob, second->items[1].blob);
    rk_bundle_blob compressed = rk_bundle_blob_of(bundle, &first->items[0]);
    assert_true(compressed.is_compressed);
    assert_true(compressed.stored_bytes < compressed.raw_bytes);
    assert_int_equal(compressed.offset % 64, 0);
    assert_false(rk_bundle_blob_of(bundle, &first->items[1]).is_compressed);
    assert_false(rk_bundle_blob_of(bundle, &second->items[0]).is_compressed);
    free(path);
    rk_test_tempdir_remove(directory);
}

static void same_input_gives_same_bytes(void **state) {
    (void)state;
    char *directory = rk_test_tempdir();
    char *one = fixture_path(directory, "a.rkb"), *two = fixture_path(directory, "b.rkb");
    fixture_write(one, "signer");
    fixture_write(two, "signer");
    RK_AUTO(rk_buf) left = fixture_load(one);
    RK_AUTO(rk_buf) right = fixture_load(two);
    assert_true(rk_span_equal(rk_buf_span(&left), rk_buf_span(&right)));
    free(one);
    free(two);
    rk_test_tempdir_remove(directory);
}

// Contents around the sizes where the writer changes its ways: nothing, one chunk, several.
static const size_t sizes[] = {0, 1, 63, 64, 65, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 5000000};

static rk_buf sized_content(size_t size, bool is_text) {
    rk_buf data = RK_BUF_INIT(0);
    if (!is_text)
        fixture_add_noise(&data, size, 7);
    for (unsigned i = 0; data.len < size; i++)
        rk_buf_add_format(&data, "%u bottles of beer on the wall\n", i);
    data.len = size;
    return data;
}

static void write_sizes(const char *path, const char *scratch, bool from_files) {
    rk_autobundle_writer writer = NULL;
    rk_expect_ok(rk_bundle_writer_begin(path, 0600, fixture_head(), &writer));
    rk_expect_ok(rk_bundle_writer_begin_module(writer, "pjrt", NULL));
    for (unsigned i = 0; i < 2 * RK_ARRAY_LEN(sizes); i++) {
        RK_AUTO(rk_buf) content = sized_content(sizes[i / 2], i % 2);
        char name[32];
        (void)snprintf(name, sizeof name, "item%u", i);
        rk_bundle_new_item item = fixture_item(name);
        if (!from_files) {
            rk_expect_ok(rk_bundle_writer_add(writer, &item, rk_buf_span(&content)));
            continue;
        }
        fixture_save(scratch, rk_buf_span(&content));
        rk_autofd fd = open(scratch, O_RDONLY | O_CLOEXEC);
        rk_expect_ok(rk_bundle_writer_add_fd(writer, &item, fd, content.len));
    }
    rk_expect_ok(rk_bundle_writer_finish(writer, NULL, NULL));
}

static void contents_of_all_sizes(void **state) {
    (void)state;
    char *directory = rk_test_tempdir();
    char *one = fixture_path(directory, "a.rkb"), *two = fixture_path(directory, "b.rkb");
    char *scratch = fixture_path(directory, "scratch");
    write_sizes(one, scratch, false);
    write_sizes(two, scratch, true);
    RK_AUTO(rk_buf) left = fixture_load(one);
    RK_AUTO(rk_buf) right = fixture_load(two);
    assert_true(rk_span_equal(rk_buf_span(&left), rk_buf_span(&right)));
    rk_autobundle bundle = NULL;
    rk_expect_ok(rk_bundle_open(one, &bundle));
    const rk_bundle_module *module = rk_bundle_module_find(bundle, "pjrt");
    for (unsigned i = 0; i < module->item_count; i++) {
        RK_AUTO(rk_buf) got = read_item(bundle, module, i);
        RK_AUTO(rk_buf) expected = sized_content(sizes[i / 2], i % 2);
        assert_true(rk_span_equal(rk_buf_span(&got), rk_buf_span(&expected)));
        rk_bundle_blob blob = rk_bundle_blob_of(bundle, &module->items[i]);
        assert_int_equal(blob.is_compressed, i % 2 && sizes[i / 2] >= 64);
    }
    free(one);
    free(two);
    free(scratch);
    rk_test_tempdir_remove(directory);
}

// The first MiB decides, also where the rest is different.
static void mixed_contents(void **state) {
    (void)state;
    char *directory = rk_test_tempdir();
    char *path = fixture_path(directory, "a.rkb");
    for (int text_first = 0; text_first < 2; text_first++) {
        RK_AUTO(rk_buf) content = sized_content(2 << 20, text_first);
        RK_AUTO(rk_buf) rest = sized_content(2 << 20, !text_first);
        rk_buf_add_span(&content, rk_buf_span(&rest));
        rk_autobundle_writer writer = NULL;
        rk_autobundle bundle = NULL;
        rk_bundle_new_item item = fixture_item("mixed");
        rk_expect_ok(rk_bundle_writer_begin(path, 0600, fixture_head(), &writer));
        rk_expect_ok(rk_bundle_writer_begin_module(writer, "pjrt", NULL));
        rk_expect_ok(rk_bundle_writer_add(writer, &item, rk_buf_span(&content)));
        rk_expect_ok(rk_bundle_writer_finish(writer, NULL, NULL));
        rk_expect_ok(rk_bundle_open(path, &bundle));
        const rk_bundle_module *module = rk_bundle_module_find(bundle, "pjrt");
        assert_int_equal(rk_bundle_blob_of(bundle, module->items).is_compressed, text_first);
        RK_AUTO(rk_buf) got = read_item(bundle, module, 0);
        assert_true(rk_span_equal(rk_buf_span(&got), rk_buf_span(&content)));
    }
    free(path);
    rk_test_tempdir_remove(directory);
}

static void incompressible_items_are_stored(void **state) {
    (void)state;
    char *directory = rk_test_tempdir();
    char *path = fixture_path(directory, "a.rkb");
    rk_autobundle_writer writer = NULL;
    rk_expect_ok(rk_bundle_writer_begin(path, 0600, fixture_head(), &writer));
    rk_expect_ok(rk_bundle_writer_begin_module(writer, "pjrt", NULL));
    rk_bundle_new_item item = fixture_item("entry");
    item.is_incompressible = true;
    RK_AUTO(rk_buf) content = fixture_content(0);
    rk_expect_ok(rk_bundle_writer_add(writer, &item, rk_buf_span(&content)));
    rk_expect_ok(rk_bundle_writer_finish(writer, NULL, NULL));
    rk_autobundle bundle = NULL;
    rk_expect_ok(rk_bundle_open(path, &bundle));
    const rk_bundle_module *module = rk_bundle_module_find(bundle, "pjrt");
    assert_false(rk_bundle_blob_of(bundle, &module->items[0]).is_compressed);
    free(path);
    rk_test_tempdir_remove(directory);
}

static void empty_bundles(void **state) {
    (void)state;
    char *directory = rk_test_tempdir();
    char *path = fixture_path(directory, "a.rkb");
    for (int with_module = 0; with_module < 2; with_module++) {
        rk_autobundle_writer writer = NULL;
        rk_autobundle bundle = NULL;
        size_t count = 1;
        const rk_bundle_head head = {0};
        rk_expect_ok(rk_bundle_writer_begin(path, 0600, &head, &writer));
        if (with_module)
            rk_expect_ok(rk_bundle_writer_begin_module(writer, "pjrt", NULL));
        rk_expect_ok(rk_bundle_writer_finish(writer, NULL, NULL));
        rk_expect_ok(rk_bundle_open(path, &bundle));
        (void)rk_bundle_modules(bundle, &count);
        assert_int_equal(count, with_module);
        rk_expect_ok(rk_bundle_check(bundle, NULL, NULL));
    }
    free(path);
    rk_test_tempdir_remove(directory);
}

static void reads_into_files_and_with_a_maximum(void **state) {
    (void)state;
    char *directory = rk_test_tempdir();
    char *path = fixture_path(directory, "a.rkb"), *out = fixture_path(directory, "out");
    fixture_write(path, NULL);
    rk_autobundle bundle = NULL;
    rk_autofd bundle_fd = open(path, O_RDONLY | O_CLOEXEC);
    rk_expect_ok(rk_bundle_open_fd(bundle_fd, "from a descriptor", &bundle));
    const rk_bundle_module *module = rk_bundle_module_find(bundle, "pjrt");
    RK_AUTO(rk_buf) expected = fixture_content(0);
    rk_autofd fd = open(out, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    rk_expect_ok(rk_bundle_read_to_fd(bundle, module, &module->items[0], fd));
    RK_AUTO(rk_buf) written = fixture_load(out);
    assert_true(rk_span_equal(rk_buf_span(&written), rk_buf_span(&expected)));
    RK_AUTO(rk_buf) got = {0};
    rk_buf_add_text(&got, "before");
    fixture_expect(rk_bundle_read_whole(bundle, module, &module->items[0], expected.len - 1, &got),
                   RK_OUT_OF_RANGE, "from a descriptor: module pjrt, item objects/ab/one.rkx has");
    assert_string_equal(rk_buf_text(&got), "before");
    rk_expect_ok(rk_bundle_read_whole(bundle, module, &module->items[0], expected.len, &got));
    assert_int_equal(got.len, expected.len + 6);
    free(path);
    free(out);
    rk_test_tempdir_remove(directory);
}

static rk_err *refuse(void *context, rk_span part) {
    (void)context;
    (void)part;
    return rk_error(RK_CANCELLED, "no more");
}

static void errors_of_the_caller_end_the_reading(void **state) {
    (void)state;
    char *directory = rk_test_tempdir();
    char *path = fixture_path(directory, "a.rkb");
    fixture_write(path, NULL);
    rk_autobundle bundle = NULL;
    rk_expect_ok(rk_bundle_open(path, &bundle));
    const rk_bundle_module *module = rk_bundle_module_find(bundle, "pjrt");
    for (size_t i = 0; i < 2; i++)
        fixture_expect(rk_bundle_read(bundle, module, &module->items[i], refuse, NULL),
                       RK_CANCELLED, "no more");
    free(path);
    rk_test_tempdir_remove(directory);
}

static rk_err *drop(void *context, rk_span part) {
    uint64_t *total = context;
    *total += part.len;
    return NULL;
}

// Memory for a content of 64 MiB, from a file, compressed or not.
static void memory_does_not_depend_on_the_size(void **state) {
    (void)state;
    enum { CONTENT_BYTES = 64 << 20, WRITER_MAX_BYTES = 16 << 20 };
    char *directory = rk_test_tempdir();
    char *path = fixture_path(directory, "a.rkb"), *scratch = fixture_path(directory, "scratch");
    for (int is_compressed = 0; is_compressed < 2; is_compressed++) {
        rk_autofd fd = open(scratch, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        assert_int_equal(ftruncate(fd, CONTENT_BYTES), 0);
        rk_bundle_new_item item = fixture_item("large");
        item.is_incompressible = !is_compressed;
        rk_bundle_writer *writer = NULL;
        rk_bundle *bundle = NULL;
        uint64_t total = 0;
        rk_peak_begin();
        rk_expect_ok(rk_bundle_writer_begin(path, 0600, fixture_head(), &writer));
        rk_expect_ok(rk_bundle_writer_begin_module(writer, "pjrt", NULL));
        rk_expect_ok(rk_bundle_writer_add_fd(writer, &item, fd, CONTENT_BYTES));
        rk_expect_ok(rk_bundle_writer_finish(writer, NULL, NULL));
        rk_bundle_writer_free(writer);
        size_t writer_bytes = rk_peak_bytes();
        rk_peak_end();
        rk_peak_begin();
        rk_expect_ok(rk_bundle_open(path, &bundle));
        const rk_bundle_module *module = rk_bundle_module_find(bundle, "pjrt");
        assert_int_equal(rk_bundle_blob_of(bundle, &module->items[0]).is_compressed, is_compressed);
        rk_expect_ok(rk_bundle_read(bundle, module, &module->items[0], drop, &total));
        rk_bundle_free(bundle);
        size_t reader_bytes = rk_peak_bytes();
        assert_int_equal(rk_peak_left_bytes(), 0);
        rk_peak_end();
        assert_int_equal(total, CONTENT_BYTES);
        assert_true(writer_bytes < WRITER_MAX_BYTES);
        assert_true(reader_bytes < RK_BUNDLE_READ_MEMORY_MAX_BYTES);
    }
    free(path);
    free(scratch);
    rk_test_tempdir_remove(directory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_comes_back),
        cmocka_unit_test(equal_contents_are_stored_once),
        cmocka_unit_test(same_input_gives_same_bytes),
        cmocka_unit_test(contents_of_all_sizes),
        cmocka_unit_test(mixed_contents),
        cmocka_unit_test(incompressible_items_are_stored),
        cmocka_unit_test(empty_bundles),
        cmocka_unit_test(reads_into_files_and_with_a_maximum),
        cmocka_unit_test(errors_of_the_caller_end_the_reading),
        cmocka_unit_test(memory_does_not_depend_on_the_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
