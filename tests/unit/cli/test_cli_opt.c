#include "cli/opt.h"

#include <stdlib.h>
#include <string.h>

#include "support/expect.h"

// The values that the command lines below set.
typedef struct given {
    bool json, reverse;
    const char *dir, *sort;
    rk_opt_result result;
    rk_opt_operands operands;
} given;

enum { MAX_WORDS = 8 };
static char words[MAX_WORDS][32];
static char *argv[MAX_WORDS + 1];

static const char *const orders[] = {"size", "time", "key", NULL};

// Parses a command line, split at single spaces; "''" is an empty argument.
static rk_err *parse(const char *line, bool options_first, size_t max_operands, given *out) {
    *out = (given){0};
    const rk_opt options[] = {
        RK_OPT_FLAG("json", 'j', &out->json, "JSON"),
        RK_OPT_FLAG("reverse", 'r', &out->reverse, "descending"),
        RK_OPT_VALUE("dir", 'd', &out->dir, "DIR", "the store"),
        RK_OPT_CHOICE("sort", 's', &out->sort, "BY", orders, "by what"),
    };
    const rk_opt_usage usage = {
        .verb = "ls",
        .operands = max_operands > 0 ? "[KEY…]" : NULL,
        .summary = "Lists.",
        .options = options,
        .option_count = RK_ARRAY_LEN(options),
        .max_operands = max_operands,
        .options_first = options_first,
    };
    int argc = 0;
    while (*line) {
        size_t len = strcspn(line, " ");
        assert_true(argc < MAX_WORDS && len < sizeof words[0]);
        bool empty = len == 2 && line[0] == '\'';
        memcpy(words[argc], line, len);
        words[argc][empty ? 0 : len] = '\0';
        argv[argc] = words[argc];
        argc++;
        line += len + (line[len] == ' ');
    }
    argv[argc] = NULL;
    return rk_opt_parse(&usage, argc, argv, &out->result, &out->operands);
}

static void expect_error(const char *line, size_t max_operands, const char *expected) {
    given out;
    rk_err *err = parse(line, false, max_operands, &out);
    assert_int_equal(rk_err_code(err), RK_INVALID_ARGUMENT);
    if (!strstr(rk_err_message(err), expected))
        fail_msg("'%s' said: %s", line, rk_err_message(err));
    rk_err_free(err);
}

static void takes_values_in_every_form(void **state) {
    (void)state;
    static const char *const lines[] = {"ls --dir /s", "ls --dir=/s", "ls -d /s", "ls -d/s",
                                        "ls -jd/s"};
    given out;
    for (size_t i = 0; i < RK_ARRAY_LEN(lines); i++) {
        rk_expect_ok(parse(lines[i], false, 0, &out));
        assert_string_equal(out.dir, "/s");
        assert_int_equal(out.json, i == 4);
    }
    rk_expect_ok(parse("ls --dir=a=b", false, 0, &out));
    assert_string_equal(out.dir, "a=b");
    rk_expect_ok(parse("ls --dir -x", false, 0, &out)); // a value may look like an option
    assert_string_equal(out.dir, "-x");
    rk_expect_ok(parse("ls --dir a --dir b", false, 0, &out));
    assert_string_equal(out.dir, "b");
}

static void a_negative_number_is_an_operand(void **state) {
    (void)state;
    given out;
    rk_expect_ok(parse("ls -2 -j -13", false, 2, &out));
    assert_true(out.json);
    assert_int_equal(out.operands.count, 2);
    assert_string_equal(out.operands.items[0], "-2");
    assert_string_equal(out.operands.items[1], "-13");
    expect_error("ls -2x", 2, "no option '-2x'");
    expect_error("ls -2", 0, "'-2' is one too many");
}

static void takes_flags_also_bundled(void **state) {
    (void)state;
    given out;
    rk_expect_ok(parse("ls -rj", false, 0, &out));
    assert_true(out.json && out.reverse);
    rk_expect_ok(parse("ls", false, 0, &out));
    assert_false(out.json || out.reverse || out.dir);
}

static void operands_may_stand_anywhere(void **state) {
    (void)state;
    given out;
    rk_expect_ok(parse("ls one --json two -- --three -", false, 9, &out));
    assert_true(out.json);
    assert_int_equal(out.operands.count, 4);
    assert_string_equal(out.operands.items[0], "one");
    assert_string_equal(out.operands.items[1], "two");
    assert_string_equal(out.operands.items[2], "--three");
    assert_string_equal(out.operands.items[3], "-");
    assert_null(out.operands.items[4]);
}

