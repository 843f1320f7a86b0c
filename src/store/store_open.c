#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/tree.h"
#include "store/marker_internal.h"
#include "store/usage_internal.h"

static rk_err *note_any(void *context, const char *name) {
    (void)name;
    *(bool *)context = true;
    return NULL;
}

// True if the folder serves rekindle alone: it has the marker of a store, or it is empty and lacks
// the sticky bit, which /tmp has.
static bool is_for_us_alone(const char *directory, const struct stat *info) {
    struct stat marker;
    rk_autofree char *path = rk_path_join(directory, RK_MARKER_NAME);
    bool holds_any = false;
    if (!path || rk_sys()->lstat_fn(path, &marker) == 0)
        return path != NULL;
    rk_err *err = rk_fs_list(directory, 1, note_any, &holds_any);
    bool holds_many = err != NULL;
    rk_err_drop(err, "more than one name, or none that can be read");
    return !holds_any && !holds_many && !(info->st_mode & S_ISVTX);
}

// Refuses a folder that other users may write to. The message suggests chmod only for a folder that
// serves rekindle alone, and not for /tmp or a shared project.
static rk_err *refuse_if_writable(const char *directory, const struct stat *info) {
    if (!(info->st_mode & (S_IWGRP | S_IWOTH)) || is_for_us_alone(directory, info))
        return rk_tree_check_folder(info, directory);
    return rk_error(RK_PERMISSION_DENIED,
                    "%s is writable by other users, who could put code into it: point REKINDLE_DIR "
                    "at a directory of your own",
                    directory);
}

static rk_err *refuse_if_not_ours(const char *directory, const struct stat *info) {
    if (!S_ISDIR(info->st_mode))
        return rk_error(RK_INVALID_ARGUMENT,
                        "%s is not a directory: point REKINDLE_DIR at one, or at a path that does "
                        "not exist yet",
                        directory);
    if (info->st_uid != geteuid())
        return rk_error(RK_PERMISSION_DENIED,
                        "%s belongs to user %ld, not to you (%ld); that user could put code into "
                        "it: point REKINDLE_DIR at a directory of your own",
                        directory, (long)info->st_uid, (long)geteuid());
    return refuse_if_writable(directory, info);
}

// Refuses a symbolic link of another user, who could point it elsewhere. The user's own link, for
// example to another disk, is allowed. So is a link of root, who could replace anything.
static rk_err *refuse_foreign_link(const char *directory) {
    struct stat info;
    if (rk_sys()->lstat_fn(directory, &info) != 0)
        return rk_error_errno(errno, "cannot use the store %s", directory);
    if (S_ISLNK(info.st_mode) && info.st_uid != geteuid() && info.st_uid != 0)
        return rk_error(RK_PERMISSION_DENIED,
                        "%s is a symbolic link that belongs to user %ld: point REKINDLE_DIR at a "
                        "directory of your own",
                        directory, (long)info.st_uid);
    return NULL;
}

static rk_err *fail_to_use(const char *directory, int error_number) {
    struct stat info;
    if (error_number == ENOENT && rk_sys()->lstat_fn(directory, &info) == 0 &&
        S_ISLNK(info.st_mode))
        return rk_error(
            RK_NOT_FOUND,
            "%s is a broken symbolic link: make the directory that it names, or remove the link",
            directory);
    return rk_error_errno(error_number, "cannot use the store %s", directory);
}

static rk_err *check_directory(const char *directory) {
    RK_TRY(refuse_foreign_link(directory));
    // O_PATH needs no permission. fstat(2) checks the folder that was opened, also behind a link.
    int opened = -1;
    do
        opened = rk_sys()->open_fn(directory, O_PATH | O_CLOEXEC, 0);
    while (opened < 0 && errno == EINTR);
    rk_autofd fd = opened;
    struct stat info;
    if (fd < 0 || rk_sys()->fstat_fn(fd, &info) != 0)
        return fail_to_use(directory, errno);
    return refuse_if_not_ours(directory, &info);
}

static rk_err *make_directory(const char *directory) {
    struct stat info;
    if (rk_sys()->lstat_fn(directory, &info) == 0)
        return NULL; // check_directory judges it
    rk_err *err = rk_fs_make_dirs(directory, 0700);
    return rk_err_wrap(err, "cannot make the store %s", directory);
}

rk_err *rk_store_open(const char *directory, bool readonly, rk_store **out_store) {
    *out_store = NULL;
    if (!directory || !*directory)
        return rk_error(RK_INVALID_ARGUMENT, "the store needs a directory: set REKINDLE_DIR");
    if (strstr(directory, "://"))
        return rk_error(RK_INVALID_ARGUMENT,
                        "REKINDLE_DIR is %s, but the local store is a directory: give addresses in "
                        "REKINDLE_REMOTE",
                        directory);
    size_t len = strlen(directory);
    while (len > 1 && directory[len - 1] == '/')
        len--;
    rk_autofree char *path = rk_strndup(directory, len);
    rk_store *store = path ? rk_calloc(1, sizeof *store) : NULL;
    if (!store)
        return rk_err_no_memory();
    rk_err *err = readonly ? NULL : make_directory(path);
    if (!err)
        err = check_directory(path);
    if (err) {
        rk_free(store);
        return err;
    }
    store->directory = RK_TAKE(path);
    store->readonly = readonly;
    err = rk_marker_check(store);
    if (err)
        rk_store_free(store);
    else
        *out_store = store;
    return err;
}

rk_err *rk_store_check_folder(const char *directory) {
    struct stat info;
    rk_store *store = NULL;
    if (rk_sys()->lstat_fn(directory, &info) == 0)
        RK_TRY(rk_store_open(directory, true, &store));
    rk_store_free(store);
    return NULL;
}

void rk_store_free(rk_store *store) {
    if (!store)
        return;
    rk_usage_end(store);
    rk_signing_key_cleanup(&store->signing);
    rk_trusted_keys_cleanup(&store->trusted);
    rk_free(store->directory);
    rk_free(store);
}

const char *rk_store_directory(const rk_store *store) {
    return store->directory;
}

void rk_store_use_keys(rk_store *store, const rk_signing_key *signing, rk_trusted_keys *trusted) {
    rk_signing_key_cleanup(&store->signing);
    rk_trusted_keys_cleanup(&store->trusted);
    store->signs = signing != NULL;
    if (signing)
        store->signing = *signing;
    if (trusted) {
        store->trusted = *trusted;
        *trusted = (rk_trusted_keys){0};
    }
}

rk_trust rk_store_judge(const rk_store *store, const rk_entry_view *view) {
    if (!view->is_signed)
        return RK_TRUST_UNSIGNED;
    return rk_trusted_keys_find(&store->trusted, &view->signer) ? RK_TRUST_TRUSTED
                                                                : RK_TRUST_UNKNOWN_KEY;
}

rk_err *rk_store_load_keys(rk_store *store, const char *signing_path, const char *trusted_path) {
    RK_AUTO(rk_signing_key) signing = {0};
    RK_AUTO(rk_trusted_keys) trusted = {0};
    rk_err *err = *trusted_path ? rk_trusted_keys_read(trusted_path, &trusted) : NULL;
    rk_err *signing_err = *signing_path ? rk_signing_key_read(signing_path, &signing) : NULL;
    rk_store_use_keys(store, *signing_path && !signing_err ? &signing : NULL, &trusted);
    if (!signing_err)
        return rk_err_wrap(err, "REKINDLE_TRUSTED_KEYS");
    rk_err_drop(err, "one thing at a time");
    return rk_err_wrap(signing_err, "REKINDLE_SIGNING_KEY");
}
