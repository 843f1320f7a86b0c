#include "cli/opt.h"

#include <stdlib.h>
#include <string.h>

#include "base/span.h"
#include "cli/fail.h"
#include "cli/term.h"
#include "cli/text.h"

typedef struct parser {
    const rk_opt_usage *usage;
    char **argv;
    int argc;
    int next; // index of the next argument
    bool help;
} parser;

const rk_opt *rk_opt_find(const rk_opt_usage *usage, rk_span name) {
    for (size_t i = 0; i < usage->option_count; i++)
        if (rk_span_is(name, usage->options[i].name))
            return &usage->options[i];
    return NULL;
}

const rk_opt *rk_opt_find_letter(const rk_opt_usage *usage, char letter) {
    for (size_t i = 0; i < usage->option_count; i++)
        if (usage->options[i].letter == letter)
            return &usage->options[i];
    return NULL;
}

static rk_err *unknown(const rk_opt_usage *usage, const char *argument, rk_span name) {
    char word[64];
    size_t len = name.len < sizeof word ? name.len : sizeof word - 1;
    memcpy(word, name.data, len);
    word[len] = '\0';
    const char *best = "help";
    for (size_t i = 0; i < usage->option_count; i++)
        if (rk_text_distance(word, usage->options[i].name) < rk_text_distance(word, best))
            best = usage->options[i].name;
    if (rk_text_is_near(word, best))
        return rk_error(RK_INVALID_ARGUMENT, "%s has no option '%s'; did you mean --%s?",
                        usage->verb, argument, best);
    return rk_error(RK_INVALID_ARGUMENT,
                    "%s has no option '%s'; `rekindle help %s` lists those it has", usage->verb,
                    argument, usage->verb);
}

static bool is_choice(const char *const *choices, const char *value) {
    while (*choices && strcmp(*choices, value) != 0)
        choices++;
    return *choices != NULL;
}

// "--sort takes seconds, size or key, not 'x'"
static rk_err *not_a_choice(const rk_opt *option, const char *value) {
    RK_AUTO(rk_buf) names = RK_BUF_INIT(0);
    for (const char *const *name = option->choices; *name; name++)
        rk_buf_add_format(&names, "%s%s",
                          name == option->choices ? ""
                          : name[1]               ? ", "
                                                  : " or ",
                          *name);
    return rk_error(RK_INVALID_ARGUMENT, "--%s takes %s, not '%s'", option->name,
                    rk_need_text(&names), value);
}

static rk_err *add_to_list(const rk_opt *option, const char *value) {
    rk_opt_list *list = option->list;
    if (list->count == RK_OPT_LIST_MAX)
        return rk_error(RK_INVALID_ARGUMENT, "--%s can be given %d times at most", option->name,
                        (int)RK_OPT_LIST_MAX);
    list->items[list->count++] = value;
    return NULL;
}

// Sets the value of an option: `attached`, or else the next argument.
static rk_err *take_value(parser *p, const rk_opt *option, const char *attached) {
    const char *value = attached;
    if (!value && p->next < p->argc)
        value = p->argv[p->next++];
    if (!value || value[0] == '\0')
        return rk_error(RK_INVALID_ARGUMENT, "--%s needs a value: --%s %s", option->name,
                        option->name, option->value_name);
    if (option->choices && !is_choice(option->choices, value))
        return not_a_choice(option, value);
    *option->value = value;
    return option->list ? add_to_list(option, value) : NULL;
}

static rk_err *parse_long(parser *p, const char *argument) {
    const char *name = argument + 2;
    const char *equals = strchr(name, '=');
    rk_span span = rk_span_of(name, equals ? (size_t)(equals - name) : strlen(name));
    if (rk_span_is(span, "help") && !equals) {
        p->help = true;
        return NULL;
    }
    const rk_opt *option = rk_opt_find(p->usage, span);
    if (!option)
        return unknown(p->usage, argument, span);
    if (!option->flag)
        return take_value(p, option, equals ? equals + 1 : NULL);
    if (equals)
        return rk_error(RK_INVALID_ARGUMENT, "--%s takes no value, but was given '%s'",
                        option->name, equals + 1);
    *option->flag = true;
    return NULL;
}

static rk_err *parse_letters(parser *p, const char *argument) {
    for (const char *letter = argument + 1; *letter; letter++) {
        if (*letter == 'h') {
            p->help = true;
            continue;
        }
        const rk_opt *option = rk_opt_find_letter(p->usage, *letter);
        if (!option)
            return rk_error(RK_INVALID_ARGUMENT,
                            "%s has no option '%s'; `rekindle help %s` lists those it has",
                            p->usage->verb, argument, p->usage->verb);
        if (!option->flag)
            return take_value(p, option, letter[1] ? letter + 1 : NULL);
        *option->flag = true;
    }
    return NULL;
}

