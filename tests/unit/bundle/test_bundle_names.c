// Names that could leave the folder of an import, hide, or collide there. Reader and writer refuse
// them.
#include "fixture.h"

#include <stdlib.h>

#include "support/tempdir.h"

#define NAME(text, why)                                                                            \
    { {(const uint8_t *)(text), sizeof(text) - 1}, why }

static const struct {
    rk_span name;
    const char *why;
} hostile[] = {
    NAME("", "is empty"),
    NAME("/", "is not relative"),
    NAME("/etc/passwd", "is not relative"),
    NAME("//host/share", "is not relative"),
    NAME(".", "a part \".\""),
    NAME("..", "a part \".\""),
    NAME("../x", "a part \".\""),
    NAME("../../../../etc/passwd", "a part \".\""),
    NAME("a/..", "a part \".\""),
    NAME("a/../b", "a part \".\""),
    NAME("a/./b", "a part \".\""),
    NAME("./a", "a part \".\""),
    NAME("a/.", "a part \".\""),
    NAME("a//b", "an empty part"),
    NAME("a/", "an empty part"),
    NAME("a/b//", "an empty part"),
    NAME("..\\x", "a backslash"),
    NAME("C:\\x", "a backslash"),
    NAME("a\\b", "a backslash"),
    NAME("a\0b", "NUL"),
    NAME("a\0", "NUL"),
    NAME("\0", "NUL"),
    NAME("a\nb", "a control character"),
    NAME("a\rb", "a control character"),
    NAME("a\tb", "a control character"),
    NAME("\x1b[2J", "a control character"),
    NAME("a\x7f", "a control character"),
    NAME("a\xc2\x85", "a control character"),
    NAME("\xc2\x9b"
         "31m",
         "a control character"),
    NAME("\xff", "is not UTF-8"),
    NAME("a\xc0\xaf"
         "b",
         "is not UTF-8"),                       // an overlong slash
    NAME("\xc0\xae\xc0\xae/x", "is not UTF-8"), // overlong dots
    NAME("\xe0\x80\xaf", "is not UTF-8"),       // an overlong slash of three bytes
    NAME("\xed\xa0\x80", "is not UTF-8"),       // half of a surrogate pair
    NAME("\xf4\x90\x80\x80", "is not UTF-8"),   // beyond U+10FFFF
    NAME("a\xe2\x82", "is not UTF-8"),          // cut off
    NAME("\x80", "is not UTF-8"),
    NAME("caf\xe9", "is not UTF-8"), // Latin-1
};

static const rk_span content = {(const uint8_t *)"content", 7};

static rk_err *read_names(const rk_span *names, size_t count) {
    RK_AUTO(maker) file = maker_begin(FIXTURE_HEADER);
    maker_add_blob(&file, content, (rk_span){0});
    maker_add_module(&file, "pjrt", (uint32_t)count);
    for (size_t i = 0; i < count; i++)
        maker_add_item(&file, names[i], 0);
    maker_end(&file);
    return fixture_check(rk_buf_span(&file.file));
}

static rk_err *write_names(const rk_span *names, size_t count) {
    char *directory = rk_test_tempdir();
    char *path = fixture_path(directory, "a.rkb");
    rk_bundle_writer *writer = NULL;
    rk_expect_ok(rk_bundle_writer_begin(path, 0600, fixture_head(), &writer));
    rk_expect_ok(rk_bundle_writer_begin_module(writer, "pjrt", NULL));
    rk_err *err = NULL;
    for (size_t i = 0; i < count && !err; i++) {
        rk_bundle_new_item item = {.name = names[i]};
        err = rk_bundle_writer_add(writer, &item, content);
    }
    if (!err)
        err = rk_bundle_writer_finish(writer, NULL, NULL);
    rk_bundle_writer_free(writer);
    assert_int_equal(rk_test_count_entries(directory), err ? 0 : 1);
    free(path);
    rk_test_tempdir_remove(directory);
    return err;
}

static void hostile_names_are_refused(void **state) {
    (void)state;
    assert_true(RK_ARRAY_LEN(hostile) >= 30);
    for (size_t i = 0; i < RK_ARRAY_LEN(hostile); i++) {
        fixture_expect(read_names(&hostile[i].name, 1), RK_INVALID_ARGUMENT, hostile[i].why);
        fixture_expect(write_names(&hostile[i].name, 1), RK_INVALID_ARGUMENT, hostile[i].why);
    }
}

