#include "torch/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/temporary.h"
#include "base/tree.h"

enum { ID_DIGITS = 16, JOB_MAX_CHARS = 100, POLL_MS = 20, TRIES = 50, NAMES_MAX = 1 << 16 };
enum { PROBE_BYTES = 256 << 10 };

void rk_torch_directory_cleanup(rk_torch_directory *directory) {
    if (directory->path)
        rk_autofd_cleanup(&directory->fd);
    rk_free(directory->path);
    *directory = (rk_torch_directory){.fd = -1};
}

// In a folder that every user may write to, another user could replace the folders below.
static rk_err *check_parents(const char *base) {
    rk_autofree char *path = rk_strdup(base);
    struct stat info;
    if (!path)
        return rk_err_no_memory();
    for (char *slash; (slash = strrchr(path, '/')) != NULL && slash != path;) {
        *slash = '\0';
        if (rk_sys()->lstat_fn(path, &info) != 0)
            return rk_error_errno(errno, "cannot use %s", path);
        if (S_ISDIR(info.st_mode) && (info.st_mode & S_IWOTH) && !(info.st_mode & S_ISVTX))
            return rk_error(RK_PERMISSION_DENIED, "%s is writable by other users: chmod o-w %s",
                            path, path);
    }
    return NULL;
}

