#include "cli/run_torch.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sys.h"
#include "cli/command_python.h"
#include "cli/fail.h"
#include "cli/place.h"
#include "journal/command.h"
#include "torch/environment.h"
#include "torch/files.h"
#include "torch/session.h"

struct rk_run_torch_work {
    const rk_settings *settings; // borrowed
    const char *run;             // borrowed
    rk_store *store;             // owned; NULL: there is none yet
    rk_components components;    // owned
    rk_buf components_json;      // owned
    char *job;                   // owned
    rk_torch_session session;
    uint64_t installed_ns; // when torch was installed
    bool is_warned;
};

static void work_free(rk_run_torch_work *w) {
    rk_torch_session_cleanup(&w->session);
    rk_components_cleanup(&w->components);
    rk_buf_cleanup(&w->components_json);
    rk_store_free(w->store);
    rk_free(w->job);
    rk_free(w);
}

// Warns once for each job. Consumes `err`; NULL is fine.
static void warn(rk_run_torch_work *w, rk_err *err, const char *consequence) {
    if (err && !w->is_warned)
        rk_log_warn("torch.compile: %s; %s", rk_err_message(err), consequence);
    w->is_warned |= err != NULL;
    rk_err_free(err);
}

static const char *get(const char *variable) {
    const char *value = rk_env_get(rk_place_environment(), variable);
    return value && value[0] ? value : NULL;
}

// Describes what the caches depend on.
static rk_err *read_environment(rk_run_torch_work *w, const rk_torch_install *install) {
    const rk_torch_variables variables = {.cxx = get("CXX"), .path = get("PATH")};
    RK_TRY(rk_torch_environment_read(install, &variables, &w->components));
    rk_json json = rk_json_on(&w->components_json);
    rk_components_write(&w->components, &json);
    RK_TRY(rk_buf_status(&w->components_json));
    rk_components_digest(&w->components, &w->session.place.environment);
    return NULL;
}

static rk_err *load_keys(rk_run_torch_work *w) {
    const rk_settings_values *values = rk_settings_get(w->settings);
    return rk_store_load_keys(w->store, values->signing_key, values->trusted_keys);
}

// Opens the store if it exists; for reading only if it cannot be written.
static rk_err *open_store(rk_run_torch_work *w) {
    bool readonly = rk_settings_get(w->settings)->mode == RK_MODE_READONLY;
    rk_err *err = rk_place_open_store(w->settings, readonly, &w->store);
    if (err && !readonly) {
        rk_err_drop(err, "what is in it may still be readable");
        err = rk_place_open_store(w->settings, true, &w->store);
    }
    return err;
}

// The user's own directory: torchinductor_USER in the folder for temporary files.
static void add_own_directory(const char *base, rk_buf *out) {
    const struct passwd *user = getpwuid(geteuid());
    const char *name = get("LOGNAME");
    name = name ? name : get("USER");
    name = name ? name : user ? user->pw_name : "";
    rk_buf_add_format(out, "%s/torchinductor_", base);
    for (; *name; name++)
        rk_buf_add_byte(out, strchr("\\/:*?\"<>|", *name) ? '_' : (uint8_t)*name);
}

static rk_err *begin(rk_run_torch_work *w) {
    const char *base = get("TMPDIR");
    RK_AUTO(rk_buf) seed = RK_BUF_INIT(0);
    rk_err *trouble = NULL;
    base = base && base[0] == '/' ? base : "/tmp";
    add_own_directory(base, &seed);
    const rk_torch_options options = {
        .base = base,
        .seed = rk_need_text(&seed),
        .headers_since_ns = w->installed_ns,
        .restores = rk_settings_get(w->settings)->mode != RK_MODE_REFRESH,
    };
    w->session.place.store = w->store;
    w->session.place.job = w->job;
    w->session.place.name_space = rk_settings_get(w->settings)->name_space;
    w->session.place.run = w->run;
    w->session.place.components_json = rk_buf_span(&w->components_json);
    RK_TRY(rk_torch_session_begin(&w->session, &options, &trouble));
    warn(w, trouble, "the job compiles what could not be restored");
    if (w->session.counts.damaged)
        warn(w,
             rk_error(RK_DATA_LOSS, "%llu packs in the store are damaged",
                      (unsigned long long)w->session.counts.damaged),
             "the job compiles what was in them");
    return NULL;
}