// A message shows no control characters and has a limited length, whatever the name is.
static void messages_are_safe_to_print(void **state) {
    (void)state;
    RK_AUTO(rk_buf) longest = {0};
    for (int i = 0; i < 5000; i++)
        rk_buf_add_byte(&longest, i % 10 == 9 ? 0x1b : 'a');
    rk_span name = rk_buf_span(&longest);
    rk_err *err = read_names(&name, 1);
    assert_non_null(err);
    assert_null(strchr(rk_err_message(err), 0x1b));
    assert_true(strlen(rk_err_message(err)) < 400);
    assert_non_null(strstr(rk_err_message(err), "aaaaaaaaa?aaaaaaaaa?"));
    rk_err_free(err);
}

static void long_names(void **state) {
    (void)state;
    RK_AUTO(rk_buf) name = {0};
    while (name.len < 4096) // parts of 255 bytes
        rk_buf_add_byte(&name, name.len % 256 == 255 ? '/' : 'x');
    rk_span whole = rk_span_of(name.data, 4095);
    rk_expect_ok(read_names(&whole, 1));
    rk_expect_ok(write_names(&whole, 1));
    name.data[4095] = 'x'; // the last part would now have 256 bytes
    whole.len = 4096;
    fixture_expect(read_names(&whole, 1), RK_INVALID_ARGUMENT, "255 bytes");
    name.data[4000] = '/';
    rk_expect_ok(read_names(&whole, 1));
    rk_expect_ok(write_names(&whole, 1));
    rk_buf_add_byte(&name, 'x');
    whole = rk_buf_span(&name);
    fixture_expect(read_names(&whole, 1), RK_INVALID_ARGUMENT, "4,096 bytes");
    fixture_expect(write_names(&whole, 1), RK_INVALID_ARGUMENT, "4,096 bytes");
}

static void unusual_names_are_allowed(void **state) {
    (void)state;
    static const char *const texts[] = {"...", "a b", ".hidden/..x", "-rf", "\xc3\xa9", "c:x"};
    rk_span names[RK_ARRAY_LEN(texts)];
    for (size_t i = 0; i < RK_ARRAY_LEN(texts); i++)
        names[i] = rk_span_text(texts[i]);
    rk_expect_ok(read_names(names, RK_ARRAY_LEN(names)));
    rk_expect_ok(write_names(names, RK_ARRAY_LEN(names)));
}

static const struct {
    const char *one, *two;
    const char *why; // NULL: both may be in one module
} pairs[] = {
    {"a", "a", "the same name"},
    {"a/b", "a/b", "the same name"},
    {"a", "A", "without case"},
    {"lib/Kernel.so", "LIB/kernel.SO", "without case"},
    {"a", "a/b", "a file and a folder"},
    {"a/b", "a", "a file and a folder"},
    {"a", "a/b/c/d", "a file and a folder"},
    {"A", "a/b", "a file and a folder"},
    {"x/Y", "X/y/z", "a file and a folder"},
    {"a", "ab", NULL},
    {"a", "a.b", NULL},
    {"a/b", "a/c", NULL},
    {"a/b", "A/c", NULL},
    {"a-b", "a/b", NULL},
    {"a[", "a{", NULL}, // 0x5b and 0x7b: not letters
    {"\xc3\x89", "\xc3\xa9", NULL},
};

static void conflicts_are_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < RK_ARRAY_LEN(pairs); i++) {
        // Between the two are names that come between them in the order of bytes.
        const rk_span names[] = {rk_span_text(pairs[i].one), rk_span_text("a!"), rk_span_text("a-"),
                                 rk_span_text("a.x/y"), rk_span_text(pairs[i].two)};
        if (pairs[i].why) {
            fixture_expect(read_names(names, 5), RK_INVALID_ARGUMENT, pairs[i].why);
            fixture_expect(write_names(names, 5), RK_INVALID_ARGUMENT, pairs[i].why);
        } else {
            rk_expect_ok(read_names(names, 5));
            rk_expect_ok(write_names(names, 5));
        }
    }
}

