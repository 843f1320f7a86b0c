#include "cli/run_torch.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "cli/command_python.h"
#include "cli/fail.h"
#include "cli/place.h"
#include "journal/command.h"
#include "torch/environment.h"
#include "torch/session.h"

struct rk_run_torch_work {
    const rk_settings *settings; // borrowed
    const char *run;             // borrowed
    rk_store *store;             // owned; NULL: it cannot be used
    bool keeps;                  // the store can be written
    rk_components components;    // owned
    rk_buf components_json;      // owned
    char *job;                   // owned
    rk_torch_session session;    // without a directory: nothing is done
    uint64_t installed_ns;       // when torch was installed
    rk_buf why;                  // owned; why nothing is done
    rk_buf warning;              // owned; the first problem
};

static void work_free(rk_run_torch_work *w) {
    rk_torch_session_cleanup(&w->session);
    rk_components_cleanup(&w->components);
    rk_buf_cleanup(&w->components_json);
    rk_buf_cleanup(&w->why);
    rk_buf_cleanup(&w->warning);
    rk_store_free(w->store);
    rk_free(w->job);
    rk_free(w);
}

// Warns once for each job. Consumes `err`; NULL is fine.
static void warn(rk_run_torch_work *w, rk_err *err, const char *consequence) {
    if (err && w->warning.len == 0) {
        rk_buf_add_format(&w->warning, "torch.compile: %s; %s", rk_err_message(err), consequence);
        rk_log_warn("%s", rk_need_text(&w->warning));
    }
    rk_err_free(err);
}

static const char *get(const char *variable) {
    const char *value = rk_env_get(rk_place_environment(), variable);
    return value && value[0] ? value : NULL;
}

// Describes what the caches depend on.
static rk_err *read_environment(rk_run_torch_work *w, const rk_torch_install *install) {
    const rk_torch_variables variables = {.cxx = get("CXX"),
                                          .path = get("PATH"),
                                          .omp = get("OMP_NUM_THREADS"),
                                          .mkl = get("MKL_NUM_THREADS")};
    RK_TRY(rk_torch_environment_read(install, &variables, &w->components));
    rk_json json = rk_json_on(&w->components_json);
    rk_components_write(&w->components, &json);
    RK_TRY(rk_buf_status(&w->components_json));
    rk_components_digest(&w->components, &w->session.packs.place.environment);
    return NULL;
}

static rk_err *load_keys(rk_run_torch_work *w) {
    const rk_settings_values *values = rk_settings_get(w->settings);
    return rk_store_load_keys(w->store, values->signing_key, values->trusted_keys);
}

// Opens the store, and makes it; for reading only if it cannot be written, or if the mode says so.
static rk_err *open_store(rk_run_torch_work *w) {
    const rk_settings_values *values = rk_settings_get(w->settings);
    rk_err *err = NULL;
    if (values->mode != RK_MODE_READONLY) {
        err = rk_store_open(values->dir, false, &w->store);
        if (!err)
            err = rk_store_set_limit(w->store, values->max_size_bytes);
        w->keeps = !err;
    }
    if (!w->store) {
        rk_err_drop(rk_place_open_store(w->settings, true, &w->store), "then nothing is restored");
    }
    return err;
}

// Torch's own directory: torchinductor_USER in the folder for temporary files, with the name as
// Python's getpass finds it.
static void add_own_directory(rk_buf *out) {
    static const char *const variables[] = {"LOGNAME", "USER", "LNAME", "USERNAME"};
    const char *temporary = get("TMPDIR"), *name = NULL;
    for (size_t i = 0; i < RK_ARRAY_LEN(variables) && !name; i++)
        name = get(variables[i]);
    if (!name) { // last: it may ask a server
        const struct passwd *user = getpwuid(geteuid());
        name = user ? user->pw_name : "";
    }
    rk_buf_add_format(out, "%s/torchinductor_",
                      temporary && temporary[0] == '/' ? temporary : "/tmp");
    for (; *name; name++)
        rk_buf_add_byte(out, strchr("\\/:*?\"<>|", *name) ? '_' : (uint8_t)*name);
}

static void set_place(rk_run_torch_work *w) {
    w->session.packs.place.store = w->store;
    w->session.packs.place.job = w->job;
    w->session.packs.place.name_space = rk_settings_get(w->settings)->name_space;
    w->session.packs.place.run = w->run;
    w->session.packs.place.components_json = rk_buf_span(&w->components_json);
}

static rk_err *begin(rk_run_torch_work *w) {
    RK_AUTO(rk_buf) own = RK_BUF_INIT(0);
    rk_autofree char *cache = NULL, *base = NULL;
    rk_err *trouble = NULL;
    RK_TRY(rk_settings_cache(&cache));
    base = rk_need(rk_path_join(cache, RK_TORCH_BASE));
    add_own_directory(&own);
    const rk_torch_options options = {
        .base = base,
        .store = rk_settings_get(w->settings)->dir,
        .own = rk_need_text(&own),
        .headers_since_ns = w->installed_ns,
        .restores = rk_settings_get(w->settings)->mode != RK_MODE_REFRESH,
        .keeps = w->keeps,
    };
    set_place(w);
    RK_TRY(rk_torch_session_begin(&w->session, &options, &trouble));
    warn(w, trouble, "the job compiles what could not be restored");
    if (w->session.counts.damaged)
        warn(w,
             rk_error(RK_DATA_LOSS, "%llu packs in the store are damaged",
                      (unsigned long long)w->session.counts.damaged),
             "the job compiles what was in them");
    if (!w->session.directory.path)
        rk_buf_add_text(&w->why, "the store has none of this job, and nothing new can be stored");
    return NULL;
}