static void set_variables(const rk_run_torch_work *w) {
    RK_AUTO(rk_buf) triton = RK_BUF_INIT(0);
    rk_buf_add_format(&triton, "%s/triton", w->session.directory.path);
    rk_place_set_variable("TORCHINDUCTOR_CACHE_DIR", w->session.directory.path);
    if (!get("TRITON_CACHE_DIR"))
        rk_place_set_variable("TRITON_CACHE_DIR", rk_need_text(&triton));
    if (!get("TORCH_COMPILE_JOB_ID"))
        rk_place_set_variable("TORCH_COMPILE_JOB_ID", w->job);
}

static uint64_t installed_ns(const rk_torch_install *install) {
    RK_AUTO(rk_buf) path = RK_BUF_INIT(0);
    struct stat info;
    rk_buf_add_format(&path, "%s/torch/version.py", install->folder);
    return stat(rk_need_text(&path), &info) == 0 ? rk_stat_modified_ns(&info) : 0;
}

static rk_err *prepare(rk_run_torch_work *w, const rk_torch_install *install) {
    w->installed_ns = installed_ns(install);
    RK_TRY(read_environment(w, install));
    warn(w, open_store(w), "its caches are neither restored nor kept");
    if (w->store)
        warn(w, load_keys(w), "what this job stores may not be signed");
    RK_TRY(begin(w));
    set_variables(w);
    return NULL;
}

rk_run_torch_work *rk_run_torch_begin(const rk_settings *settings, const rk_opt_operands *command,
                                      const char *run) {
    RK_AUTO(rk_torch_install) install = {0};
    const char *job = get("REKINDLE_JOB");
    if (!rk_settings_get(settings)->torch_compile || get("TORCHINDUCTOR_CACHE_DIR") || !job ||
        !rk_command_torch_find(command, &install))
        return NULL;
    rk_run_torch_work *w = rk_need(rk_calloc(1, sizeof *w));
    w->settings = settings;
    w->run = run;
    w->job = rk_need(rk_strdup(job));
    rk_err *err = prepare(w, &install);
    if (!err)
        return w;
    warn(w, err, "its caches are neither restored nor kept");
    work_free(w);
    return NULL;
}

// True if there is something to store or to record.
static bool has_files(const rk_run_torch_work *w) {
    RK_AUTO(rk_torch_files) files = {0};
    rk_err *err = rk_torch_files_list(w->session.directory.fd, &files);
    bool any = err || files.count > 0;
    rk_err_drop(err, "storing reports it");
    return any;
}

// Opens the store for writing, and makes it if it does not exist.
static rk_err *open_to_keep(rk_run_torch_work *w) {
    const rk_settings_values *values = rk_settings_get(w->settings);
    if (!w->store) {
        RK_TRY(rk_store_open(values->dir, false, &w->store));
        RK_TRY(load_keys(w));
    }
    w->session.place.store = w->store;
    return rk_store_set_limit(w->store, values->max_size_bytes);
}

static void keep(rk_run_torch_work *w, const rk_child_end *end) {
    bool was_killed = WIFSIGNALED(end->status);
    bool keeps = rk_settings_get(w->settings)->mode != RK_MODE_READONLY && has_files(w);
    rk_err *err = keeps ? open_to_keep(w) : NULL;
    bool can_keep = keeps && !err;
    rk_err *end_err = rk_torch_session_end(&w->session, can_keep, was_killed);
    if (w->store)
        rk_store_flush_usage(w->store);
    warn(w, err, "what this job compiled is not kept");
    warn(w, end_err, "not everything that this job compiled is kept");
}

static void record(rk_run_torch_work *w) {
    const rk_torch_counts *counts = &w->session.counts;
    const rk_settings_values *values = rk_settings_get(w->settings);
    const rk_run_torch torch = {
        .restored = counts->restored,
        .restored_bytes = counts->restored_bytes,
        .seeded = counts->seeded,
        .kept = counts->kept,
        .kept_bytes = counts->kept_bytes,
        .not_kept = counts->not_kept,
        .damaged = counts->damaged,
        .restore_ns = counts->restore_ns,
        .keep_ns = counts->keep_ns,
    };
    const rk_journal_start start = {
        .store_directory = values->dir,
        .run = w->run,
        .job = w->job,
        .mode = rk_mode_name(values->mode),
        .version = REKINDLE_VERSION,
        .way_in = "run",
    };
    if (torch.restored + torch.kept + torch.not_kept + torch.damaged == 0)
        return;
    rk_err_drop(rk_run_add_torch(&start, &torch), "the caches are kept without a record of it");
}

void rk_run_torch_end(rk_run_torch_work *work, const rk_child_end *end) {
    if (!work)
        return;
    if (end) {
        keep(work, end);
        record(work);
    } else {
        rk_err_drop(rk_torch_session_end(&work->session, false, false), "nothing ran");
    }
    work_free(work);
}
