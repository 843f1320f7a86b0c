#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/builtin_cpu.h"
#include "cli/child.h"
#include "cli/fail.h"
#include "cli/launch.h"
#include "cli/place.h"
#include "cli/run_keep.h"
#include "cli/run_torch.h"
#include "cli/summary.h"
#include "cli/term.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "journal/command.h"
#include "store/loads.h"

static const char details[] =
    "Runs the job with rekindle's library preloaded. The library watches every PJRT plugin that "
    "the job loads: programs that were compiled before are loaded, others are compiled and "
    "stored. At the end one line on stderr says what happened; standard input and output are "
    "left alone.\n\nThe exit status is the command's own; 128 + N if signal N killed it; 127 if "
    "there is no such command, 126 if it cannot be executed, 125 if no process could be created, "
    "2 for wrong options or settings, or if --cpu-plugin finds no plugin.\n\nA wrong setting is "
    "refused. Where rekindle cannot work "
    "for another reason (the home or the file config cannot be read, the installation is "
    "incomplete), one line on stderr says so and the command runs without it. With the mode off "
    "the command always runs.\n\nSignals that are sent to rekindle are passed on to the command, "
    "except those that the terminal sends to both.\n\n  rekindle run -- python train.py --steps "
    "100\n  rekindle run --mode readonly -- python serve.py\n  rekindle run --cpu-plugin -- python "
    "train.py\n";

static int command_failed(const char *command, int error_number) {
    bool missing = error_number == ENOENT || error_number == ENOTDIR;
    // "python train.py" as one word is a common mistake.
    bool quoted = missing && strchr(command, ' ') && !strchr(command, '/');
    rk_err *err = rk_error_errno(error_number, "cannot run '%s'%s", command,
                                 quoted ? " (give the command and its arguments as separate "
                                          "words, without quotes around all of them)"
                                        : "");
    int ignored = rk_fail_print(err);
    (void)ignored;
    return missing ? RK_EXIT_NOT_FOUND : RK_EXIT_NOT_EXECUTABLE;
}

static rk_err *write_summary(const rk_settings *settings, const char *run, const char *command_name,
                             const rk_child_end *end, rk_buf *out, rk_buf *out_remedy) {
    const char *directory = rk_settings_get(settings)->dir;
    const rk_run_command command = rk_child_describe(end);
    RK_AUTO(rk_run_model) model = {0};
    RK_AUTO(rk_run_summary) summary = {0};
    rk_err_drop(rk_run_add_command(directory, run, &command),
                "how the run ended counts as not known");
    rk_err *err = rk_run_load(directory, run, &model);
    if (rk_err_code(err) == RK_NOT_FOUND) {
        rk_err_drop(err, "no process of the job had anything to record");
        rk_mode mode = rk_settings_get(settings)->mode;
        rk_summary_write_nothing(directory, mode != RK_MODE_READONLY, command_name,
                                 rk_child_exit_status(end), out, out_remedy);
        return NULL;
    }
    if (err)
        return err;
    if (rk_summary_write_unknown(directory, &model, out))
        return NULL;
    RK_TRY(rk_run_summary_of(&model, &summary));
    rk_summary_write(&summary.run, &summary.totals, out);
    rk_summary_add_gap(directory, &summary.run, out);
    RK_AUTO(rk_run_keeper) keeper = rk_run_keeper_start(settings);
    rk_run_keep(&keeper, &summary);
    return NULL;
}

static void print_summary(const rk_settings *settings, const char *run, const char *command_name,
                          const rk_child_end *end) {
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0), remedy = RK_BUF_INIT(0);
    rk_err *err = write_summary(settings, run, command_name, end, &line, &remedy);
    if (rk_log_get_level() == RK_LOG_ERROR) {
        rk_err_drop(err, "only errors of the command's start are printed");
        return;
    }
    if (err) {
        int ignored = rk_fail_print(rk_err_wrap(err, "cannot summarize this run"));
        (void)ignored;
        return;
    }
    static const char prefix[] = "rekindle:";
    (void)fprintf(stderr, "%s%s%s%s ", rk_need_text(&remedy), rk_style(RK_STYLE_DIM, stderr),
                  prefix, rk_style(RK_STYLE_NONE, stderr));
    // sizeof counts the NUL: as much as the space after the prefix.
    rk_term_wrap(rk_need_text(&line), sizeof prefix, 2, rk_term_columns(stderr), stderr);
}