static void set_variables(const rk_run_torch_work *w) {
    RK_AUTO(rk_buf) triton = RK_BUF_INIT(0);
    if (!w->session.directory.path)
        return;
    rk_buf_add_format(&triton, "%s/triton", w->session.directory.path);
    rk_place_set_variable("TORCHINDUCTOR_CACHE_DIR", w->session.directory.path);
    if (!get("TRITON_CACHE_DIR"))
        rk_place_set_variable("TRITON_CACHE_DIR", rk_need_text(&triton));
    if (rk_settings_get(w->settings)->torch_sizes && !get("TORCH_COMPILE_JOB_ID"))
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
    warn(w, open_store(w), "what this job compiles is not kept");
    if (w->store)
        warn(w, load_keys(w), "what this job stores may not be signed");
    RK_TRY(begin(w));
    set_variables(w);
    return NULL;
}

// Finds the torch of the command. False, with the reason, if it has none or if that is not certain.
static bool find_torch(rk_run_torch_work *w, const rk_opt_operands *command,
                       rk_torch_install *out_install) {
    const char *why = NULL;
    rk_autofree char *python = rk_command_python_find(command, &why), *looked_at = NULL;
    if (!python) {
        rk_buf_add_format(&w->why, "%s %s", command->items[0], why);
        return false;
    }
    if (rk_command_torch_find(python, out_install, &looked_at))
        return true;
    rk_buf_add_format(&w->why, "rekindle finds no torch in the folders of %s", python);
    return false;
}

rk_run_torch_work *rk_run_torch_begin(const rk_settings *settings, const rk_opt_operands *command,
                                      const char *run) {
    RK_AUTO(rk_torch_install) install = {0};
    const char *job = get("REKINDLE_JOB");
    if (!rk_settings_get(settings)->torch_compile || !job)
        return NULL;
    rk_run_torch_work *w = rk_need(rk_calloc(1, sizeof *w));
    w->settings = settings;
    w->run = run;
    w->job = rk_need(rk_strdup(job));
    if (get("TORCHINDUCTOR_CACHE_DIR"))
        rk_buf_add_text(&w->why, "TORCHINDUCTOR_CACHE_DIR is set");
    else if (find_torch(w, command, &install))
        warn(w, prepare(w, &install), "its caches are neither restored nor kept");
    return w;
}

// A shell, and torchrun, end with 128 + N if signal N killed their command.
static rk_torch_end end_of(const rk_child_end *end) {
    enum { KILLED = 128 };
    int status = rk_child_exit_status(end);
    return status == 0 ? RK_TORCH_SUCCEEDED : status < KILLED ? RK_TORCH_FAILED : RK_TORCH_KILLED;
}

static void keep(rk_run_torch_work *w, const rk_child_end *end) {
    w->session.packs.must_stop = rk_child_is_asked_to_end;
    rk_err *err = rk_torch_session_end(&w->session, w->keeps, end_of(end));
    if (w->store)
        rk_store_flush_usage(w->store);
    warn(w, err, "not everything that this job compiled is kept");
    if (w->session.counts.not_kept)
        warn(w,
             rk_error(RK_OUT_OF_RANGE, "%llu files are too large to be stored",
                      (unsigned long long)w->session.counts.not_kept),
             "other machines make them again");
}

static void record(rk_run_torch_work *w) {
    const rk_torch_counts *counts = &w->session.counts;
    const rk_settings_values *values = rk_settings_get(w->settings);
    const rk_run_torch torch = {
        .restored = counts->restored,
        .restored_bytes = counts->restored_bytes,
        .present = counts->present,
        .not_restored = counts->not_restored,
        .made = counts->made,
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
    const rk_run_torch_note note = {
        .torch = w->session.directory.path ? &torch : NULL,
        .why = w->why.len ? rk_need_text(&w->why) : NULL,
        .warning = w->warning.len ? rk_need_text(&w->warning) : NULL,
    };
    rk_err_drop(rk_run_add_torch(&start, &note), "the caches are kept without a record of it");
}

// The mode readonly makes no store.
static bool may_record(const rk_run_torch_work *w) {
    const rk_settings_values *values = rk_settings_get(w->settings);
    return values->mode != RK_MODE_READONLY || rk_store_look(values->dir).has_folder;
}

void rk_run_torch_end(rk_run_torch_work *work, const rk_child_end *end) {
    if (!work)
        return;
    if (end && work->session.directory.path)
        keep(work, end);
    if (end && may_record(work))
        record(work);
    work_free(work);
}