bool rk_opt_is_number(const char *argument) {
    return argument[0] == '-' && argument[1] &&
           argument[1 + strspn(argument + 1, "0123456789")] == '\0';
}

static rk_err *check_operands(const rk_opt_usage *usage, const rk_opt_operands *operands) {
    if (operands->count < usage->min_operands)
        return rk_error(RK_INVALID_ARGUMENT, "%s needs more arguments: rekindle %s [OPTION…] %s",
                        usage->verb, usage->verb, usage->operands);
    if (operands->count > usage->max_operands)
        return rk_error(RK_INVALID_ARGUMENT, "%s takes %s: the argument '%s' is one too many",
                        usage->verb, usage->operands ? usage->operands : "options only",
                        operands->items[usage->max_operands]);
    return NULL;
}

rk_err *rk_opt_parse(const rk_opt_usage *usage, int argc, char **argv, rk_opt_result *out_result,
                     rk_opt_operands *out_operands) {
    parser p = {.usage = usage, .argv = argv, .argc = argc, .next = 1};
    bool options_end = false;
    // Operands move to the front, over arguments that were read already.
    rk_opt_operands operands = {.items = argv + 1};
    while (p.next < argc) {
        char *argument = argv[p.next++];
        if (!options_end && strcmp(argument, "--") == 0) {
            options_end = true;
        } else if (options_end || argument[0] != '-' || argument[1] == '\0' ||
                   rk_opt_is_number(argument)) {
            operands.items[operands.count++] = argument;
            options_end = options_end || usage->options_first;
        } else if (argument[1] == '-') {
            RK_TRY(parse_long(&p, argument));
        } else {
            RK_TRY(parse_letters(&p, argument));
        }
        if (p.help)
            break;
    }
    *out_result = p.help ? RK_OPT_HELP : RK_OPT_PROCEED;
    *out_operands = operands;
    if (p.help)
        return NULL;
    if (argc > 0)
        operands.items[operands.count] = NULL;
    return check_operands(usage, &operands);
}

rk_err *rk_opt_count(const char *option, const char *text, size_t *out_count) {
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || value == 0)
        return rk_error(RK_INVALID_ARGUMENT, "%s takes a whole number from 1, not '%s'", option,
                        text);
    *out_count = value;
    return NULL;
}

void rk_opt_add_names(rk_buf *out, const rk_opt *option) {
    if (option->letter)
        rk_buf_add_format(out, "-%c, ", option->letter);
    rk_buf_add_format(out, "--%s", option->name);
    if (option->value_name)
        rk_buf_add_format(out, " %s", option->value_name);
}

static void print_option(const rk_opt *option, size_t indent, size_t columns, FILE *out) {
    RK_AUTO(rk_buf) names = RK_BUF_INIT(256);
    rk_opt_add_names(&names, option);
    (void)fprintf(out, "  %s%*s", rk_need_text(&names), (int)(indent - 2 - names.len), "");
    rk_term_print_wrapped(option->help, indent, columns, out);
}

const rk_opt rk_opt_help = {.name = "help", .letter = 'h', .help = "this text"};

void rk_opt_print_help(const rk_opt_usage *usage, size_t columns, FILE *out) {
    (void)fprintf(out, "%sUsage:%s rekindle %s [OPTION…]%s%s\n\n", rk_style(RK_STYLE_BOLD, out),
                  rk_style(RK_STYLE_NONE, out), usage->verb, usage->operands ? " " : "",
                  usage->operands ? usage->operands : "");
    rk_term_print_wrapped(usage->summary, 0, columns, out);
    (void)fprintf(out, "\n%sOptions:%s\n", rk_style(RK_STYLE_BOLD, out),
                  rk_style(RK_STYLE_NONE, out));
    size_t widest = sizeof "-h, --help" - 1;
    for (size_t i = 0; i < usage->option_count; i++) {
        RK_AUTO(rk_buf) names = RK_BUF_INIT(256);
        rk_opt_add_names(&names, &usage->options[i]);
        widest = names.len > widest ? names.len : widest;
    }
    for (size_t i = 0; i < usage->option_count; i++)
        print_option(&usage->options[i], widest + 5, columns, out);
    print_option(&rk_opt_help, widest + 5, columns, out);
    if (usage->details) {
        (void)fputc('\n', out);
        rk_term_print_wrapped(usage->details, 0, columns, out);
    }
}