// Opens the base, and makes it. Nobody else may enter it: it holds code.
static rk_err *open_base(const char *base, int *out_fd) {
    struct stat info;
    RK_TRY(rk_fs_make_dirs(base, 0700));
    RK_TRY(check_parents(base));
    *out_fd = rk_fd_open(AT_FDCWD, base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (*out_fd < 0 || rk_sys()->fstat_fn(*out_fd, &info) != 0)
        return rk_error_errno(errno, "cannot open %s", base);
    RK_TRY(rk_tree_check_folder(&info, base));
    if ((info.st_mode & 0077) && rk_sys()->fchmod_fn(*out_fd, 0700) != 0)
        return rk_error_errno(errno, "cannot chmod %s", base);
    return NULL;
}

// Finds the newest generation of a directory.
typedef struct generations {
    const char *stem; // the name without a generation; borrowed
    unsigned long newest;
    bool has_any;
} generations;

static rk_err *visit_generation(void *context, const char *name) {
    generations *self = context;
    size_t len = strlen(self->stem);
    if (strncmp(name, self->stem, len) != 0 || (name[len] && name[len] != '.'))
        return NULL;
    char *end = NULL;
    unsigned long number = name[len] ? strtoul(name + len + 1, &end, 10) : 1;
    if (end && (*end || end == name + len + 1))
        return NULL; // being removed
    self->has_any = true;
    self->newest = number > self->newest ? number : self->newest;
    return NULL;
}

// Appends the name of the directory to use. `*out_exists` is false if it is to be made.
static rk_err *choose_name(const rk_torch_directory_wish *wish, rk_buf *out, bool *out_exists) {
    char hex[RK_DIGEST_HEX_CHARS + 1];
    RK_AUTO(rk_buf) stem = {0};
    rk_digest_to_hex(wish->identity, hex);
    rk_buf_add_format(&stem, "%.*s-%.*s", JOB_MAX_CHARS, wish->job, ID_DIGITS, hex);
    RK_TRY(rk_buf_status(&stem));
    generations found = {.stem = rk_buf_text(&stem)};
    RK_TRY(rk_fs_list(wish->base, NAMES_MAX, visit_generation, &found));
    *out_exists = found.has_any && !wish->is_fresh;
    unsigned long number = found.newest + (wish->is_fresh || !found.has_any);
    rk_buf_add_span(out, rk_buf_span(&stem));
    if (number > 1)
        rk_buf_add_format(out, ".%lu", number);
    return rk_buf_status(out);
}

static bool try_lock(int fd, int operation) {
    int result;
    do
        result = rk_sys()->flock_fn(fd, operation | LOCK_NB);
    while (result != 0 && errno == EINTR);
    return result == 0;
}

// Locks the directory. False if `rekindle gc` is removing it, or has just done so. Without locks,
// gc cannot lock either, and removes nothing.
static bool lock_shared(int base_fd, const char *name, int fd) {
    struct stat open, named;
    if (!try_lock(fd, LOCK_SH) && errno == EWOULDBLOCK)
        return false;
    return rk_sys()->fstat_fn(fd, &open) == 0 && rk_sys()->fstatat_fn(base_fd, name, &named) == 0 &&
           open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

// `*out_fd` stays -1 if the directory is being removed, or if another start made it first.
static rk_err *try_open(int base_fd, const char *name, bool exists, int *out_fd) {
    struct stat info;
    if (!exists && rk_sys()->mkdirat_fn(base_fd, name, 0700) != 0)
        return errno == EEXIST ? NULL : rk_error_errno(errno, "cannot make %s", name);
    rk_autofd fd = rk_fd_open(base_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (fd < 0 && errno == ENOENT)
        return NULL;
    if (fd < 0 || rk_sys()->fstat_fn(fd, &info) != 0)
        return rk_error_errno(errno, "cannot open %s", name);
    RK_TRY(rk_tree_check_folder(&info, name));
    if (rk_sys()->futimens_fn(fd, NULL) != 0) // before the lock: gc looks at it while it has one
        return rk_error_errno(errno, "cannot set the time of %s", name);
    if (lock_shared(base_fd, name, fd)) {
        *out_fd = fd;
        fd = -1;
    }
    return NULL;
}

static void pause_ms(long milliseconds) {
    const struct timespec time = {.tv_nsec = milliseconds * 1000000};
    (void)nanosleep(&time, NULL);
}

// torch.compile splits its compiler's command at blanks.
static rk_err *check_base(const char *base) {
    size_t plain = strcspn(base, " \t\r\n\f\v\"'\\");
    if (!base[plain])
        return NULL;
    return rk_error(RK_FAILED_PRECONDITION,
                    "torch.compile cannot use %s, which has a blank, a quote or a backslash in it: "
                    "set XDG_CACHE_HOME to another folder",
                    base);
}

static rk_err *is_missing(const char *base, bool *out_missing) {
    struct stat info;
    *out_missing = rk_sys()->lstat_fn(base, &info) != 0;
    return *out_missing && errno != ENOENT ? rk_error_errno(errno, "cannot use %s", base) : NULL;
}

rk_err *rk_torch_directory_open(const rk_torch_directory_wish *wish,
                                rk_torch_directory *out_directory) {
    rk_autofd base_fd = -1;
    bool may_make = wish->makes || wish->is_fresh, missing = false;
    *out_directory = (rk_torch_directory){.fd = -1};
    RK_TRY(check_base(wish->base));
    RK_TRY(is_missing(wish->base, &missing));
    if (missing && !may_make)
        return NULL;
    RK_TRY(open_base(wish->base, &base_fd));
    for (int i = 0; i < TRIES; i++) {
        RK_AUTO(rk_buf) name = {0};
        bool exists = false;
        RK_TRY(choose_name(wish, &name, &exists));
        if (!exists && !may_make)
            return NULL;
        rk_autofd fd = -1;
        RK_TRY(rk_err_wrap(try_open(base_fd, rk_buf_text(&name), exists, &fd), "%s", wish->base));
        if (fd >= 0) {
            out_directory->path = rk_path_join(wish->base, rk_buf_text(&name));
            if (!out_directory->path)
                return rk_err_no_memory();
            out_directory->fd = fd;
            fd = -1;
            return NULL;
        }
        pause_ms(POLL_MS);
    }
    return rk_error(RK_UNAVAILABLE, "`rekindle gc` is removing the unused directory of %s in %s",
                    wish->job, wish->base);
}

// True if no other start uses the directory. No start can begin until release().
static bool take(rk_torch_directory *directory) {
    // gc removes nothing between the locks: the time is new.
    (void)rk_sys()->futimens_fn(directory->fd, NULL);
    return try_lock(directory->fd, LOCK_EX);
}

// A failed take() has given up the shared lock.
static void release(rk_torch_directory *directory) {
    (void)try_lock(directory->fd, LOCK_SH);
}

// Kernels are libraries.
static rk_err *check_mount(const rk_torch_directory *directory) {
    struct statvfs info;
    if (rk_sys()->statvfs_fn(directory->path, &info) != 0 || !(info.f_flag & ST_NOEXEC))
        return NULL;
    return rk_error(RK_FAILED_PRECONDITION,
                    "the file system of %s is mounted with noexec: set XDG_CACHE_HOME to a folder "
                    "of another one",
                    directory->path);
}

// torch.compile locks files with the package filelock, many versions of which fail without locks.
static rk_err *check_locks(const rk_torch_directory *directory, int fd) {
    if (try_lock(fd, LOCK_EX))
        return NULL;
    return rk_error_errno(errno,
                          "the file system of %s has no locks (flock), which torch.compile needs: "
                          "set XDG_CACHE_HOME to a folder of another one",
                          directory->path);
}

// Writes a file, locks it, and removes it: a quota shows in no other way.
static rk_err *try_file(const rk_torch_directory *directory) {
    static const size_t bytes = PROBE_BYTES;
    RK_AUTO(rk_buf) name = {0};
    rk_autofree uint8_t *zeros = rk_calloc(bytes, 1);
    rk_temporary_add_name(&name);
    if (!zeros || name.failed)
        return rk_err_no_memory();
    int fd = rk_fd_open(directory->fd, rk_buf_text(&name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
                        0600);
    if (fd < 0)
        return rk_error_errno(errno, "cannot write into %s", directory->path);
    rk_err *locks = check_locks(directory, fd), *err = rk_fd_write_all(fd, zeros, bytes);
    if (rk_sys()->close_fn(fd) != 0 && errno != EINTR && !err)
        err = rk_error_errno(errno, "close");
    (void)rk_sys()->unlinkat_fn(directory->fd, rk_buf_text(&name), 0);
    if (locks) {
        rk_err_drop(err, "one reason is enough");
        return locks;
    }
    return rk_err_wrap(err,
                       "cannot write into %s: free space there, or set XDG_CACHE_HOME to a folder "
                       "of another file system",
                       directory->path);
}

rk_err *rk_torch_directory_check(const rk_torch_directory *directory) {
    RK_TRY(check_mount(directory));
    return try_file(directory);
}

bool rk_torch_directory_is_alone(rk_torch_directory *directory) {
    bool alone = take(directory);
    release(directory);
    return alone;
}

// Removes the unfinished files, or finds whether there is one.
static bool find_unfinished(const rk_torch_directory *directory, const rk_pack_files *files,
                            bool removes) {
    uint64_t before_ns = rk_realtime_ns() - RK_TORCH_UNFINISHED_NS;
    bool found = false;
    for (size_t i = 0; i < files->count && (removes || !found); i++) {
        if (!rk_pack_file_is_unfinished(directory->fd, files->items[i].name, before_ns))
            continue;
        found = true;
        if (removes)
            (void)rk_sys()->unlinkat_fn(directory->fd, files->items[i].name, 0);
    }
    return found;
}

void rk_torch_directory_mend(rk_torch_directory *directory, const rk_pack_files *files) {
    if (!find_unfinished(directory, files, false)) // without the lock, which other starts wait for
        return;
    if (take(directory))
        (void)find_unfinished(directory, files, true);
    release(directory);
}
