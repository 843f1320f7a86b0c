#include "cli/launch.h"

#include <string.h>

#include "cli/fail.h"
#include "cli/place.h"
#include "cli/self.h"
#include "journal/run_id.h"

// gcc's AddressSanitizer ends a program if another library comes first, as a preloaded library
// does. The order matters only for libraries that replace malloc and the like, and rekindle's does
// not.
static void allow_our_place_before_asan(void) {
    const char *before = rk_env_get(rk_place_environment(), "ASAN_OPTIONS");
    if (before && strstr(before, "verify_asan_link_order"))
        return; // the user has set it
    RK_AUTO(rk_buf) value = RK_BUF_INIT(0);
    rk_buf_add_format(&value, "%s%sverify_asan_link_order=0", before ? before : "",
                      before && before[0] ? ":" : "");
    rk_place_set_variable("ASAN_OPTIONS", rk_need_text(&value));
}

// Sets the variables that the job needs: the names of run and job, the store, the key files, and
// LD_PRELOAD.
static rk_err *prepare_environment(const rk_settings *settings, const rk_opt_operands *command,
                                   const char *run, const char *library) {
    const rk_settings_values *values = rk_settings_get(settings);
    // All three paths are absolute: the job may change its directory, and `run` later reads what
    // the job recorded in REKINDLE_DIR.
    rk_place_set_variable("REKINDLE_DIR", values->dir);
    if (values->signing_key[0])
        rk_place_set_variable("REKINDLE_SIGNING_KEY", values->signing_key);
    if (values->trusted_keys[0])
        rk_place_set_variable("REKINDLE_TRUSTED_KEYS", values->trusted_keys);
    rk_place_set_variable("REKINDLE_RUN", run);
    if (values->job[0] == '\0') {
        rk_autofree char *job = NULL;
        RK_TRY(rk_job_derive((int)command->count, (const char *const *)command->items, &job));
        rk_place_set_variable("REKINDLE_JOB", job);
    }
    const char *before = rk_env_get(rk_place_environment(), "LD_PRELOAD");
    if (!before || before[0] == '\0') {
        rk_place_set_variable("LD_PRELOAD", library);
    } else if (!strstr(before, library)) {
        RK_AUTO(rk_buf) both = RK_BUF_INIT(0);
        rk_buf_add_format(&both, "%s:%s", before, library);
        rk_place_set_variable("LD_PRELOAD", rk_need_text(&both));
    }
    allow_our_place_before_asan();
    return NULL;
}

rk_err *rk_launch_check_signing_key(const rk_settings *settings) {
    const char *path = rk_settings_get(settings)->signing_key;
    RK_AUTO(rk_signing_key) key = {0};
    return path[0] ? rk_err_wrap(rk_signing_key_read(path, &key), "REKINDLE_SIGNING_KEY") : NULL;
}

rk_err *rk_launch_check_trusted_keys(const rk_settings *settings) {
    const char *path = rk_settings_get(settings)->trusted_keys;
    RK_AUTO(rk_trusted_keys) keys = {0};
    return path[0] ? rk_err_wrap(rk_trusted_keys_read(path, &keys), "REKINDLE_TRUSTED_KEYS") : NULL;
}

static rk_err *find_library(const char *name, char **out_path) {
    bool found = false;
    RK_TRY(rk_self_library(name, out_path, &found));
    if (!found)
        return rk_error(RK_FAILED_PRECONDITION,
                        "%s is missing or cannot be read: the installation is incomplete; build or "
                        "install all of rekindle again",
                        *out_path);
    return NULL;
}

static rk_err *find_preload_library(char **out_path) {
    rk_autofree char *core = NULL; // the preloaded stub opens it in its own folder
    RK_TRY(find_library(RK_CORE_LIBRARY, &core));
    RK_TRY(find_library(RK_PRELOAD_LIBRARY, out_path));
    if (strpbrk(*out_path, " \t:"))
        return rk_error(RK_FAILED_PRECONDITION,
                        "%s cannot be preloaded, since its path holds a blank or a colon, which "
                        "LD_PRELOAD takes for separators: move the installation elsewhere",
                        *out_path);
    return NULL;
}

rk_err *rk_launch_prepare(const rk_settings *settings, const rk_opt_operands *command,
                          char **out_run) {
    rk_autofree char *library = NULL, *run = NULL;
    RK_TRY(find_preload_library(&library));
    RK_TRY(rk_run_id_make(&run));
    RK_TRY(prepare_environment(settings, command, run, library));
    *out_run = RK_TAKE(run);
    return NULL;
}
