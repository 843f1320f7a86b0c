#include "cli/place.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/sys.h"
#include "cli/fail.h"
#include "cli/term.h"
#include "cli/text.h"

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

rk_err *rk_place_check(const rk_settings *settings, bool is_given) {
    const char *directory = rk_settings_get(settings)->dir;
    struct stat info;
    if (rk_sys()->lstat_fn(directory, &info) == 0)
        return !S_ISREG(info.st_mode) ? NULL
                                      : rk_error(RK_FAILED_PRECONDITION,
                                                 "the store %s is a file, not a folder", directory);
    if (errno == ENOENT && is_given)
        return rk_error(RK_NOT_FOUND,
                        "there is no store at %s: check --dir (`rekindle run --dir %s -- COMMAND` "
                        "makes one)",
                        directory, directory);
    return NULL; // another error: the next step reports it
}

rk_err *rk_place_check_runs(const rk_settings *settings) {
    rk_store *store = NULL;
    rk_err *err = rk_store_open(rk_settings_get(settings)->dir, true, &store);
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

rk_err *rk_place_need_store(const rk_settings *settings, const rk_store *store) {
    if (store)
        return NULL;
    return rk_error(RK_NOT_FOUND, "there is no store at %s yet: `rekindle run -- CMD` makes one",
                    rk_settings_get(settings)->dir);
}

void rk_place_store_cleanup(rk_store **store) {
    rk_store_free(RK_TAKE(*store));
}

static uint64_t summed_bytes; // nftw has no context

static int add_file(const char *path, const struct stat *info, int kind, struct FTW *walk) {
    (void)path;
    (void)walk;
    if (kind == FTW_F && S_ISREG(info->st_mode))
        summed_bytes += (uint64_t)info->st_size;
    return 0;
}

uint64_t rk_place_store_bytes(const rk_settings *settings) {
    enum { OPEN_FOLDERS = 16 };
    static const char *const folders[] = {"objects",    "programs", "runs",
                                          "quarantine", "plugins",  "jobs"};
    summed_bytes = 0;
    for (size_t i = 0; i < RK_ARRAY_LEN(folders); i++) {
        RK_AUTO(rk_buf) path = RK_BUF_INIT(0);
        rk_buf_add_format(&path, "%s/%s", rk_settings_get(settings)->dir, folders[i]);
        (void)nftw(rk_need_text(&path), add_file, OPEN_FOLDERS, FTW_PHYS);
    }
    return summed_bytes;
}

void rk_place_print_nothing_yet(const rk_settings *settings, const char *what) {
    const char *directory = rk_settings_get(settings)->dir;
    struct stat info;
    bool exists = rk_sys()->lstat_fn(directory, &info) == 0;
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    if (exists)
        rk_buf_add_format(&line, "There are no %s in ", what);
    else
        rk_buf_add_text(&line, "There is no store at ");
    rk_text_add_printable(&line, rk_span_text(directory));
    rk_buf_add_text(&line, " yet: `rekindle run -- CMD` fills it, as soon as the command creates a "
                           "PJRT client.");
    rk_term_line(rk_need_text(&line), 0);
}
