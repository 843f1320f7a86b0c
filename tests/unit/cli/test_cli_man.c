#include "cli/man.h"

#include <string.h>

#include "cli/purposes.h"
#include "cli/verbs.h"
#include "support/expect.h"

#define DATE "2026-11-25"

static void expect_in(const rk_buf *page, const char *text) {
    if (!strstr(rk_buf_text(page), text))
        fail_msg("'%s' is missing in\n%s", text, rk_buf_text(page));
}

static bool flag;
static const char *value;
static const rk_opt options[] = {
    RK_OPT_FLAG("dry-run", 'n', &flag, "say what it does; nothing's changed"),
    RK_OPT_VALUE("size", 0, &value, "SIZE", ".5 or more"),
};

static rk_verb verb_with(rk_opt_usage *usage, const char *operands, const char *details) {
    *usage = (rk_opt_usage){.verb = "act",
                            .operands = operands,
                            .summary = "Acts on keys.",
                            .details = details,
                            .options = options,
                            .option_count = RK_ARRAY_LEN(options)};
    return (rk_verb){.brief = "act on keys, e.g. all", .usage = usage};
}

static void writes_every_section(void **state) {
    (void)state;
    rk_opt_usage usage;
    rk_verb verb = verb_with(&usage, NULL, NULL);
    RK_AUTO(rk_buf) page = RK_BUF_INIT(0);
    rk_man_add_verb(&verb, DATE, &page);
    assert_string_equal(rk_buf_text(&page),
                        ".\\\" Made from the tables of `rekindle help`.\n"
                        ".TH REKINDLE\\-ACT 1 " DATE " \"rekindle " REKINDLE_VERSION
                        "\" \"rekindle\"\n"
                        ".SH NAME\nrekindle\\-act \\- act on keys, e.g. all\n"
                        ".SH SYNOPSIS\n\\fBrekindle act\\fR [\\fIOPTION\\fR\\[u2026]]\n"
                        ".SH DESCRIPTION\nActs on keys.\n"
                        ".SH OPTIONS\n"
                        ".TP\n\\fB\\-n\\fR, \\fB\\-\\-dry\\-run\\fR\n"
                        "say what it does; nothing\\(aqs changed\n"
                        ".TP\n\\fB\\-\\-size\\fR \\fISIZE\\fR\n\\&.5 or more\n"
                        ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nprint a short form of this page\n"
                        ".SH SEE ALSO\n.BR rekindle (1)\n");
}

static void marks_operands(void **state) {
    (void)state;
    rk_opt_usage usage;
    rk_verb verb = verb_with(&usage, "list | trust KEY…", NULL);
    RK_AUTO(rk_buf) page = RK_BUF_INIT(0);
    rk_man_add_verb(&verb, DATE, &page);
    expect_in(&page, "] \\fBlist\\fR | \\fBtrust\\fR \\fIKEY\\fR\\[u2026]\n");
}

// Appends the page with these details, from "DESCRIPTION" to "OPTIONS".
static void expect_details(const char *details, const char *expected) {
    rk_opt_usage usage;
    rk_verb verb = verb_with(&usage, NULL, details);
    RK_AUTO(rk_buf) page = RK_BUF_INIT(0), wanted = RK_BUF_INIT(0);
    rk_man_add_verb(&verb, DATE, &page);
    rk_buf_add_format(&wanted, "Acts on keys.\n.PP\n%s.SH OPTIONS\n", expected);
    expect_in(&page, rk_buf_text(&wanted));
}

static void keeps_paragraphs_and_examples(void **state) {
    (void)state;
    expect_details("One.\n\nTwo.\n", "One.\n.PP\nTwo.\n");
    expect_details("One.\nTwo.\n", "One.\n.br\nTwo.\n");
    expect_details("One:\n\n  rekindle act\n  more -n\n",
                   "One:\n.sp\n.RS 2\n.EX\nrekindle act\nmore \\-n\n.EE\n.RE\n");
    expect_details("  a\n\nTwo.\n", ".RS 2\n.EX\na\n.EE\n.RE\n.PP\nTwo.\n");
}

static void escapes_what_groff_changes(void **state) {
    (void)state;
    expect_details("Use `act -n x-y` well-known --all (-n).\n",
                   "Use \\fBact \\-n x\\-y\\fR well-known \\-\\-all (\\-n).\n");
    expect_details("'a' ~ ^ \"b\" \\ ` …\n",
                   "\\(aqa\\(aq \\(ti \\(ha \\(dqb\\(dq \\(rs \\(ga \\[u2026]\n");
    expect_details(".hidden\n", "\\&.hidden\n");
    expect_details("  .hidden 'x\n", ".RS 2\n.EX\n\\&.hidden \\(aqx\n.EE\n.RE\n");
}

static void the_overview_has_every_command_and_setting(void **state) {
    (void)state;
    RK_AUTO(rk_buf) page = RK_BUF_INIT(0);
    rk_man_add_overview(&rk_verbs, DATE, &page);
    for (size_t i = 0; i < rk_verbs.count; i++) {
        RK_AUTO(rk_buf) name = RK_BUF_INIT(0);
        rk_buf_add_format(&name, ".BR rekindle\\-%s (1)\n", rk_verbs.items[i]->usage->verb);
        expect_in(&page, rk_buf_text(&name));
    }
    for (int id = 0; id < RK_SETTING_COUNT; id++) {
        RK_AUTO(rk_buf) name = RK_BUF_INIT(0);
        rk_buf_add_format(&name, ".TP\n\\fB%s\\fR\n", rk_settings_variable((rk_setting_id)id));
        expect_in(&page, rk_buf_text(&name));
        assert_true(strlen(rk_setting_purpose((rk_setting_id)id)) > 0);
    }
    expect_in(&page, "(default: 20G)\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_every_section),
        cmocka_unit_test(marks_operands),
        cmocka_unit_test(keeps_paragraphs_and_examples),
        cmocka_unit_test(escapes_what_groff_changes),
        cmocka_unit_test(the_overview_has_every_command_and_setting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