static void a_command_keeps_its_own_options(void **state) {
    (void)state;
    given out;
    rk_expect_ok(parse("run --json python --dir -- x", true, 9, &out));
    assert_true(out.json);
    assert_null(out.dir);
    assert_int_equal(out.operands.count, 4);
    assert_string_equal(out.operands.items[0], "python");
    assert_string_equal(out.operands.items[2], "--");
    rk_expect_ok(parse("run -- -- --json", true, 9, &out));
    assert_false(out.json);
    assert_int_equal(out.operands.count, 2);
    assert_string_equal(out.operands.items[0], "--");
}

static void help_wins_over_what_follows(void **state) {
    (void)state;
    given out;
    rk_expect_ok(parse("ls --help --nonsense", false, 0, &out));
    assert_int_equal(out.result, RK_OPT_HELP);
    rk_expect_ok(parse("ls -jh", false, 0, &out));
    assert_int_equal(out.result, RK_OPT_HELP);
    rk_expect_ok(parse("ls -- --help", false, 1, &out));
    assert_int_equal(out.result, RK_OPT_PROCEED);
}

static void says_what_is_wrong_and_what_would_be_right(void **state) {
    (void)state;
    expect_error("ls --jsn", 0, "did you mean --json");
    expect_error("ls --jsn=x", 0, "did you mean --json");
    expect_error("ls --hlep", 0, "did you mean --help");
    expect_error("ls --frobnicate", 0, "`rekindle help ls`");
    expect_error("ls -x", 0, "'-x'");
    expect_error("ls -jx", 0, "'-jx'");
    expect_error("ls --dir", 0, "--dir needs a value: --dir DIR");
    expect_error("ls --dir=", 0, "--dir needs a value");
    expect_error("ls --dir ''", 0, "--dir needs a value");
    expect_error("ls -d", 0, "--dir needs a value");
    expect_error("ls --json=yes", 0, "--json takes no value, but was given 'yes'");
    expect_error("ls --help=yes", 0, "'--help=yes'");
    expect_error("ls surplus", 0, "'surplus' is one too many");
    expect_error("ls ''", 0, "'' is one too many");
    expect_error("ls a b c", 2, "'c' is one too many");
}

static void asks_for_operands_that_are_missing(void **state) {
    (void)state;
    const rk_opt_usage usage = {
        .verb = "show", .operands = "KEY", .min_operands = 1, .max_operands = 1};
    char verb[] = "show";
    char *line[] = {verb, NULL};
    rk_opt_result result;
    rk_opt_operands operands;
    rk_err *err = rk_opt_parse(&usage, 1, line, &result, &operands);
    assert_non_null(strstr(rk_err_message(err), "rekindle show [OPTION…] KEY"));
    rk_err_free(err);
}

static void help_lists_every_option_and_wraps(void **state) {
    (void)state;
    bool flag;
    const rk_opt options[] = {
        RK_OPT_FLAG("all", 'a', &flag, "every one of them, whatever it is and wherever it lies")};
    const rk_opt_usage usage = {.verb = "rm",
                                .operands = "[KEY…]",
                                .summary = "Removes.",
                                .details = "Runs stay.\n\n  rekindle rm --all\n",
                                .options = options,
                                .option_count = 1};
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    rk_opt_print_help(&usage, 43, out);
    (void)fclose(out);
    assert_string_equal(text, "Usage: rekindle rm [OPTION…] [KEY…]\n\nRemoves.\n\nOptions:\n"
                              "  -a, --all    every one of them, whatever\n"
                              "               it is and wherever it lies\n"
                              "  -h, --help   this text\n\n"
                              "Runs stay.\n\n  rekindle rm --all\n");
    free(text);
}

static void checks_choices(void **state) {
    (void)state;
    given out;
    rk_expect_ok(parse("ls --sort time", false, 0, &out));
    assert_string_equal(out.sort, "time");
    rk_expect_ok(parse("ls -skey", false, 0, &out));
    assert_string_equal(out.sort, "key");
    expect_error("ls --sort tim", 0, "--sort takes size, time or key, not 'tim'");
    expect_error("ls -s keys", 0, "--sort takes size, time or key, not 'keys'");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_values_in_every_form),
        cmocka_unit_test(a_negative_number_is_an_operand),
        cmocka_unit_test(takes_flags_also_bundled),
        cmocka_unit_test(operands_may_stand_anywhere),
        cmocka_unit_test(a_command_keeps_its_own_options),
        cmocka_unit_test(help_wins_over_what_follows),
        cmocka_unit_test(says_what_is_wrong_and_what_would_be_right),
        cmocka_unit_test(asks_for_operands_that_are_missing),
        cmocka_unit_test(checks_choices),
        cmocka_unit_test(help_lists_every_option_and_wraps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
