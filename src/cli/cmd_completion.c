#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/candidates.h"
#include "cli/fail.h"
#include "cli/verbs.h"

// Texts of src/cli/completion/.
extern const char rk_completion_bash[], rk_completion_zsh[], rk_completion_fish[];

static const char *const shells[] = {"bash", "zsh", "fish", NULL};
static const char *const scripts[RK_ARRAY_LEN(shells) - 1] = {rk_completion_bash, rk_completion_zsh,
                                                              rk_completion_fish};

static void give_up(int signal_number) {
    (void)signal_number;
    _exit(RK_EXIT_OK);
}

// Words come late if the store is on a slow file system. Then none come: a shell waits for this
// process, and shows what it prints on stderr.
static void keep_quick_and_quiet(void) {
    enum { PATIENCE_SECONDS = 2 };
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0)
        (void)dup2(nowhere, STDERR_FILENO);
    if (nowhere > STDERR_FILENO)
        (void)close(nowhere);
    (void)signal(SIGALRM, give_up);
    (void)alarm(PATIENCE_SECONDS);
}

// `rekindle completion candidates -- WORD…`, which the scripts call.
static void print_candidates(const rk_verb_call *call) {
    RK_AUTO(rk_buf) out = RK_BUF_INIT(0);
    keep_quick_and_quiet();
    rk_candidates_add(call->verbs, call->operands->items + 1, call->operands->count - 1, &out);
    (void)fputs(rk_need_text(&out), stdout);
}

static rk_err *run(rk_verb_call *call) {
    const char *what = call->operands->items[0];
    if (strcmp(what, "candidates") == 0) {
        print_candidates(call);
        return NULL;
    }
    for (size_t i = 0; i < RK_ARRAY_LEN(scripts); i++) {
        if (strcmp(what, shells[i]) != 0)
            continue;
        if (call->operands->count > 1)
            return rk_error(RK_INVALID_ARGUMENT, "completion takes one shell: '%s' is one too many",
                            call->operands->items[1]);
        (void)fputs(scripts[i], stdout);
        return NULL;
    }
    return rk_error(RK_INVALID_ARGUMENT,
                    "there is no completion for '%s', only for bash, zsh or "
                    "fish",
                    what);
}

static const rk_opt_usage usage = {
    .verb = "completion",
    .operands = "bash | zsh | fish",
    .summary = "Prints a script with which the shell completes commands, options, runs and "
               "entries of rekindle.",
    .details = "To enable it, add one of these lines to the start-up file of the shell:\n\n"
               "  source <(rekindle completion bash)      # ~/.bashrc\n"
               "  source <(rekindle completion zsh)       # ~/.zshrc, after compinit\n"
               "  rekindle completion fish | source       # ~/.config/fish/config.fish\n\n"
               "`make install` and the wheel bring the same scripts as files.\n",
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .choices = shells,
};

const rk_verb rk_verb_completion = {
    .brief = "print the completion script of a shell",
    .usage = &usage,
    .settings = RK_VERB_NO_SETTINGS,
    .run = run,
};
