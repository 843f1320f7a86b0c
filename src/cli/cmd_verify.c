// Implements `rekindle verify`: runs a command cold and then warm, and checks that no warm run
// compiled anything.
#include "cli/verify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "cli/builtin_cpu.h"
#include "cli/child.h"
#include "cli/fail.h"
#include "cli/launch.h"
#include "cli/place.h"
#include "cli/term.h"
#include "cli/unseen.h"
#include "cli/verbs.h"
#include "journal/command.h"

enum { RUNS_LEAST = 2, RUNS_MOST = 100, RUNS_DEFAULT = 3 };

typedef struct request {
    bool json, cpu_plugin;
    const char *runs_text, *keep, *job;
    size_t count;
    char *store; // directory of the runs' store; owned
    rk_verify_run runs[RUNS_MOST];
} request;

static const char details[] =
    "Runs the command several times on a temporary store, which is empty at first. The second run "
    "loads each executable when it is requested. Later runs prefetch the executables of the run "
    "before, while the command still imports and traces (zero-wait). The runs use the present "
    "settings, but no remote tier (REKINDLE_REMOTE): they load only what these runs stored.\n\nThe "
    "exit status is 0 only if every run succeeded and only the first compiled anything. Otherwise "
    "it is 1, and the reason and the programs that were compiled again are printed. The command's "
    "output goes where it goes without rekindle; with --json, to standard error.\n\n  rekindle "
    "verify "
    "-- "
    "python train.py --steps 3\n  rekindle verify --runs 5 --json -- python serve.py --self-test\n";

// The store of the runs.

static rk_err *remove_tree(const char *path);

static rk_err *remove_one(void *context, const char *name) {
    rk_autofree char *path = rk_path_join(context, name);
    struct stat info;
    if (!path)
        return rk_err_no_memory();
    if (rk_sys()->lstat_fn(path, &info) != 0)
        return rk_error_errno(errno, "cannot examine %s", path);
    return S_ISDIR(info.st_mode) ? remove_tree(path) : rk_fs_remove(path);
}

static rk_err *remove_tree(const char *path) {
    enum { NAMES_MOST = 1 << 20 };
    RK_TRY(rk_fs_list(path, NAMES_MOST, remove_one, (void *)(uintptr_t)path));
    if (rk_sys()->rmdir_fn(path) != 0)
        return rk_error_errno(errno, "cannot remove %s", path);
    return NULL;
}

static rk_err *find_any(void *context, const char *name) {
    bool *found = context;
    (void)name;
    *found = true;
    return NULL;
}

// Requires an empty or missing directory: a cold run must start with an empty store.
static rk_err *use_directory(const char *directory, char **out_path) {
    bool found = false;
    rk_err *err = rk_fs_list(directory, 1 << 20, find_any, &found);
    if (err && rk_err_code(err) != RK_NOT_FOUND)
        return err;
    rk_err_drop(err, "it is made by the first run");
    if (found)
        return rk_error(RK_INVALID_ARGUMENT,
                        "%s is not empty: the first run must begin with an empty store", directory);
    *out_path = rk_need(rk_strdup(directory));
    return NULL;
}

static rk_err *make_store(const request *r, char **out_path) {
    if (r->keep)
        return use_directory(r->keep, out_path);
    const char *parent = rk_env_get(rk_place_environment(), "TMPDIR");
    RK_AUTO(rk_buf) path = RK_BUF_INIT(0);
    rk_buf_add_format(&path, "%s/rekindle-verify-XXXXXX", parent && *parent ? parent : "/tmp");
    char *made = rk_need(rk_strdup(rk_need_text(&path)));
    if (!mkdtemp(made)) {
        rk_err *err = rk_error_errno(errno, "cannot make %s", made);
        rk_free(made);
        return err;
    }
    *out_path = made;
    return NULL;
}

// Copies the user's config file, so that it applies to the runs as well.
static rk_err *copy_config(const rk_settings *settings, const char *store) {
    enum { CONFIG_MOST_BYTES = 1 << 20 };
    rk_autofree char *from = rk_need(rk_path_join(rk_settings_get(settings)->dir, "config"));
    rk_autofree char *to = rk_need(rk_path_join(store, "config"));
    RK_AUTO(rk_buf) text = RK_BUF_INIT(CONFIG_MOST_BYTES + 4096);
    rk_err *err = rk_fs_read_trusted(from, CONFIG_MOST_BYTES, 0022, &text);
    if (rk_err_code(err) == RK_NOT_FOUND) {
        rk_err_drop(err, "there is none");
        return NULL;
    }
    RK_TRY(err);
    RK_TRY(rk_fs_make_dirs(store, 0700));
    return rk_fs_publish(to, text.data, text.len, 0600);
}

