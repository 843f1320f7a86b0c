#include "cli/verb.h"

#include <string.h>

#include "cli/fail.h"
#include "cli/out.h"
#include "cli/place.h"
#include "cli/term.h"

rk_verb_shared rk_verb_shared_options;

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
    case RK_VERB_SETTINGS_OF_RUNS:
        return rk_place_settings_of_runs(out_settings);
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

int rk_verb_start(const rk_verb_list *verbs, const rk_verb *verb, int argc, char **argv) {
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
    err = run(verb, &call);
    return err ? fail(err, call.json) : call.status;
}
