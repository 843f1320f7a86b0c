#include "cli/place.h"

#include <errno.h>
#include <stdio.h>

#include "base/sys.h"
#include "cli/fail.h"

// The environment of this process after the first change, until the process ends.
static rk_env environment;

const rk_env *rk_place_environment(void) {
    if (!environment.items)
        rk_env_copy(&environment);
    return &environment;
}

void rk_place_set_variable(const char *variable, const char *value) {
    if (!value)
        return;
    (void)rk_place_environment();
    rk_env_set(&environment, variable, value);
    rk_env_put_in_force(&environment);
}

rk_err *rk_place_settings(rk_settings **out_settings) {
    RK_TRY(rk_settings_load(rk_store_check_folder, out_settings));
    rk_log_set_level(rk_settings_get(*out_settings)->log_level);
    return NULL;
}

rk_err *rk_place_settings_of_runs(rk_settings **out_settings) {
    rk_store *store = NULL;
    RK_TRY(rk_place_settings(out_settings));
    rk_err *err = rk_store_open(rk_settings_get(*out_settings)->dir, true, &store);
    rk_store_free(store);
    if (rk_err_code(err) == RK_FAILED_PRECONDITION)
        return err;
    rk_err_drop(err, "runs can be read where the rest of a store cannot be used");
    return NULL;
}

rk_err *rk_place_open_store(const rk_settings *settings, bool readonly, rk_store **out_store) {
    const char *directory = rk_settings_get(settings)->dir;
    struct stat info;
    *out_store = NULL;
    if (rk_sys()->lstat_fn(directory, &info) != 0 && errno == ENOENT)
        return NULL;
    RK_TRY(rk_store_open(directory, readonly, out_store));
    // The usage account must record what the command line removes.
    return rk_store_set_limit(*out_store, rk_settings_get(settings)->max_size_bytes);
}

void rk_place_store_cleanup(rk_store **store) {
    rk_store_free(RK_TAKE(*store));
}

void rk_place_print_nothing_yet(const rk_settings *settings) {
    (void)printf("There is nothing in %s yet: run `rekindle run -- CMD` first.\n",
                 rk_settings_get(settings)->dir);
}
