#include "cli/table.h"

#include <locale.h>
#include <stdlib.h>

#include "support/expect.h"

static const rk_table_column columns[] = {
    {.title = "NAME", .least = 6},
    {.title = "SIZE", .right = true},
    {.title = "AGE", .optional = true},
    {.title = "NOTE"},
};

// Prints two rows at the width and compares them with `expected`.
static void expect_at(size_t width, const char *expected) {
    RK_AUTO(rk_table) table = RK_TABLE_INIT(columns);
    static const char *const cells[] = {"jit_train_step", "1.2 MB", "5 d ago", "ok",
                                        "a\x1b[1m",       "3 B",    "1 s ago", ""};
    for (size_t i = 0; i < RK_ARRAY_LEN(cells); i++)
        rk_table_add(&table, i == 0 ? RK_STYLE_BOLD : RK_STYLE_NONE, cells[i]);
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    rk_table_print(&table, width, out);
    (void)fclose(out);
    assert_string_equal(text, expected);
    free(text);
}

static void columns_are_aligned(void **state) {
    (void)state;
    expect_at(0, "NAME              SIZE  AGE      NOTE\n"
                 "jit_train_step  1.2 MB  5 d ago  ok\n"
                 "a\\x1b[1m           3 B  1 s ago\n");
    expect_at(37, "NAME              SIZE  AGE      NOTE\n"
                  "jit_train_step  1.2 MB  5 d ago  ok\n"
                  "a\\x1b[1m           3 B  1 s ago\n");
}

static void what_may_be_cut_is_cut(void **state) {
    (void)state;
    expect_at(33, "NAME          SIZE  AGE      NOTE\n"
                  "jit_train~  1.2 MB  5 d ago  ok\n"
                  "a\\x1b[1m       3 B  1 s ago\n");
}

static void what_is_optional_goes_when_cutting_is_not_enough(void **state) {
    (void)state;
    expect_at(28, "NAME              SIZE  NOTE\n"
                  "jit_train_step  1.2 MB  ok\n"
                  "a\\x1b[1m           3 B\n");
    expect_at(1, "NAME      SIZE  NOTE\n"
                 "jit_t~  1.2 MB  ok\n"
                 "a\\x1b~     3 B\n");
}

static void a_column_can_go_on_below(void **state) {
    (void)state;
    static const rk_table_column wrapped[] = {{.title = ""},
                                              {.title = "", .least = 5, .wrap = true}};
    RK_AUTO(rk_table) table = RK_TABLE_INIT(wrapped);
    rk_table_add(&table, RK_STYLE_NONE, "flag");
    rk_table_add(&table, RK_STYLE_NONE, "one two /a/long/path");
    rk_table_add(&table, RK_STYLE_NONE, "x");
    rk_table_add(&table, RK_STYLE_NONE, "3");
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    rk_table_print(&table, 14, out);
    (void)fclose(out);
    assert_string_equal(text, "flag  one two\n      /a/long/\n      path\nx     3\n");
    free(text);
}

static void a_name_can_be_cut_in_the_middle(void **state) {
    (void)state;
    static const rk_table_column names[] = {{.title = "NAME", .least = 5, .middle = true}};
    RK_AUTO(rk_table) table = RK_TABLE_INIT(names);
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    rk_table_add(&table, RK_STYLE_NONE, "jit_convert_element_type");
    rk_table_add(&table, RK_STYLE_NONE, "jit_step");
    rk_table_print(&table, 12, out);
    rk_table_print(&table, 5, out);
    (void)fclose(out);
    assert_string_equal(text, "NAME\njit_c~t_type\njit_step\nNAME\nji~pe\nji~ep\n");
    free(text);
}

static void words_are_wrapped(void **state) {
    (void)state;
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    rk_term_print_wrapped("one two three\n\n  kept as it is, however long\nfour", 2, 12, out);
    (void)fclose(out);
    assert_string_equal(text, "one two\n  three\n\n  kept as it is, however long\nfour\n");
    free(text);
}

static void what_is_longer_than_a_line_is_broken(void **state) {
    (void)state;
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    rk_term_wrap("\x1b[1m/home/me/job/train.py:12\x1b[0m in step", 4, 4, 20, out);
    rk_term_wrap("train.py:12", 10, 2, 16, out); // fits on the next line only
    rk_term_wrap("as it is, since the width is not known", 4, 4, 0, out);
    (void)fclose(out);
    assert_string_equal(text, "\x1b[1m/home/me/job/\n    train.py:12\x1b[0m in\n    step\n"
                              "\n  train.py:12\n"
                              "as it is, since the width is not known\n");
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_aligned),
        cmocka_unit_test(what_may_be_cut_is_cut),
        cmocka_unit_test(what_is_optional_goes_when_cutting_is_not_enough),
        cmocka_unit_test(a_column_can_go_on_below),
        cmocka_unit_test(a_name_can_be_cut_in_the_middle),
        cmocka_unit_test(words_are_wrapped),
        cmocka_unit_test(what_is_longer_than_a_line_is_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
