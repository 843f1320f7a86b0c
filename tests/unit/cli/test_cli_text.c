#include "cli/text.h"

#include <locale.h>

#include "support/expect.h"

#define MS UINT64_C(1000000)
#define S  UINT64_C(1000000000)

static void bytes_are_short_at_every_size(void **state) {
    (void)state;
    assert_string_equal(rk_text_bytes(0).text, "0 B");
    assert_string_equal(rk_text_bytes(999).text, "999 B");
    assert_string_equal(rk_text_bytes(1000).text, "1.0 kB");
    assert_string_equal(rk_text_bytes(1234567).text, "1.2 MB");
    assert_string_equal(rk_text_bytes(1023948).text, "999.9 kB");
    assert_string_equal(rk_text_bytes(1023949).text, "1.0 MB");
    assert_string_equal(rk_text_bytes(UINT64_C(20) << 30).text, "20 GB"); // REKINDLE_MAX_SIZE=20G
    assert_string_equal(rk_text_bytes(UINT64_MAX).text, "16 EB");
}

static void seconds_are_short_at_every_size(void **state) {
    (void)state;
    assert_string_equal(rk_text_seconds(0).text, "0 s");
    assert_string_equal(rk_text_seconds(1).text, "<0.1 ms");
    assert_string_equal(rk_text_seconds(MS / 20).text, "0.1 ms");
    assert_string_equal(rk_text_seconds(64 * MS).text, "64 ms");
    assert_string_equal(rk_text_seconds(640 * MS).text, "0.64 s");
    assert_string_equal(rk_text_seconds(994 * MS).text, "0.99 s");
    assert_string_equal(rk_text_seconds(999 * MS).text, "1.0 s");
    assert_string_equal(rk_text_seconds(2100 * MS).text, "2.1 s");
    assert_string_equal(rk_text_seconds(59949 * MS).text, "59.9 s");
    assert_string_equal(rk_text_seconds(59950 * MS).text, "1 min 00 s");
    assert_string_equal(rk_text_seconds(100 * S).text, "1 min 40 s");
    assert_string_equal(rk_text_seconds(245 * S).text, "4 min 05 s");
    assert_string_equal(rk_text_seconds(3599 * S + 600 * MS).text, "1 h 00 min");
    assert_string_equal(rk_text_seconds(137 * 60 * S).text, "2 h 17 min");
}

static void counts_are_grouped(void **state) {
    (void)state;
    assert_string_equal(rk_text_count(0).text, "0");
    assert_string_equal(rk_text_count(999).text, "999");
    assert_string_equal(rk_text_count(1000).text, "1,000");
    assert_string_equal(rk_text_count(1203432).text, "1,203,432");
    assert_string_equal(rk_text_count(UINT64_MAX).text, "18,446,744,073,709,551,615");
}

static void ages_take_the_largest_unit(void **state) {
    (void)state;
    assert_string_equal(rk_text_age(0).text, "just now");
    assert_string_equal(rk_text_age(4 * S).text, "just now");
    assert_string_equal(rk_text_age(59 * S).text, "59 s ago");
    assert_string_equal(rk_text_age(3 * 60 * S).text, "3 min ago");
    assert_string_equal(rk_text_age(7200 * S).text, "2 h ago");
    assert_string_equal(rk_text_age(5 * 86400 * S).text, "5 d ago");
}

static void times_are_utc_where_programs_read_them(void **state) {
    (void)state;
    assert_string_equal(rk_text_utc(1763730155 * S).text, "2025-11-21T13:02:35Z");
    assert_string_equal(rk_text_utc(0).text, "");
    assert_string_equal(rk_text_local_time(0).text, "");
}

static void expect_printable(rk_span text, const char *expected) {
    RK_AUTO(rk_buf) out = RK_BUF_INIT(0);
    rk_text_add_printable(&out, text);
    rk_expect_ok(rk_buf_status(&out));
    assert_string_equal(rk_buf_text(&out), expected);
}

