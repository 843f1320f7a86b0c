// A bundle that is cut off at any length, or has one changed bit or byte, gives an error and never
// a wrong result.
#include "fixture.h"

#include <stdlib.h>

#include "support/tempdir.h"

static rk_buf sample(const char *signer) {
    char *directory = rk_test_tempdir();
    char *path = fixture_path(directory, "a.rkb");
    fixture_write(path, signer);
    rk_buf data = fixture_load(path);
    free(path);
    rk_test_tempdir_remove(directory);
    return data;
}

// Every error has a remedy, and names the file.
static void assert_refused(rk_span data) {
    rk_err *err = fixture_check(data);
    assert_non_null(err);
    rk_code code = rk_err_code(err);
    if (code != RK_DATA_LOSS && code != RK_INVALID_ARGUMENT && code != RK_UNIMPLEMENTED &&
        code != RK_OUT_OF_RANGE)
        print_error("%s\n", rk_err_message(err));
    assert_true(code == RK_DATA_LOSS || code == RK_INVALID_ARGUMENT || code == RK_UNIMPLEMENTED ||
                code == RK_OUT_OF_RANGE);
    assert_ptr_equal(strstr(rk_err_message(err), "/proc/self/fd/"), rk_err_message(err));
    assert_true(strstr(rk_err_message(err), "export it again") ||
                strstr(rk_err_message(err), "copy it again"));
    rk_err_free(err);
}

static void every_truncation_is_refused(void **state) {
    (void)state;
    RK_AUTO(rk_buf) data = sample("signer");
    rk_expect_ok(fixture_check(rk_buf_span(&data)));
    for (size_t len = 0; len < data.len; len++)
        assert_refused(rk_span_of(data.data, len));
}

static void appended_bytes_are_refused(void **state) {
    (void)state;
    RK_AUTO(rk_buf) data = sample(NULL);
    for (int i = 0; i < 600; i++) {
        rk_buf_add_byte(&data, 0);
        assert_refused(rk_buf_span(&data));
    }
    RK_AUTO(rk_buf) twice = sample(NULL);
    RK_AUTO(rk_buf) again = sample(NULL);
    rk_buf_add_span(&twice, rk_buf_span(&again));
    assert_refused(rk_buf_span(&twice));
}

static void every_flip_is_refused(void **state) {
    (void)state;
    for (int is_signed = 0; is_signed < 2; is_signed++) {
        RK_AUTO(rk_buf) data = sample(is_signed ? "signer" : NULL);
        for (size_t at = 0; at < data.len; at++) {
            for (unsigned bit = 0; bit < 8; bit++) {
                data.data[at] ^= (uint8_t)(1u << bit);
                assert_refused(rk_buf_span(&data));
                data.data[at] ^= (uint8_t)(1u << bit);
            }
            data.data[at] ^= 0xff;
            assert_refused(rk_buf_span(&data));
            data.data[at] ^= 0xff;
        }
        rk_expect_ok(fixture_check(rk_buf_span(&data)));
    }
}

// Each removed or repeated piece of the file is noticed too.
static void moved_pieces_are_refused(void **state) {
    (void)state;
    RK_AUTO(rk_buf) data = sample("signer");
    for (size_t at = 0; at + 64 <= data.len; at += 64) {
        RK_AUTO(rk_buf) without = {0};
        rk_buf_add(&without, data.data, at);
        rk_buf_add(&without, data.data + at + 64, data.len - at - 64);
        assert_refused(rk_buf_span(&without));
        RK_AUTO(rk_buf) twice = {0};
        rk_buf_add(&twice, data.data, at + 64);
        rk_buf_add(&twice, data.data + at, data.len - at);
        assert_refused(rk_buf_span(&twice));
    }
}

static void expect_at(rk_buf *data, size_t at, rk_code code, const char *words) {
    data->data[at] ^= 0x10;
    fixture_expect(fixture_check(rk_buf_span(data)), code, words);
    data->data[at] ^= 0x10;
}

static void errors_name_the_part(void **state) {
    (void)state;
    RK_AUTO(rk_buf) data = sample(NULL);
    size_t footer = data.len - FOOTER;
    size_t index = (size_t)rk_load_u64le(data.data + footer + AT_INDEX_OFFSET);
    size_t rows = index + INDEX_HEAD;
    expect_at(&data, 0, RK_INVALID_ARGUMENT, "is not a bundle");
    expect_at(&data, 30, RK_DATA_LOSS, ": the preface is damaged: export it again");
    expect_at(&data, 17, RK_DATA_LOSS, ": the header is damaged: export it again");
    expect_at(&data, PREFACE + 20, RK_DATA_LOSS, ": the header is damaged: export it again");
    expect_at(&data, index + 200, RK_DATA_LOSS, ": the index is damaged: export it again");
    expect_at(&data, footer + 40, RK_DATA_LOSS, ": the footer is damaged: export it again");
    expect_at(&data, data.len - 1, RK_DATA_LOSS, ": the end of the bundle is missing or damaged");
    size_t first = (size_t)rk_load_u64le(data.data + rows);
    size_t second = (size_t)rk_load_u64le(data.data + rows + ROW);
    expect_at(&data, first, RK_DATA_LOSS,
              ": module pjrt, item objects/ab/one.rkx: the content is not a zstd frame: export it");
    expect_at(&data, second, RK_DATA_LOSS,
              ": module pjrt, item two: the content is damaged: its digest is not the one in the "
              "index: export it again");
    expect_at(&data, second + strlen("a short text"), RK_DATA_LOSS,
              ": module pjrt, item two: the content is followed by bytes that are not zero");
    fixture_expect(fixture_check(rk_span_of(data.data, data.len - 1)), RK_DATA_LOSS,
                   ": the end of the bundle is missing or damaged");
    fixture_expect(fixture_check(rk_span_of(data.data, 10)), RK_DATA_LOSS,
                   "has 10 bytes, too few for a bundle");
    data.data[8] = 7;
    fixture_expect(fixture_check(rk_buf_span(&data)), RK_UNIMPLEMENTED,
                   "has format version 7, and this rekindle reads version 1");
}

static void other_files_are_refused(void **state) {
    (void)state;
    char *directory = rk_test_tempdir();
    char *path = fixture_path(directory, "missing");
    rk_bundle *bundle = NULL;
    fixture_expect(rk_bundle_open(path, &bundle), RK_NOT_FOUND, path);
    fixture_expect(rk_bundle_open(directory, &bundle), RK_INVALID_ARGUMENT, "not a regular file");
    RK_AUTO(rk_buf) text = {0};
    for (int i = 0; i < 100; i++)
        rk_buf_add_text(&text, "This is another file.\n");
    fixture_expect(fixture_open(rk_buf_span(&text), &bundle), RK_INVALID_ARGUMENT,
                   "is not a bundle");
    // A transfer as text changes the magic.
    RK_AUTO(rk_buf) data = sample(NULL);
    RK_AUTO(rk_buf) changed = {0};
    for (size_t i = 0; i < data.len; i++)
        if (data.data[i] != '\r')
            rk_buf_add_byte(&changed, data.data[i]);
    fixture_expect(fixture_open(rk_buf_span(&changed), &bundle), RK_INVALID_ARGUMENT,
                   "was changed by a transfer as text: copy it again as binary");
    assert_null(bundle);
    free(path);
    rk_test_tempdir_remove(directory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_truncation_is_refused), cmocka_unit_test(appended_bytes_are_refused),
        cmocka_unit_test(every_flip_is_refused),       cmocka_unit_test(moved_pieces_are_refused),
        cmocka_unit_test(errors_name_the_part),        cmocka_unit_test(other_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