// Compares the check with one that compares each name with each other one.
static bool conflict(rk_span a, rk_span b) {
    if (a.len > b.len)
        return conflict(b, a);
    for (size_t i = 0; i < a.len; i++)
        if (a.data[i] != b.data[i] && ((a.data[i] ^ b.data[i]) != 0x20 || a.data[i] == '/'))
            return false;
    return a.len == b.len || b.data[a.len] == '/';
}

static void conflicts_are_those_of_all_pairs(void **state) {
    (void)state;
    enum { NAMES = 6, NAME_CHARS = 5 };
    uint64_t random = 1;
    unsigned conflicts = 0;
    for (int round = 0; round < 4000; round++) {
        char texts[NAMES][NAME_CHARS + 1];
        rk_span names[NAMES];
        for (size_t i = 0; i < NAMES; i++) {
            size_t len = 0;
            do {
                random = random * 6364136223846793005u + 1442695040888963407u;
                char next = "aAbB.//"[(random >> 40) % 7];
                if (next == '.')
                    next = '-';
                if (next == '/' && (len == 0 || texts[i][len - 1] == '/' || len + 1 == NAME_CHARS))
                    next = 'a';
                texts[i][len++] = next;
            } while (len < NAME_CHARS && (random >> 50) % 4);
            if (texts[i][len - 1] == '/')
                texts[i][len - 1] = 'b';
            names[i] = rk_span_of(texts[i], len);
        }
        bool expected = false;
        for (size_t i = 0; i < NAMES; i++)
            for (size_t j = i + 1; j < NAMES; j++)
                expected = expected || conflict(names[i], names[j]);
        rk_err *err = read_names(names, NAMES);
        assert_int_equal(err != NULL, expected);
        rk_err_free(err);
        conflicts += expected;
    }
    assert_true(conflicts > 400 && conflicts < 3900);
}

static rk_err *read_modules(const char *one, const char *two) {
    RK_AUTO(maker) file = maker_begin(FIXTURE_HEADER);
    maker_add_module(&file, one, 0);
    if (two)
        maker_add_module(&file, two, 0);
    maker_end(&file);
    return fixture_check(rk_buf_span(&file.file));
}

static void module_names(void **state) {
    (void)state;
    static const char *const bad[] = {
        "",    "PJRT", "1a",  "_a",       "a-b",
        "a/b", "..",   "a b", "\xc3\xa9", "abcdefghijklmnopqrstuvwxyz_012345"};
    for (size_t i = 0; i < RK_ARRAY_LEN(bad); i++)
        fixture_expect(read_modules(bad[i], "zz"), RK_INVALID_ARGUMENT, "module with a name");
    rk_expect_ok(read_modules("abcdefghijklmnopqrstuvwxyz_01234", "a"));
    fixture_expect(read_modules("a", "a"), RK_INVALID_ARGUMENT, "two modules of one name");
    char *directory = rk_test_tempdir();
    char *path = fixture_path(directory, "a.rkb");
    rk_bundle_writer *writer = NULL;
    rk_expect_ok(rk_bundle_writer_begin(path, 0600, fixture_head(), &writer));
    for (size_t i = 0; i < RK_ARRAY_LEN(bad); i++)
        fixture_expect(rk_bundle_writer_begin_module(writer, bad[i], NULL), RK_INVALID_ARGUMENT,
                       "module name");
    rk_expect_ok(rk_bundle_writer_begin_module(writer, "a", NULL)); // a refusal changes nothing
    rk_expect_ok(rk_bundle_writer_begin_module(writer, "a", NULL));
    fixture_expect(rk_bundle_writer_finish(writer, NULL, NULL), RK_INVALID_ARGUMENT,
                   "two modules of one name");
    rk_bundle_writer_free(writer);
    assert_int_equal(rk_test_count_entries(directory), 0);
    free(path);
    rk_test_tempdir_remove(directory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostile_names_are_refused),
        cmocka_unit_test(messages_are_safe_to_print),
        cmocka_unit_test(long_names),
        cmocka_unit_test(unusual_names_are_allowed),
        cmocka_unit_test(conflicts_are_refused),
        cmocka_unit_test(conflicts_are_those_of_all_pairs),
        cmocka_unit_test(module_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
