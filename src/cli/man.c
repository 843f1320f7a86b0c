#include "cli/man.h"

#include <ctype.h>
#include <string.h>

#include "cli/purposes.h"
#include "cli/text.h"
#include "cli/verbs.h"

// Appends one character so that groff and mandoc print it as it is. Returns its length in bytes.
static size_t add_character(rk_buf *out, rk_span text) {
    static const struct {
        char byte;
        const char *escape;
    } escapes[] = {{'\\', "\\(rs"}, {'\'', "\\(aq"}, {'`', "\\(ga"},
                   {'^', "\\(ha"},  {'~', "\\(ti"},  {'"', "\\(dq"}};
    uint32_t code_point = 0;
    size_t len = rk_text_decode(text, &code_point);
    if (code_point >= 0x80) {
        rk_buf_add_format(out, "\\[u%04X]", (unsigned)code_point);
        return len;
    }
    for (size_t i = 0; i < RK_ARRAY_LEN(escapes); i++) {
        if (text.data[0] == (uint8_t)escapes[i].byte) {
            rk_buf_add_text(out, escapes[i].escape);
            return 1;
        }
    }
    rk_buf_add_byte(out, text.data[0]);
    return 1;
}

// Appends `len` bytes of text. `literal`: every dash is one that can be pasted into a shell; else
// only those at the beginning of a word.
static void add_escaped(rk_buf *out, const char *text, size_t len, bool literal) {
    bool starts = true;
    for (size_t i = 0; i < len;) {
        if (text[i] == '-' && (literal || starts)) {
            rk_buf_add_text(out, "\\-");
            i++;
            continue;
        }
        starts = !isalnum((unsigned char)text[i]) && (text[i] & 0x80) == 0;
        i += add_character(out, rk_span_of(text + i, len - i));
    }
}

// A line that begins with a dot would be a macro.
static void protect_dot(rk_buf *out, const char *line) {
    if (line[0] == '.')
        rk_buf_add_text(out, "\\&");
}

// Appends one line of prose and a newline. What stands in backticks becomes bold.
static void add_prose(rk_buf *out, const char *text, size_t len) {
    const char *end = text + len;
    protect_dot(out, text);
    while (text < end) {
        const char *tick = memchr(text, '`', (size_t)(end - text));
        const char *close = tick ? memchr(tick + 1, '`', (size_t)(end - tick - 1)) : NULL;
        add_escaped(out, text, (size_t)((close ? tick : end) - text), false);
        if (!close)
            break;
        rk_buf_add_text(out, "\\fB");
        add_escaped(out, tick + 1, (size_t)(close - tick - 1), true);
        rk_buf_add_text(out, "\\fR");
        text = close + 1;
    }
    rk_buf_add_byte(out, '\n');
}

static void add_sentence(rk_buf *out, const char *text) {
    add_prose(out, text, strlen(text));
}

// Appends text with the rules of rk_term_print_wrapped: an empty line separates paragraphs, and a
// line that begins with a blank is an example.
static void add_paragraphs(rk_buf *out, const char *text) {
    bool example = false, after_line = false;
    for (size_t len; *text; text += len + (text[len] ? 1 : 0)) {
        len = strcspn(text, "\n");
        bool is_example = text[0] == ' ';
        if (is_example != example)
            rk_buf_add_text(out, is_example ? ".RS 2\n.EX\n" : ".EE\n.RE\n");
        example = is_example;
        if (len == 0) {
            bool more_text = text[1] && text[1] != ' ';
            rk_buf_add_text(out, more_text ? ".PP\n" : text[1] ? ".sp\n" : "");
            after_line = false;
            continue;
        }
        if (after_line && !is_example)
            rk_buf_add_text(out, ".br\n");
        if (is_example) {
            size_t blanks = strspn(text, " ");
            protect_dot(out, text + blanks);
            add_escaped(out, text + blanks, len - blanks, true);
            rk_buf_add_byte(out, '\n');
        } else {
            add_prose(out, text, len);
        }
        after_line = !is_example;
    }
    if (example)
        rk_buf_add_text(out, ".EE\n.RE\n");
}

