#include <stdio.h>

#include "cli/fail.h"
#include "cli/out.h"
#include "cli/term.h"
#include "cli/text.h"
#include "cli/verbs.h"

static void print_json(const rk_verb_list *verbs) {
    json_t *object = rk_out_object(), *list = rk_out_array();
    for (size_t i = 0; i < verbs->count; i++) {
        json_t *one = rk_out_object();
        rk_out_set(one, "command", rk_out_string(verbs->items[i]->usage->verb));
        rk_out_set(one, "summary", rk_out_string(verbs->items[i]->brief));
        rk_out_append(list, one);
    }
    rk_out_set(object, "commands", list);
    rk_out_print(object);
}

static void print_text(const rk_verb_list *verbs) {
    const char *bold = rk_style(RK_STYLE_BOLD, stdout), *plain = rk_style(RK_STYLE_NONE, stdout);
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    rk_buf_add_format(&line, "%srekindle%s " RK_VERBS_PURPOSE ".", bold, plain);
    rk_term_line(rk_need_text(&line), 0);
    (void)printf("\n%sUsage:%s rekindle run -- python train.py     the job, with rekindle in it\n"
                 "       rekindle COMMAND [OPTION…] [ARGUMENT…]\n\n%sCommands:%s\n",
                 bold, plain, bold, plain);
    for (size_t i = 0; i < verbs->count; i++)
        (void)printf("  %-11s %s\n", verbs->items[i]->usage->verb, verbs->items[i]->brief);
    (void)putchar('\n');
    rk_term_line(
        "`rekindle help COMMAND` describes one. Commands that show something take --json, for "
        "programs. Settings are environment variables: `rekindle config` lists them.",
        0);
}

static rk_err *run(rk_verb_call *call) {
    if (call->operands->count == 0) {
        (call->json ? print_json : print_text)(call->verbs);
        return NULL;
    }
    const rk_verb *verb = rk_verb_find(call->verbs, call->operands->items[0]);
    if (!verb)
        return rk_error(RK_INVALID_ARGUMENT,
                        "there is no command '%s'; `rekindle help` lists all commands",
                        call->operands->items[0]);
    rk_verb_print_help(verb);
    return NULL;
}

static const rk_opt options[] = {RK_VERB_JSON_HELP("the list of commands as JSON")};

static const rk_opt_usage usage = {
    .verb = "help",
    .operands = "[COMMAND]",
    .summary = "Lists the commands, or describes one of them.",
    .options = options,
    .option_count = RK_ARRAY_LEN(options),
    .max_operands = 1,
    .words = RK_WORD_VERB,
};

const rk_verb rk_verb_help = {
    .brief = "this list, or how to use one command",
    .usage = &usage,
    .settings = RK_VERB_NO_SETTINGS,
    .run = run,
};