// Third-party variables may also begin with REKINDLE_. A variable that resembles a setting is
// probably a mistake.
static void warn_of_misspelt(void) {
    const rk_env *environment = rk_place_environment();
    for (size_t i = 0; i < environment->count; i++) {
        const char *item = environment->items[i];
        size_t len = strcspn(item, "=");
        const char *meant = rk_settings_misspelt(rk_span_of(item, len));
        if (meant)
            rk_log_warn("%.*s is not a setting and has no effect; did you mean %s?", (int)len, item,
                        meant);
    }
}

// This version has no remote tiers. The value may hold passwords and is not shown.
static void warn_of_remote(const rk_settings *settings) {
    if (settings && rk_settings_describe(settings, RK_SETTING_REMOTE).value[0])
        rk_log_warn("REKINDLE_REMOTE has no effect in this version, which has no remote tiers; "
                    "this job uses the local store only");
}

// Prints a warning: the error, and its consequence. Consumes `err`.
static void warn(rk_err *err, const char *consequence) {
    RK_AUTO(rk_buf) message = RK_BUF_INIT(0);
    rk_text_add_printable(&message, rk_span_text(rk_err_message(err)));
    if (rk_log_get_level() >= RK_LOG_WARN)
        (void)fprintf(stderr, "%srekindle:%s %s; %s\n", rk_style(RK_STYLE_NOTICE, stderr),
                      rk_style(RK_STYLE_NONE, stderr), rk_need_text(&message), consequence);
    rk_err_free(err);
}

// Turns rekindle off for the job, so that its processes neither try again nor repeat the warning.
// Consumes `err`.
static void go_without(rk_err *err) {
    rk_place_set_variable("REKINDLE_MODE", "off");
    warn(err, "this job runs without rekindle");
}

// Clears the setting of an unreadable key file, so that the job's processes do not repeat the
// warning. Fails if a file holds no key: that is a wrong setting.
static rk_err *choose_keys(const rk_settings *settings) {
    rk_err *err = rk_launch_check_signing_key(settings);
    if (rk_settings_is_wrong(err))
        return err;
    if (err) {
        rk_place_set_variable("REKINDLE_SIGNING_KEY", "");
        warn(err, "what this job stores is not signed");
    }
    err = rk_launch_check_trusted_keys(settings);
    if (rk_settings_is_wrong(err))
        return err;
    if (err) {
        rk_place_set_variable("REKINDLE_TRUSTED_KEYS", "");
        warn(err, "this job trusts no signatures");
    }
    return NULL;
}

// Sets the environment for a job with rekindle. Fails only for a wrong setting. `*out_run` stays
// NULL if the job must run without rekindle.
static rk_err *prepare(const rk_settings *settings, const rk_opt_operands *command,
                       char **out_run) {
    rk_err *err = rk_launch_prepare(settings, command, out_run);
    if (!err)
        return choose_keys(settings);
    if (rk_settings_is_wrong(err))
        return err;
    go_without(err);
    return NULL;
}

static bool is_crash(int signal_number) {
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
    for (size_t i = 0; i < RK_ARRAY_LEN(crashes); i++)
        if (crashes[i] == signal_number)
            return true;
    return false;
}

// Judges the loads that the command had in progress when it ended, by the way it ended
// (store/loads.h). Covers the command's own process, not processes that it started.
static rk_err *judge_loads(const rk_settings *settings, const rk_child_end *end) {
    RK_AUTO_STORE store = NULL;
    if (rk_settings_get(settings)->mode == RK_MODE_READONLY || !rk_process_is_known(&end->process))
        return NULL;
    RK_TRY(rk_place_open_store(settings, false, &store));
    int signal_number = WIFSIGNALED(end->status) ? WTERMSIG(end->status) : 0;
    rk_load_death death = is_crash(signal_number) ? RK_DEATH_CRASH : RK_DEATH_HARMLESS;
    return store ? rk_loads_judge(store, &end->process, death, signal_number) : NULL;
}

