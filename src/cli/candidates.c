#include "cli/candidates.h"

#include <string.h>

#include "cli/fail.h"
#include "cli/place.h"
#include "cli/stored_words.h"

enum { OPTIONS_MOST = 32 };

// A command line whose last word is being typed.
typedef struct line {
    const rk_opt_usage *usage;
    const rk_opt *awaiting; // the option whose value comes next
    bool given[OPTIONS_MOST];
    bool options_end;
    size_t operand_count;
    size_t command; // index of the command of `run`; 0: not yet
    const char *typed;
    const char *lead; // printed before each candidate: "--run=" if `typed` is what follows it
    rk_buf *out;
} line;

// The first clause of a text: help texts go on with details.
static size_t first_clause(const char *text) {
    return strcspn(text, ";:");
}

static void add(void *context, const char *word, const char *description) {
    line *l = context;
    if (strncmp(word, l->typed, strlen(l->typed)) != 0)
        return;
    rk_buf_add_text(l->out, l->lead);
    rk_buf_add_format(l->out, "%s\t%s\n", word, description);
}

static void add_choices(line *l, const char *const *choices) {
    for (; choices && *choices; choices++)
        add(l, *choices, "");
}

static void add_option(line *l, const rk_opt *option) {
    RK_AUTO(rk_buf) name = RK_BUF_INIT(0), help = RK_BUF_INIT(0);
    rk_buf_add_format(&name, "--%s", option->name);
    rk_buf_add(&help, option->help, first_clause(option->help));
    add(l, rk_need_text(&name), rk_need_text(&help));
}

// All options that were not given yet.
static void add_options(line *l) {
    if (l->usage->options_first)
        add(l, "--", "the command follows");
    for (size_t i = 0; i < l->usage->option_count; i++)
        if (i >= OPTIONS_MOST || !l->given[i])
            add_option(l, &l->usage->options[i]);
    add(l, "--help", "how to use this command");
}

static void add_verbs(line *l, const rk_verb_list *verbs) {
    for (size_t i = 0; i < verbs->count; i++)
        add(l, verbs->items[i]->usage->verb, verbs->items[i]->brief);
}

static void add_value(line *l, const rk_opt *option) {
    const char *what = option->value_name;
    if (strcmp(what, "RUN") == 0)
        rk_stored_runs(l->typed, add, l);
    else if (strcmp(what, "FILE") == 0)
        rk_buf_add_text(l->out, ":files\n");
    else if (strcmp(what, "DIR") == 0)
        rk_buf_add_text(l->out, ":folders\n");
    else
        add_choices(l, option->variable ? rk_settings_choices(option->variable) : option->choices);
}

static void add_operands(line *l, const rk_verb_list *verbs) {
    unsigned words = l->usage->words;
    if (l->operand_count == 0 && l->usage->choices) {
        add_choices(l, l->usage->choices);
        return;
    }
    if (words & RK_WORD_VERB)
        add_verbs(l, verbs);
    if (words & RK_WORD_RUN)
        rk_stored_runs(l->typed, add, l);
    if (words & RK_WORD_KEY)
        rk_stored_keys(l->typed, add, l);
    if (words & RK_WORD_FILE)
        rk_buf_add_text(l->out, ":files\n");
}

static void note_given(line *l, const rk_opt *option) {
    size_t index = (size_t)(option - l->usage->options);
    if (index < OPTIONS_MOST)
        l->given[index] = true;
}

// The value of an option counts for what is listed after it: --dir selects the store.
static void take_value(line *l, const rk_opt *option, const char *value) {
    if (option->variable)
        rk_place_set_variable(option->variable, value);
    l->awaiting = NULL;
}

static void read_long(line *l, const char *word) {
    const char *name = word + 2, *equals = strchr(name, '=');
    rk_span span = rk_span_of(name, equals ? (size_t)(equals - name) : strlen(name));
    const rk_opt *option = rk_opt_find(l->usage, span);
    if (!option)
        return;
    note_given(l, option);
    if (equals && option->value)
        take_value(l, option, equals + 1);
    else if (option->value)
        l->awaiting = option;
}