// The operands of a usage line: names of what goes there in italics, words to type in bold.
static void add_operands(rk_buf *out, const char *operands) {
    while (*operands) {
        size_t upper = strspn(operands, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
        size_t lower = strspn(operands, "abcdefghijklmnopqrstuvwxyz-");
        if (upper || lower) {
            rk_buf_add_text(out, upper ? "\\fI" : "\\fB");
            add_escaped(out, operands, upper + lower, true);
            rk_buf_add_text(out, "\\fR");
            operands += upper + lower;
        } else {
            operands += add_character(out, rk_span_text(operands));
        }
    }
    rk_buf_add_byte(out, '\n');
}

static void add_title(rk_buf *out, const char *verb, const char *date) {
    rk_buf_add_text(out, ".\\\" Made from the tables of `rekindle help`.\n.TH REKINDLE");
    if (verb)
        rk_buf_add_text(out, "\\-");
    for (; verb && *verb; verb++)
        rk_buf_add_byte(out, (uint8_t)toupper((unsigned char)*verb));
    rk_buf_add_format(out, " 1 %s \"rekindle " REKINDLE_VERSION "\" \"rekindle\"\n", date);
}

static void add_option(rk_buf *out, const rk_opt *option) {
    rk_buf_add_text(out, ".TP\n");
    if (option->letter)
        rk_buf_add_format(out, "\\fB\\-%c\\fR, ", option->letter);
    rk_buf_add_text(out, "\\fB\\-\\-");
    add_escaped(out, option->name, strlen(option->name), true);
    rk_buf_add_text(out, "\\fR");
    if (option->value_name)
        rk_buf_add_format(out, " \\fI%s\\fR", option->value_name);
    rk_buf_add_byte(out, '\n');
    add_sentence(out, option->help);
}

// rk_opt_help says "this text".
static const rk_opt help = {
    .name = "help", .letter = 'h', .help = "print a short form of this page"};

void rk_man_add_verb(const rk_verb *verb, const char *date, rk_buf *out) {
    const rk_opt_usage *usage = verb->usage;
    add_title(out, usage->verb, date);
    rk_buf_add_format(out, ".SH NAME\nrekindle\\-%s \\- ", usage->verb);
    add_sentence(out, verb->brief);
    rk_buf_add_format(out, ".SH SYNOPSIS\n\\fBrekindle %s\\fR [\\fIOPTION\\fR\\[u2026]]%s",
                      usage->verb, usage->operands ? " " : "");
    add_operands(out, usage->operands ? usage->operands : "");
    rk_buf_add_text(out, ".SH DESCRIPTION\n");
    add_sentence(out, usage->summary);
    if (usage->details) {
        rk_buf_add_text(out, ".PP\n");
        add_paragraphs(out, usage->details);
    }
    rk_buf_add_text(out, ".SH OPTIONS\n");
    for (size_t i = 0; i < usage->option_count; i++)
        add_option(out, &usage->options[i]);
    add_option(out, &help);
    rk_buf_add_text(out, ".SH SEE ALSO\n.BR rekindle (1)\n");
}

static void add_settings(rk_buf *out) {
    rk_buf_add_text(out, ".SH ENVIRONMENT\n");
    add_sentence(out, "These variables win over the config file of the store. `rekindle config` "
                      "prints the value of each, and where it came from.");
    for (int id = 0; id < RK_SETTING_COUNT; id++) {
        const char *fallback = rk_settings_default((rk_setting_id)id);
        rk_buf_add_format(out, ".TP\n\\fB%s\\fR\n", rk_settings_variable((rk_setting_id)id));
        add_sentence(out, rk_setting_purpose((rk_setting_id)id));
        if (!*fallback)
            continue;
        rk_buf_add_text(out, "(default: ");
        add_escaped(out, fallback, strlen(fallback), true);
        rk_buf_add_text(out, ")\n");
    }
}

static const char statuses[] = ".SH EXIT STATUS\n"
                               ".TP\n0\nsuccess\n"
                               ".TP\n1\nthe request was valid but failed, or a check failed\n"
                               ".TP\n2\nwrong usage or settings\n"
                               ".PP\n.B rekindle run\npasses on the exit status of its command.\n";

static const char files[] =
    ".SH FILES\n"
    ".TP\n.I $REKINDLE_DIR\nthe store, by default\n.I $XDG_CACHE_HOME/rekindle\nor\n"
    ".I \\(ti/.cache/rekindle\n"
    ".TP\n.I $REKINDLE_DIR/config\nsettings: lines\n.IR \"name \" = \" value\" ,\n"
    "with the names of the variables in lower case, without REKINDLE_\n";

void rk_man_add_overview(const rk_verb_list *verbs, const char *date, rk_buf *out) {
    add_title(out, NULL, date);
    rk_buf_add_text(out, ".SH NAME\nrekindle \\- compilation cache for XLA programs\n"
                         ".SH SYNOPSIS\n"
                         "\\fBrekindle run \\-\\-\\fR \\fICOMMAND\\fR [\\fIARGUMENT\\fR\\[u2026]]\n"
                         ".br\n\\fBrekindle\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR\\[u2026]] "
                         "[\\fIARGUMENT\\fR\\[u2026]]\n"
                         ".SH DESCRIPTION\n");
    add_sentence(out, "rekindle " RK_VERBS_PURPOSE ".");
    rk_buf_add_text(out, ".SH COMMANDS\n");
    for (size_t i = 0; i < verbs->count; i++) {
        rk_buf_add_format(out, ".TP\n.BR rekindle\\-%s (1)\n", verbs->items[i]->usage->verb);
        add_sentence(out, verbs->items[i]->brief);
    }
    add_settings(out);
    rk_buf_add_text(out, files);
    rk_buf_add_text(out, statuses);
    rk_buf_add_text(out, ".SH SEE ALSO\n.BR rekindle\\-run (1),\n.BR rekindle\\-explain (1),\n"
                         ".BR rekindle\\-config (1)\n");
}
