#include "settings/directory_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "settings/settings.h"

// Returns the home directory, absolute and owned. HOME wins, as in a shell. The account's entry is
// for services that run without HOME.
static rk_err *find_home(char **out_home) {
    const char *home = getenv("HOME");
    if (home && home[0] == '/') {
        *out_home = rk_strdup(home);
        return *out_home ? NULL : rk_err_no_memory();
    }
    struct passwd account, *found = NULL;
    char scratch[4096];
    int error_number = getpwuid_r(getuid(), &account, scratch, sizeof scratch, &found);
    if (!found || !found->pw_dir || found->pw_dir[0] != '/')
        return rk_error(RK_FAILED_PRECONDITION,
                        "no home directory found (HOME is not an absolute path, and user %ld has "
                        "none%s); set REKINDLE_DIR",
                        (long)getuid(), error_number ? " that can be looked up" : "");
    *out_home = rk_strdup(found->pw_dir);
    return *out_home ? NULL : rk_err_no_memory();
}

rk_err *rk_directory_expand_home(const char *label, const char *path, char **out_path) {
    if (path[0] != '~') {
        *out_path = rk_strdup(path);
        return *out_path ? NULL : rk_err_no_memory();
    }
    if (path[1] != '\0' && path[1] != '/')
        return rk_error(RK_INVALID_ARGUMENT, "%s is \"%s\"; only ~/ is expanded, not ~name", label,
                        path);
    rk_autofree char *home = NULL;
    RK_TRY(find_home(&home));
    const char *rest = path + 1 + strspn(path + 1, "/");
    *out_path = *rest ? rk_path_join(home, rest) : rk_strdup(home);
    return *out_path ? NULL : rk_err_no_memory();
}

static rk_err *default_directory(char **out_directory) {
    const char *cache = getenv("XDG_CACHE_HOME");
    // The XDG base directory specification: a relative path is invalid and must be ignored.
    if (cache && cache[0] == '/') {
        *out_directory = rk_path_join(cache, "rekindle");
        return *out_directory ? NULL : rk_err_no_memory();
    }
    rk_autofree char *home = NULL;
    RK_TRY(find_home(&home));
    *out_directory = rk_path_join(home, ".cache/rekindle");
    return *out_directory ? NULL : rk_err_no_memory();
}

// Makes a relative path absolute from the working directory. Owned.
static rk_err *make_absolute(const char *label, const char *path, char **out_path) {
    while (path[0] == '.' && path[1] == '/')
        path += 1 + strspn(path + 1, "/");
    if (strcmp(path, ".") == 0)
        path = "";
    char here[PATH_MAX] = "/";
    if (path[0] != '/' && !getcwd(here, sizeof here))
        return rk_error_errno(errno,
                              "%s is relative (\"%s\") and the working directory cannot be found",
                              label, path);
    *out_path =
        path[0] && path[0] != '/' ? rk_path_join(here, path) : rk_strdup(path[0] ? path : here);
    return *out_path ? NULL : rk_err_no_memory();
}

rk_err *rk_directory_absolute(const char *label, const char *path, char **out_path) {
    rk_autofree char *expanded = NULL;
    RK_TRY(rk_directory_expand_home(label, path, &expanded));
    return make_absolute(label, expanded, out_path);
}

static char *without_end_slashes(const char *path) {
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        len--;
    return rk_strndup(path, len);
}

rk_err *rk_settings_cache(char **out_directory) {
    rk_autofree char *directory = NULL;
    RK_TRY(default_directory(&directory));
    RK_TRY(rk_directory_check_place(directory, true));
    *out_directory = RK_TAKE(directory);
    return NULL;
}

rk_err *rk_directory_resolve(const char *written, char **out_directory) {
    if (!written || !*written)
        return default_directory(out_directory);
    const char *scheme_end = strstr(written, "://");
    if (scheme_end) // shows only the scheme: the rest may contain a password
        return rk_error(
            RK_INVALID_ARGUMENT,
            "REKINDLE_DIR is an address (%.*s://…), but it takes a local directory; put "
            "addresses into REKINDLE_REMOTE",
            (int)(scheme_end - written < 32 ? scheme_end - written : 32), written);
    if (strlen(written) >= PATH_MAX)
        return rk_error(RK_INVALID_ARGUMENT, "REKINDLE_DIR is longer than a path can be (%d bytes)",
                        PATH_MAX);
    rk_autofree char *expanded = NULL;
    RK_TRY(rk_directory_expand_home("REKINDLE_DIR", written, &expanded));
    rk_autofree char *absolute = NULL;
    if (expanded)
        RK_TRY(make_absolute("REKINDLE_DIR", expanded, &absolute));
    *out_directory = absolute ? without_end_slashes(absolute) : NULL;
    return *out_directory ? NULL : rk_err_no_memory();
}

static bool is_below(const char *path, const char *top) {
    size_t len = strlen(top);
    while (len && top[len - 1] == '/')
        len--;
    // A home of "/" does not count: services have it, and every path is below it.
    return len && strncmp(path, top, len) == 0 && (path[len] == '/' || !path[len]);
}

static bool find_owner(const char *directory, uid_t *out_owner) {
    rk_autofd fd = rk_sys()->open_fn(directory, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    struct stat info;
    if (fd < 0 || rk_sys()->fstat_fn(fd, &info) != 0)
        return false;
    *out_owner = info.st_uid;
    return true;
}

// Returns the nearest existing directory above `path`. Owned; NULL if memory is short.
static char *find_nearest(const char *path) {
    char *nearest = rk_strdup(path);
    struct stat info;
    while (nearest) {
        char *slash = strrchr(nearest, '/');
        if (!slash || slash == nearest) {
            nearest[slash ? 1 : 0] = '\0';
            break;
        }
        *slash = '\0';
        if (rk_sys()->lstat_fn(nearest, &info) == 0)
            break;
    }
    return nearest;
}

static rk_err *refuse_foreign(const char *folder, uid_t owner) {
    return rk_error(RK_PERMISSION_DENIED,
                    "%s belongs to user %ld, not to you (%ld), and a store made there would lock "
                    "that user out of it: set REKINDLE_DIR to a folder of your own",
                    folder, (long)owner, (long)geteuid());
}

static rk_err *check_nearest(const char *directory) {
    rk_autofree char *nearest = find_nearest(directory);
    uid_t owner = 0;
    if (!nearest)
        return rk_err_no_memory();
    if (geteuid() == 0 && find_owner(nearest, &owner) && owner != 0)
        return refuse_foreign(nearest, owner);
    if (rk_sys()->eaccess_fn(nearest, W_OK | X_OK) != 0)
        return rk_error(RK_PERMISSION_DENIED,
                        "the store %s cannot be made, since you cannot write to %s: set "
                        "REKINDLE_DIR to a folder of your own",
                        directory, nearest);
    return NULL;
}

rk_err *rk_directory_check_place(const char *directory, bool is_default) {
    struct stat info;
    if (rk_sys()->lstat_fn(directory, &info) == 0 || errno != ENOENT)
        return NULL; // opening the store checks an existing folder
    rk_autofree char *home = NULL;
    uid_t owner = 0;
    rk_err_drop(find_home(&home), "then no home directory needs a check");
    if (home && is_below(directory, home) && find_owner(home, &owner) && owner != geteuid() &&
        owner != 0)
        return refuse_foreign(home, owner);
    return is_default ? check_nearest(directory) : NULL;
}
