#include "cli/verb.h"

#include <string.h>

#include "base/alloc.h"
#include "cli/fail.h"
#include "cli/out.h"
#include "cli/place.h"
#include "cli/term.h"
#include "cli/text.h"

rk_verb_shared rk_verb_shared_options;

void rk_verb_add_dir(rk_buf *out) {
    if (!rk_verb_shared_options.dir)
        return;
    rk_buf_add_text(out, " --dir ");
    rk_text_add_word(out, rk_verb_shared_options.dir);
}

const rk_verb *rk_verb_find(const rk_verb_list *verbs, const char *name) {
    for (size_t i = 0; i < verbs->count; i++)
        if (strcmp(verbs->items[i]->usage->verb, name) == 0)
            return verbs->items[i];
    return NULL;
}

void rk_verb_print_help(const rk_verb *verb) {
    size_t columns = rk_term_columns(stdout);
    rk_opt_print_help(verb->usage, columns > 0 && columns < 100 ? columns : 100, stdout);
}

static void set_variables(const rk_opt_usage *usage) {
    for (size_t i = 0; i < usage->option_count; i++)
        if (usage->options[i].variable)
            rk_place_set_variable(usage->options[i].variable, *usage->options[i].value);
}

static rk_err *load_settings(rk_verb_settings which, rk_settings **out_settings) {
    switch (which) {
    case RK_VERB_SETTINGS:
        return rk_place_settings(out_settings);
    case RK_VERB_SETTINGS_OF_STORE:
        RK_TRY(rk_place_settings(out_settings));
        return rk_place_check(*out_settings, rk_verb_shared_options.dir != NULL);
    case RK_VERB_SETTINGS_OF_RUNS:
        RK_TRY(rk_place_settings(out_settings));
        RK_TRY(rk_place_check(*out_settings, rk_verb_shared_options.dir != NULL));
        return rk_place_check_runs(*out_settings);
    case RK_VERB_NO_SETTINGS:
        break;
    }
    return NULL;
}

static rk_err *run(const rk_verb *verb, rk_verb_call *call) {
    RK_AUTO_SETTINGS settings = NULL;
    set_variables(verb->usage);
    if (verb->check)
        RK_TRY(verb->check(call));
    RK_TRY(load_settings(verb->settings, &settings));
    call->settings = settings;
    return verb->run(call);
}

// Returns the option whose value a message calls by the variable that it sets; NULL if there is
// none. REKINDLE_DIR is also the name of a setting in remedies.
static const rk_opt *find_meant(const rk_opt_usage *usage, const char *message) {
    for (size_t i = 0; i < usage->option_count; i++) {
        const rk_opt *option = &usage->options[i];
        size_t len = option->variable ? strlen(option->variable) : 0;
        if (len && *option->value && strncmp(message, option->variable, len) == 0 &&
            message[len] == ' ')
            return option;
    }
    return NULL;
}

// Names the option that the user typed in place of its variable. Consumes `err`.
static rk_err *name_option(const rk_opt_usage *usage, rk_err *err) {
    const rk_opt *option = err ? find_meant(usage, rk_err_message(err)) : NULL;
    if (!option)
        return err;
    rk_err *named = rk_error(rk_err_code(err), "--%s%s", option->name,
                             rk_err_message(err) + strlen(option->variable));
    rk_err_drop(err, "its message is in the other");
    return named;
}

static int fail(rk_err *err, bool json) {
    json_t *object = NULL;
    if (json) {
        object = rk_out_object();
        rk_out_set(object, "error", rk_out_text(rk_span_text(rk_err_message(err))));
    }
    int status = rk_fail_print(err);
    if (object)
        rk_out_print(object);
    return status;
}

char *const *rk_verb_words;

// Parsing the options moves the words.
static void keep_words(int argc, char **argv) {
    char **words = rk_need(rk_calloc((size_t)argc + 1, sizeof *words));
    memcpy(words, argv, (size_t)argc * sizeof *words);
    rk_verb_words = words;
}

int rk_verb_start(const rk_verb_list *verbs, const rk_verb *verb, int argc, char **argv) {
    keep_words(argc, argv);
    rk_opt_operands operands;
    rk_opt_result result = RK_OPT_PROCEED;
    rk_err *err = rk_opt_parse(verb->usage, argc, argv, &result, &operands);
    if (err)
        return fail(err, false); // not all options were read: --json is not known
    if (result == RK_OPT_HELP) {
        rk_verb_print_help(verb);
        return RK_EXIT_OK;
    }
    rk_verb_call call = {.verbs = verbs,
                         .operands = &operands,
                         .json = rk_verb_shared_options.json,
                         .status = RK_EXIT_OK};
    err = name_option(verb->usage, run(verb, &call));
    return err ? fail(err, call.json) : call.status;
}