static void foreign_text_cannot_drive_the_terminal(void **state) {
    (void)state;
    expect_printable(rk_span_text("jit_f"), "jit_f");
    expect_printable(rk_span_text("grün 日"), "grün 日");
    expect_printable(rk_span_text("a\x1b[2Jb\n"), "a\\x1b[2Jb\\x0a");
    expect_printable(rk_span_of("a\0b", 3), "a\\x00b");
    expect_printable(rk_span_text("\x7f\xc2\x9b"), "\\x7f\\xc2\\x9b");          // C1 control
    expect_printable(rk_span_text("\xff\xc3"), "\\xff\\xc3");                   // not UTF-8
    expect_printable(rk_span_text("\xc0\x80"), "\\xc0\\x80");                   // overlong
    expect_printable(rk_span_text("\xed\xa0\x80"), "\\xed\\xa0\\x80");          // surrogate
    expect_printable(rk_span_text("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80"); // beyond Unicode
    static const uint8_t right_to_left[] = {0xe2, 0x80, 0xae};
    expect_printable(rk_span_of(right_to_left, sizeof right_to_left), "\\xe2\\x80\\xae");
}

static void text_is_cut_between_characters(void **state) {
    (void)state;
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        skip();
    assert_int_equal(rk_text_width("grün"), 4);
    assert_int_equal(rk_text_width("日本"), 4);
    assert_int_equal(rk_text_fit("grün", 3), 4);
    assert_int_equal(rk_text_fit("日本", 3), 3);
    assert_int_equal(rk_text_fit("ab", 9), 2);
    (void)setlocale(LC_CTYPE, "C");
}

static void a_number_and_its_unit_stay_on_one_line(void **state) {
    (void)state;
    assert_int_equal(rk_text_break("it takes 5.2 s more", 12), 8);
    assert_int_equal(rk_text_break("it takes 5.2 s more", 14), 14);
    assert_int_equal(rk_text_break("saved 3 min 39 s, in", 11), 5);
    assert_int_equal(rk_text_break("saved 3 min 39 s, in", 14), 5);
    assert_int_equal(rk_text_break("saved (74.5 kB), in", 12), 5);
    assert_int_equal(rk_text_break("step 12 starts", 8), 7);
    assert_int_equal(rk_text_break("less than 1 % of", 11), 9);
    assert_int_equal(rk_text_break("3 min 39 s", 6), 6); // nothing else fits
}

static void a_command_in_backticks_stays_on_one_line(void **state) {
    (void)state;
    assert_int_equal(rk_text_break("see `rekindle ls` or so", 15), 3);
    assert_int_equal(rk_text_break("see `rekindle ls` or so", 17), 17);
    assert_int_equal(rk_text_break("see `rekindle ls` or so", 20), 20);
    assert_int_equal(rk_text_break("`rekindle ls` or so", 10), 9); // nothing else fits
    assert_int_equal(rk_text_break("a ` b c", 5), 5);              // no command
}

static void lines_break_at_blanks_or_else_in_paths(void **state) {
    (void)state;
    assert_int_equal(rk_text_break("one two", 7), 7);
    assert_int_equal(rk_text_break("one two", 6), 3);
    assert_int_equal(rk_text_break("one two", 3), 3);
    assert_int_equal(rk_text_break("/usr/lib/python", 10), 9);
    assert_int_equal(rk_text_break("compile_options.seconds", 19), 16);
    assert_int_equal(rk_text_break("abcdef", 4), 4);
    assert_int_equal(rk_text_break("abcdef", 0), 1);
    assert_int_equal(rk_text_width("\x1b[1mab\x1b[0m"), 2);
    assert_int_equal(rk_text_break("\x1b[1mab\x1b[0m cd", 2), 10);
}

static void words_that_are_near_are_found(void **state) {
    (void)state;
    assert_int_equal(rk_text_distance("", "abc"), 3);
    assert_int_equal(rk_text_distance("stats", "stats"), 0);
    assert_int_equal(rk_text_distance("stast", "stats"), 1); // a transposition
    assert_int_equal(rk_text_distance("kitten", "sitting"), 3);
    assert_true(rk_text_is_near("stat", "stats"));
    assert_true(rk_text_is_near("verison", "version"));
    assert_false(rk_text_is_near("explain", "run"));
    assert_false(rk_text_is_near("x", "ls"));
    char word[200];
    memset(word, 'a', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    assert_int_equal(rk_text_distance(word, ""), 63); // limited, without overrun
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_short_at_every_size),
        cmocka_unit_test(seconds_are_short_at_every_size),
        cmocka_unit_test(counts_are_grouped),
        cmocka_unit_test(ages_take_the_largest_unit),
        cmocka_unit_test(times_are_utc_where_programs_read_them),
        cmocka_unit_test(foreign_text_cannot_drive_the_terminal),
        cmocka_unit_test(text_is_cut_between_characters),
        cmocka_unit_test(a_number_and_its_unit_stay_on_one_line),
        cmocka_unit_test(a_command_in_backticks_stays_on_one_line),
        cmocka_unit_test(lines_break_at_blanks_or_else_in_paths),
        cmocka_unit_test(words_that_are_near_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