static void read_letters(line *l, const char *word) {
    for (const char *letter = word + 1; *letter; letter++) {
        const rk_opt *option = rk_opt_find_letter(l->usage, *letter);
        if (!option)
            continue;
        note_given(l, option);
        if (!option->value)
            continue;
        if (letter[1])
            take_value(l, option, letter + 1);
        else
            l->awaiting = option;
        return;
    }
}

// Reads a word before the one that is being typed.
static void read_word(line *l, char *const *words, size_t index) {
    const char *word = words[index];
    if (l->awaiting) {
        // bash makes a word of the "=" in "--run=last".
        if (strcmp(word, "=") != 0 || strncmp(words[index - 1], "--", 2) != 0)
            take_value(l, l->awaiting, word);
    } else if (!l->options_end && strcmp(word, "--") == 0) {
        l->options_end = true;
        l->command = l->usage->options_first ? index + 1 : 0;
    } else if (l->options_end || word[0] != '-' || !word[1] || rk_opt_is_number(word)) {
        l->operand_count++;
        if (l->usage->options_first && !l->command)
            l->command = index;
    } else if (word[1] == '-') {
        read_long(l, word);
    } else {
        read_letters(l, word);
    }
}

// "--run=la" as one word. Returns the option; NULL if the word is something else.
static const rk_opt *split_long(line *l, rk_buf *lead) {
    const char *equals = strchr(l->typed, '=');
    if (l->options_end || strncmp(l->typed, "--", 2) != 0 || !equals)
        return NULL;
    const rk_opt *option =
        rk_opt_find(l->usage, rk_span_of(l->typed + 2, (size_t)(equals - l->typed) - 2));
    if (!option || !option->value)
        return NULL;
    rk_buf_add(lead, l->typed, (size_t)(equals - l->typed) + 1);
    l->lead = rk_need_text(lead);
    l->typed = equals + 1;
    return option;
}

// What may stand at the end of a line that was read up to there.
static void add_last(line *l, const rk_verb_list *verbs, const char *before) {
    RK_AUTO(rk_buf) lead = RK_BUF_INIT(0);
    bool takes_operands = l->operand_count < l->usage->max_operands && !l->usage->options_first;
    if (l->awaiting) {
        if (strcmp(l->typed, "=") == 0 && strncmp(before, "--", 2) == 0)
            l->typed = "";
        add_value(l, l->awaiting);
        return;
    }
    const rk_opt *option = split_long(l, &lead);
    if (option) {
        add_value(l, option);
        return;
    }
    if (l->typed[0] != '-' || l->options_end || rk_opt_is_number(l->typed) ||
        (l->usage->words & RK_WORD_RUN))
        if (takes_operands)
            add_operands(l, verbs);
    if (!l->options_end && (l->typed[0] == '-' || (!l->typed[0] && !takes_operands)))
        add_options(l);
}

static void add_first(line *l, const rk_verb_list *verbs) {
    if (l->typed[0] != '-') {
        add_verbs(l, verbs);
        return;
    }
    add(l, "--help", "the list of commands");
    add(l, "--version", "the version");
}

void rk_candidates_add(const rk_verb_list *verbs, char *const *words, size_t count, rk_buf *out) {
    if (count == 0)
        return;
    line l = {.typed = words[count - 1], .lead = "", .out = out};
    if (count == 1) {
        add_first(&l, verbs);
        return;
    }
    const rk_verb *verb = rk_verb_find(verbs, words[0]);
    if (!verb)
        return;
    l.usage = verb->usage;
    for (size_t i = 1; i + 1 < count && !l.command; i++)
        read_word(&l, words, i);
    // The first word that begins with no dash is the command of `run`, also while it is typed.
    if (l.usage->options_first && !l.command && !l.awaiting && l.typed[0] && l.typed[0] != '-')
        l.command = count - 1;
    if (l.command)
        rk_buf_add_format(out, ":command %zu\n", l.command);
    else
        add_last(&l, verbs, words[count - 2]);
}