// Runs the command. Returns false, with the status, if it could not be started.
static bool start(const rk_opt_operands *command, rk_child_end *out_end, int *out_status) {
    rk_err *err = rk_child_run(command->items, rk_place_environment()->items, out_end);
    if (err) {
        int ignored = rk_fail_print(err);
        (void)ignored;
        *out_status = RK_EXIT_NO_PROCESS;
        return false;
    }
    *out_status = out_end->exec_errno != 0 ? command_failed(command->items[0], out_end->exec_errno)
                                           : rk_child_exit_status(out_end);
    return out_end->exec_errno == 0;
}

// Fails only for a wrong setting, before the command starts.
static rk_err *run_command(const rk_settings *settings, const rk_opt_operands *command,
                           int *out_status) {
    rk_autofree char *run = NULL;
    rk_child_end end = {0};
    if (settings && rk_settings_get(settings)->mode != RK_MODE_OFF)
        RK_TRY(prepare(settings, command, &run));
    rk_run_torch_work *torch = run ? rk_run_torch_begin(settings, command, run) : NULL;
    bool started = start(command, &end, out_status);
    rk_run_torch_end(torch, started ? &end : NULL);
    if (run && started) {
        rk_err_drop(judge_loads(settings, &end), "the next start judges without knowing the end");
        print_summary(settings, run, command->items[0], &end);
    }
    return NULL;
}

// Fails only for a wrong setting. `*out_settings` is NULL if memory ran out.
static rk_err *load_settings(rk_settings **out_settings) {
    rk_err *trouble = NULL;
    rk_err *err = rk_settings_load_for_job(rk_store_check_folder, out_settings, &trouble);
    if (rk_settings_is_wrong(err))
        return err;
    if (*out_settings)
        rk_log_set_level(rk_settings_get(*out_settings)->log_level);
    if (rk_settings_is_wrong(trouble))
        warn(trouble, "it takes no effect, since the mode is off");
    else if (trouble || err)
        go_without(trouble ? trouble : err);
    return NULL;
}

// With the mode off the command runs as it would without rekindle.
static rk_err *use_cpu_plugin(const rk_settings *settings, const char *command) {
    if (settings && rk_settings_get(settings)->mode != RK_MODE_OFF)
        return rk_builtin_cpu_use_plugin(command);
    rk_log_warn("--cpu-plugin has no effect, since the mode is off");
    return NULL;
}

static const char *mode, *job, *log_level;
static bool cpu_plugin;

static rk_err *run(rk_verb_call *call) {
    RK_AUTO_SETTINGS settings = NULL;
    rk_child_outlive_streams();
    rk_child_outlive_ends();
    RK_TRY(load_settings(&settings));
    warn_of_misspelt();
    warn_of_remote(settings);
    if (cpu_plugin)
        RK_TRY(use_cpu_plugin(settings, call->operands->items[0]));
    return run_command(settings, call->operands, &call->status);
}

static const rk_opt options[] = {
    RK_VERB_DIR,
    RK_OPT_SETTING("mode", 0, &mode, "REKINDLE_MODE", "MODE",
                   "readwrite, readonly, refresh or off"),
    RK_OPT_SETTING("job", 0, &job, "REKINDLE_JOB", "JOB",
                   "the name of the job; default: derived from the command"),
    RK_OPT_SETTING("log", 0, &log_level, "REKINDLE_LOG", "LEVEL",
                   "error (not even the summary), warn, info or debug"),
    RK_BUILTIN_CPU_OPTION(&cpu_plugin),
};

static const rk_opt_usage usage = {
    .verb = "run",
    .operands = "[--] COMMAND [ARGUMENT…]",
    .summary = "Runs a command with rekindle in its processes: programs that it compiles are "
               "stored, and programs that are stored are loaded instead of compiled.",
    .details = details,
    .options = options,
    .option_count = RK_ARRAY_LEN(options),
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .options_first = true,
};

const rk_verb rk_verb_run = {
    .brief = "run a job with rekindle in it",
    .usage = &usage,
    .settings = RK_VERB_NO_SETTINGS,
    .run = run,
};