// Running.

static rk_err *read_journal(const char *store, const rk_child_end *end, rk_verify_run *run) {
    const rk_run_command command = rk_child_describe(end);
    rk_err_drop(rk_run_add_command(store, run->id, &command),
                "how the run ended counts as not known");
    rk_err *err = rk_run_load(store, run->id, &run->model);
    if (rk_err_code(err) == RK_NOT_FOUND) {
        rk_err_drop(err, "no process of the command loaded a plugin");
        return NULL;
    }
    RK_TRY(err);
    run->known = true;
    return rk_run_totals_add(&run->totals, &run->model);
}

// With --json stdout is for the JSON result, so the command's output goes to stderr.
static rk_err *run_child(const request *r, char **argv, rk_child_end *out_end) {
    int saved = -1;
    if (r->json) {
        (void)fflush(stdout);
        saved = dup(STDOUT_FILENO);
        if (saved < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
            return rk_error_errno(errno, "cannot redirect the command's output to standard error");
    }
    rk_err *err = rk_child_run(argv, rk_place_environment()->items, out_end);
    if (saved >= 0) {
        (void)dup2(saved, STDOUT_FILENO);
        (void)close(saved);
    }
    return err;
}

// Adds a number to the name: without it, several runs that one process starts within a second would
// share a name.
static rk_err *name_run(const rk_settings *settings, const rk_opt_operands *command, size_t number,
                        char **out_id) {
    rk_autofree char *id = NULL;
    RK_AUTO(rk_buf) numbered = RK_BUF_INIT(0);
    RK_TRY(rk_launch_check_signing_key(settings));
    RK_TRY(rk_launch_check_trusted_keys(settings));
    RK_TRY(rk_launch_prepare(settings, command, &id));
    rk_buf_add_format(&numbered, "%s.%zu", id, number + 1);
    *out_id = rk_need(rk_strdup(rk_need_text(&numbered)));
    rk_place_set_variable("REKINDLE_RUN", *out_id);
    return NULL;
}

static rk_err *run_once(request *r, const rk_opt_operands *command, size_t number) {
    rk_verify_run *run = &r->runs[number];
    run->kind = number == 0 ? RK_VERIFY_COLD : number == 1 ? RK_VERIFY_WARM : RK_VERIFY_ZERO;
    rk_place_set_variable("REKINDLE_PRELOAD", run->kind == RK_VERIFY_WARM ? "0" : "1");
    RK_AUTO_SETTINGS settings = NULL;
    RK_TRY(rk_place_settings(&settings));
    RK_TRY(name_run(settings, command, number, &run->id));
    (void)fprintf(stderr, "%srekindle:%s run %zu of %zu, %s\n", rk_style(RK_STYLE_DIM, stderr),
                  rk_style(RK_STYLE_NONE, stderr), number + 1, r->count,
                  rk_verify_kind_name(run->kind));
    rk_child_end end = {0};
    uint64_t start_ns = rk_monotonic_ns();
    RK_TRY(run_child(r, command->items, &end));
    run->seconds_ns = rk_monotonic_ns() - start_ns;
    if (end.exec_errno)
        return rk_error_errno(end.exec_errno, "cannot run '%s'", command->items[0]);
    run->status = rk_child_exit_status(&end);
    return read_journal(r->store, &end, run);
}

static rk_err *run_all(request *r, const rk_opt_operands *command) {
    RK_AUTO_SETTINGS settings = NULL;
    RK_TRY(rk_place_settings(&settings));
    if (r->cpu_plugin)
        RK_TRY(rk_builtin_cpu_use_plugin(command->items[0]));
    RK_TRY(make_store(r, &r->store));
    RK_TRY(copy_config(settings, r->store));
    rk_place_set_variable("REKINDLE_DIR", r->store);
    rk_place_set_variable("REKINDLE_MODE", "readwrite");
    rk_place_set_variable("REKINDLE_REMOTE", "");
    for (size_t i = 0; i < r->count; i++) {
        RK_TRY(run_once(r, command, i));
        if (r->runs[i].status != 0 || rk_verify_requests(&r->runs[i]) == 0)
            r->count = i + 1; // later runs would prove nothing
    }
    return NULL;
}

static rk_err *read_count(request *r) {
    r->count = RUNS_DEFAULT;
    if (!r->runs_text)
        return NULL;
    char *end = NULL;
    unsigned long value = strtoul(r->runs_text, &end, 10);
    if (*end || r->runs_text[0] < '0' || r->runs_text[0] > '9' || value < RUNS_LEAST ||
        value > RUNS_MOST)
        return rk_error(RK_INVALID_ARGUMENT, "--runs takes a whole number from %d to %d, not '%s'",
                        (int)RUNS_LEAST, (int)RUNS_MOST, r->runs_text);
    r->count = value;
    return NULL;
}

// True if the cold run succeeded and no process of it saw a plugin.
static bool saw_nothing(const rk_verify_run *cold) {
    return cold->status == 0 && cold->model.process_count == 0;
}

// Appends why nothing was seen, if the file of the command reveals it.
static void add_unseen(const char *command, rk_buf *reason) {
    RK_AUTO(rk_buf) why = RK_BUF_INIT(0);
    if (rk_unseen_add_reason(command, &why))
        rk_buf_add_format(reason, "; %s", rk_need_text(&why));
}

static void print_remedy(const char *command) {
    RK_AUTO(rk_buf) remedy = RK_BUF_INIT(0);
    if (rk_builtin_cpu_add_remedy(command, &remedy))
        (void)printf("%s", rk_need_text(&remedy));
}

// Prints the verdict. Returns the exit status.
static int show_verdict(const request *r, const char *command) {
    bool nothing = saw_nothing(&r->runs[0]);
    RK_AUTO(rk_buf) reason = RK_BUF_INIT(0);
    rk_verify_judge(r->runs, r->count, &reason);
    if (nothing)
        add_unseen(command, &reason);
    if (r->json) {
        rk_verify_print_json(r->runs, r->count, rk_buf_text(&reason), r->keep ? r->store : "");
    } else {
        rk_verify_print_text(r->runs, r->count, rk_buf_text(&reason));
        if (nothing)
            print_remedy(command);
    }
    return reason.len ? RK_EXIT_FAILED : RK_EXIT_OK;
}

static rk_err *verify(request *r, const rk_opt_operands *command, int *out_status) {
    rk_err *err = run_all(r, command);
    if (!err)
        *out_status = show_verdict(r, command->items[0]);
    if (r->store && !r->keep)
        rk_err_drop(remove_tree(r->store), "it is in a place for temporary files");
    for (size_t i = 0; i < RUNS_MOST; i++)
        rk_verify_run_cleanup(&r->runs[i]);
    rk_free(r->store);
    return err;
}

static request given; // large

static rk_err *check(const rk_verb_call *call) {
    (void)call;
    return read_count(&given);
}

static rk_err *run(rk_verb_call *call) {
    given.json = call->json;
    return verify(&given, call->operands, &call->status);
}

static const rk_opt options[] = {
    RK_OPT_VALUE(
        "runs", 'n', &given.runs_text, "N",
        "starts in all, the cold one included; 3 by default: cold, warm, and with prefetching"),
    RK_OPT_VALUE("keep", 0, &given.keep, "DIR",
                 "use DIR, which must be empty or missing, and keep it"),
    RK_OPT_SETTING("job", 0, &given.job, "REKINDLE_JOB", "JOB",
                   "what counts as the same job; else derived from the command"),
    RK_BUILTIN_CPU_OPTION(&given.cpu_plugin),
    RK_VERB_JSON,
};

static const rk_opt_usage usage = {
    .verb = "verify",
    .operands = "[--] COMMAND [ARGUMENT…]",
    .summary = "Runs a command cold and then warm, and fails if a warm run compiled anything.",
    .details = details,
    .options = options,
    .option_count = RK_ARRAY_LEN(options),
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .options_first = true,
};

const rk_verb rk_verb_verify = {
    .brief = "run a job cold and warm, and fail if a restart compiled anything",
    .usage = &usage,
    .settings = RK_VERB_NO_SETTINGS,
    .check = check,
    .run = run,
};
