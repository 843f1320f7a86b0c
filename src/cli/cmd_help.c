#include <stdio.h>

#include "cli/cli.h"
#include "cli/opt.h"
#include "cli/out.h"
#include "cli/term.h"
#include "cli/text.h"

static void print_json(void) {
    json_t *object = rk_out_object(), *list = rk_out_array();
    for (size_t i = 0; i < rk_verb_count; i++) {
        json_t *one = rk_out_object();
        rk_out_set(one, "command", rk_out_string(rk_verbs[i].name));
        rk_out_set(one, "summary", rk_out_string(rk_verbs[i].summary));
        rk_out_append(list, one);
    }
    rk_out_set(object, "commands", list);
    rk_out_print(object);
}

static void print_text(void) {
    const char *bold = rk_style(RK_STYLE_BOLD, stdout), *plain = rk_style(RK_STYLE_NONE, stdout);
    (void)printf("%srekindle%s keeps what XLA compiled, so that a restart of the same job compiles "
                 "nothing.\n\n"
                 "%sUsage:%s rekindle run -- python train.py     the job, with rekindle in it\n"
                 "       rekindle COMMAND [OPTION…] [ARGUMENT…]\n\n%sCommands:%s\n",
                 bold, plain, bold, plain, bold, plain);
    for (size_t i = 0; i < rk_verb_count; i++)
        (void)printf("  %-9s %s\n", rk_verbs[i].name, rk_verbs[i].summary);
    (void)printf("\n`rekindle help COMMAND` tells more about one; --json, where a command shows "
                 "something,\nis for programs. Settings are environment variables: `rekindle "
                 "config` lists them.\n");
}

int rk_verb_help(int argc, char **argv) {
    bool json = false;
    const rk_opt options[] = {RK_OPT_FLAG("json", 0, &json, "the list of commands as JSON")};
    const rk_opt_usage usage = {
        .verb = "help",
        .operands = "[COMMAND]",
        .summary = "Lists the commands, or tells how to use one of them.",
        .options = options,
        .option_count = RK_ARRAY_LEN(options),
        .max_operands = 1,
    };
    rk_opt_operands operands;
    int status;
    if (!rk_opt_begin(&usage, argc, argv, &operands, &status))
        return status;
    if (operands.count == 0) {
        (json ? print_json : print_text)();
        return RK_EXIT_OK;
    }
    const rk_verb *verb = rk_verb_find(operands.items[0]);
    if (!verb)
        return rk_cli_fail(rk_error(RK_INVALID_ARGUMENT,
                                    "there is no command '%s'; `rekindle help` lists those there "
                                    "are",
                                    operands.items[0]),
                           json);
    char name[16], help[] = "--help";
    (void)snprintf(name, sizeof name, "%s", verb->name);
    char *arguments[] = {name, help, NULL};
    return verb->run(2, arguments);
}
