// Parses the options of a verb by a table: `--name value`, `--name=value`, `-n value`, `-nvalue`;
// flags without a value, also bundled (`-jr`); `--` ends the options. A negative number is an
// operand. A verb describes its options once, in an rk_opt_usage; the parser and the help text both
// use it.
#pragma once

#include <stdio.h>

#include "base/buf.h"

enum { RK_OPT_LIST_MAX = 16 };

// The values of an option that may be given several times. Borrowed from argv.
typedef struct rk_opt_list {
    const char *items[RK_OPT_LIST_MAX];
    size_t count;
    const char *last;
} rk_opt_list;

typedef struct rk_opt {
    const char *name;           // without dashes
    char letter;                // 0 for none
    bool *flag;                 // set to true; NULL for an option with a value
    const char **value;         // set to the value, which is never empty; borrowed from argv
    rk_opt_list *list;          // gets all values; NULL: only the last value counts
    const char *variable;       // the environment variable that the value is for; NULL for none
    const char *value_name;     // "N"; for DIR, FILE and RUN, shells complete folders, files, runs
    const char *const *choices; // all values, NULL-terminated; NULL if there are others
    const char *help;
} rk_opt;

#define RK_OPT_FLAG(long_name, short_name, target, help_text)                                      \
    { .name = (long_name), .letter = (short_name), .flag = (target), .help = (help_text) }
#define RK_OPT_VALUE(long_name, short_name, target, what, help_text)                               \
    {                                                                                              \
        .name = (long_name), .letter = (short_name), .value = (target), .value_name = (what),      \
        .help = (help_text)                                                                        \
    }
// An option that takes one of a few names. The parser checks them.
#define RK_OPT_CHOICE(long_name, short_name, target, what, names, help_text)                       \
    {                                                                                              \
        .name = (long_name), .letter = (short_name), .value = (target), .value_name = (what),      \
        .choices = (names), .help = (help_text)                                                    \
    }
// An option that may be given several times. `names` may be NULL.
#define RK_OPT_LIST(long_name, short_name, target, what, names, help_text)                         \
    {                                                                                              \
        .name = (long_name), .letter = (short_name), .value = &(target)->last, .list = (target),   \
        .value_name = (what), .choices = (names), .help = (help_text)                              \
    }
// An option that overrides a setting, by the variable of the setting.
#define RK_OPT_SETTING(long_name, short_name, target, setting, what, help_text)                    \
    {                                                                                              \
        .name = (long_name), .letter = (short_name), .value = (target), .variable = (setting),     \
        .value_name = (what), .help = (help_text)                                                  \
    }

// What an operand may be, for completion in a shell (cli/candidates.h). Flags.
typedef enum rk_opt_word {
    RK_WORD_RUN = 1 << 0,
    RK_WORD_KEY = 1 << 1,
    RK_WORD_VERB = 1 << 2,
    RK_WORD_FILE = 1 << 3,
} rk_opt_word;

typedef struct rk_opt_usage {
    const char *verb;
    const char *operands; // for the usage line, "KEY…"; NULL if the verb takes none
    const char *summary;  // printed below the usage line; ends with a full stop
    const char *details;  // "\n\n" separates paragraphs; lines with a leading blank are not wrapped
    const rk_opt *options;
    size_t option_count;
    size_t min_operands, max_operands;
    bool options_first;         // the first operand ends the options: the rest belongs to a command
    unsigned words;             // what each operand may be: rk_opt_word; 0: nothing is known
    const char *const *choices; // of the first operand, NULL-terminated; NULL if it is no choice
} rk_opt_usage;

typedef struct rk_opt_operands {
    char **items; // borrowed from argv, whose items are reordered; NULL-terminated
    size_t count;
} rk_opt_operands;

typedef enum rk_opt_result {
    RK_OPT_PROCEED, // all targets are set
    RK_OPT_HELP,    // --help or -h: see rk_opt_print_help
} rk_opt_result;

// Parses argv[1…]. Error: RK_INVALID_ARGUMENT; the message says what is wrong and what is valid.
RK_NODISCARD rk_err *rk_opt_parse(const rk_opt_usage *usage, int argc, char **argv,
                                  rk_opt_result *out_result, rk_opt_operands *out_operands);

// Finds an option by its name or letter; NULL if there is none.
const rk_opt *rk_opt_find(const rk_opt_usage *usage, rk_span name);
const rk_opt *rk_opt_find_letter(const rk_opt_usage *usage, char letter);

// "-2" counts runs from the end, and is an operand: no option is a digit.
bool rk_opt_is_number(const char *argument);

// Parses the value of an option that takes a number from 1.
RK_NODISCARD rk_err *rk_opt_count(const char *option, const char *text, size_t *out_count);

// Appends "-o, --output FILE".
void rk_opt_add_names(rk_buf *out, const rk_opt *option);

// --help, which every verb has.
extern const rk_opt rk_opt_help;

// Prints usage, options and details, wrapped at `columns`.
void rk_opt_print_help(const rk_opt_usage *usage, size_t columns, FILE *out);
