#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/child.h"
#include "cli/cli.h"
#include "cli/launch.h"
#include "cli/opt.h"
#include "cli/place.h"
#include "cli/summary.h"
#include "cli/term.h"

typedef struct run_options {
    const char *dir, *mode, *job, *log;
} run_options;

static const char details[] =
    "The job starts as if rekindle were not there, with its library preloaded, which watches every "
    "PJRT plugin that the job loads: programs that were compiled before are loaded, others are "
    "compiled and kept. At the end one line on stderr says what happened; standard input and "
    "output are left alone.\n"
    "\n"
    "The exit status is the command's own; 128 + N if signal N killed it; 127 if there is no such "
    "command, 126 if it cannot be executed, 125 if no process could be made, 2 for wrong options "
    "or settings.\n"
    "\n"
    "SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 and SIGCONT are passed on to the command, as are SIGINT and "
    "SIGQUIT that do not come from the terminal, which sends them to the command itself.\n"
    "\n"
    "  rekindle run -- python train.py --steps 100\n"
    "  rekindle run --mode readonly -- python serve.py\n";

static int command_failed(const char *command, int error_number) {
    bool missing = error_number == ENOENT || error_number == ENOTDIR;
    // "python train.py" as one word is a common slip.
    bool quoted = missing && strchr(command, ' ') && !strchr(command, '/');
    rk_err *err = rk_error_errno(error_number, "cannot run '%s'%s", command,
                                 quoted ? " (a command and its arguments are words of their own, "
                                          "without quotes around them all)"
                                        : "");
    int ignored = rk_cli_fail(err, false);
    (void)ignored;
    return missing ? RK_EXIT_NOT_FOUND : RK_EXIT_NOT_EXECUTABLE;
}

static rk_err *write_summary(const char *directory, const char *run, rk_buf *out) {
    RK_AUTO(rk_run_model) model = {0};
    RK_AUTO(rk_run_totals) totals = {0};
    rk_err *err = rk_run_load(directory, run, &model);
    if (rk_err_code(err) == RK_NOT_FOUND) {
        rk_err_drop(err, "no process of the job had anything to record");
        rk_summary_write_nothing(directory, out);
        return NULL;
    }
    if (err)
        return err;
    RK_TRY(rk_run_totals_add(&totals, &model));
    rk_summary_write(&model, &totals, out);
    return NULL;
}

static void print_summary(const rk_settings *settings, const char *run) {
    if (rk_log_get_level() == RK_LOG_ERROR)
        return;
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    rk_err *err = write_summary(rk_settings_get(settings)->dir, run, &line);
    if (err) {
        int ignored = rk_cli_fail(rk_err_wrap(err, "cannot sum this run up"), false);
        (void)ignored;
        return;
    }
    (void)fprintf(stderr, "%srekindle:%s %s\n", rk_style(RK_STYLE_DIM, stderr),
                  rk_style(RK_STYLE_NONE, stderr), rk_need_text(&line));
}

// Others' variables may begin as ours do; one that is nearly a setting is a slip.
static void warn_of_misspelt(void) {
    const rk_env *environment = rk_place_environment();
    for (size_t i = 0; i < environment->count; i++) {
        const char *item = environment->items[i];
        size_t len = strcspn(item, "=");
        const char *meant = rk_settings_misspelt(rk_span_of(item, len));
        if (meant)
            rk_log_warn("%.*s is not a setting and has no effect; is %s meant?", (int)len, item,
                        meant);
    }
}

static int run_command(const rk_settings *settings, const rk_opt_operands *command) {
    rk_autofree char *run = NULL;
    bool on = rk_settings_get(settings)->mode != RK_MODE_OFF;
    rk_err *err = NULL;
    if (on) {
        err = rk_launch_prepare(settings, command, &run);
        if (err)
            return rk_cli_fail(err, false);
    }
    rk_child_end end = {0};
    err = rk_child_run(command->items, rk_place_environment()->items, &end);
    if (err) {
        int ignored = rk_cli_fail(err, false);
        (void)ignored;
        return RK_EXIT_NO_PROCESS;
    }
    if (end.exec_errno != 0)
        return command_failed(command->items[0], end.exec_errno);
    if (on)
        print_summary(settings, run);
    return rk_child_exit_status(&end);
}

int rk_verb_run(int argc, char **argv) {
    run_options given = {0};
    const rk_opt options[] = {
        RK_OPT_DIR(&given.dir),
        RK_OPT_VALUE("mode", 0, &given.mode, "MODE", "readwrite, readonly, refresh or off"),
        RK_OPT_VALUE("job", 0, &given.job, "JOB",
                     "what counts as the same job; else derived from the command"),
        RK_OPT_VALUE("log", 0, &given.log, "LEVEL",
                     "error (not even the summary), warn, info or debug"),
    };
    const rk_opt_usage usage = {
        .verb = "run",
        .operands = "[--] COMMAND [ARGUMENT…]",
        .summary = "Runs a command with rekindle in it, so that what it compiles is kept, and what "
                   "was kept is not compiled.",
        .details = details,
        .options = options,
        .option_count = RK_ARRAY_LEN(options),
        .min_operands = 1,
        .max_operands = SIZE_MAX,
        .options_first = true,
    };
    rk_opt_operands command;
    int status;
    if (!rk_opt_begin(&usage, argc, argv, &command, &status))
        return status;
    rk_place_set_variable("REKINDLE_DIR", given.dir);
    rk_place_set_variable("REKINDLE_MODE", given.mode);
    rk_place_set_variable("REKINDLE_JOB", given.job);
    rk_place_set_variable("REKINDLE_LOG", given.log);
    RK_AUTO_SETTINGS settings = NULL;
    rk_err *err = rk_place_settings(&settings);
    if (err)
        return rk_cli_fail(err, false);
    warn_of_misspelt();
    return run_command(settings, &command);
}
