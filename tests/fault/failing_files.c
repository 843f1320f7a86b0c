// A library to preload into a job. It counts libc calls on files below one directory. The n-th call
// fails, or the process is killed there. This tests the whole library inside a process, where unit
// tests cannot replace its tables.
//
//   FAILING_FILES_DIR      the directory
//   FAILING_FILES_WRITES   a suffix: counts only writes to files whose names end with it
//   FAILING_FILES_AT       n, from 1
//   FAILING_FILES_ERRNO    the errno of the failed call; 0: SIGKILL
//   FAILING_FILES_LASTING  if set, later calls that could change something fail too
//   FAILING_FILES_MARK     a file that gets one line per failed call: the call and its file
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static struct {
    const char *directory, *writes, *mark;
    unsigned long at;
    int error_number;
    bool lasting;
} plan;

static atomic_ulong counted;

__attribute__((constructor)) static void read_plan(void) {
    const char *at = getenv("FAILING_FILES_AT"), *number = getenv("FAILING_FILES_ERRNO");
    plan.directory = getenv("FAILING_FILES_DIR");
    plan.writes = getenv("FAILING_FILES_WRITES");
    plan.mark = getenv("FAILING_FILES_MARK");
    plan.at = at ? strtoul(at, NULL, 10) : 0;
    plan.error_number = number ? atoi(number) : 0;
    plan.lasting = getenv("FAILING_FILES_LASTING") != NULL;
}

static bool lies_below(const char *path) {
    size_t len = plan.directory ? strlen(plan.directory) : 0;
    return len && plan.mark && strncmp(path, plan.directory, len) == 0 &&
           (path[len] == '/' || !path[len]);
}

static bool path_of_fd(int fd, char path[static PATH_MAX]) {
    char link[64];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, PATH_MAX - 1);
    if (len <= 0)
        return false;
    path[len] = '\0';
    return true;
}

// `path` is "" if it is not known.
static bool fd_lies_below(int fd, char path[static PATH_MAX]) {
    path[0] = '\0';
    return path_of_fd(fd, path) && lies_below(path);
}

static bool is_counted_write(const char *path) {
    if (!plan.writes)
        return true;
    size_t len = strlen(path), ending = strlen(plan.writes);
    return len > ending && strcmp(path + len - ending, plan.writes) == 0;
}

// True if the call must fail; errno is set.
static bool strikes(bool concerned, bool changes, const char *call, const char *path) {
    if (!concerned || !plan.at)
        return false;
    unsigned long number = atomic_fetch_add(&counted, 1) + 1;
    if (number < plan.at || (number > plan.at && !(plan.lasting && changes)))
        return false;
    int mark = (int)syscall(SYS_openat, AT_FDCWD, plan.mark, O_WRONLY | O_CREAT | O_APPEND, 0600);
    char line[PATH_MAX + 64];
    int len = snprintf(line, sizeof line, "%s %s\n", call, path);
    (void)syscall(SYS_write, mark, line, (size_t)len);
    (void)syscall(SYS_close, mark);
    if (!plan.error_number)
        (void)kill(getpid(), SIGKILL);
    errno = plan.error_number;
    return true;
}

static bool strikes_at(int dir_fd, const char *path, bool changes, const char *call) {
    char folder[PATH_MAX];
    bool concerned =
        path[0] == '/' ? lies_below(path) : dir_fd >= 0 && fd_lies_below(dir_fd, folder);
    return !plan.writes && strikes(concerned, changes, call, path);
}

static bool strikes_fd(int fd, bool changes, const char *call) {
    char path[PATH_MAX];
    bool concerned = fd_lies_below(fd, path);
    return !plan.writes && strikes(concerned, changes, call, path);
}

#define NEXT(name) (__extension__(__typeof__(&name)) dlsym(RTLD_NEXT, #name))

EXPORT int openat(int dir_fd, const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    bool changes = flags & (O_CREAT | O_WRONLY | O_RDWR);
    return strikes_at(dir_fd, path, changes, __func__)
               ? -1
               : (int)syscall(SYS_openat, dir_fd, path, flags, mode);
}

EXPORT int mkdir(const char *path, mode_t mode) {
    return strikes_at(AT_FDCWD, path, true, __func__) ? -1 : NEXT(mkdir)(path, mode);
}

EXPORT int mkdirat(int dir_fd, const char *path, mode_t mode) {
    return strikes_at(dir_fd, path, true, __func__) ? -1 : NEXT(mkdirat)(dir_fd, path, mode);
}

EXPORT int renameat(int from_fd, const char *from, int to_fd, const char *to) {
    return strikes_at(from_fd, from, true, __func__) ? -1
                                                     : NEXT(renameat)(from_fd, from, to_fd, to);
}

EXPORT int linkat(int from_fd, const char *from, int to_fd, const char *to, int flags) {
    return strikes_at(to_fd, to, true, __func__) ? -1
                                                 : NEXT(linkat)(from_fd, from, to_fd, to, flags);
}

EXPORT int unlinkat(int dir_fd, const char *path, int flags) {
    return strikes_at(dir_fd, path, true, __func__) ? -1 : NEXT(unlinkat)(dir_fd, path, flags);
}

EXPORT int fstatat(int dir_fd, const char *path, struct stat *info, int flags) {
    return strikes_at(dir_fd, path, false, __func__) ? -1
                                                     : NEXT(fstatat)(dir_fd, path, info, flags);
}

EXPORT int lstat(const char *path, struct stat *info) {
    return strikes_at(AT_FDCWD, path, false, __func__) ? -1 : NEXT(lstat)(path, info);
}

EXPORT int fstat(int fd, struct stat *info) {
    return strikes_fd(fd, false, __func__) ? -1 : NEXT(fstat)(fd, info);
}

EXPORT ssize_t read(int fd, void *data, size_t len) {
    return strikes_fd(fd, false, __func__) ? -1 : (ssize_t)syscall(SYS_read, fd, data, len);
}

EXPORT ssize_t write(int fd, const void *data, size_t len) {
    char path[PATH_MAX];
    bool concerned = fd_lies_below(fd, path);
    if (!is_counted_write(path) || !strikes(concerned, true, __func__, path))
        return (ssize_t)syscall(SYS_write, fd, data, len);
    return -1;
}

EXPORT ssize_t pwrite(int fd, const void *data, size_t len, off_t offset) {
    char path[PATH_MAX];
    bool concerned = fd_lies_below(fd, path);
    if (!is_counted_write(path) || !strikes(concerned, true, __func__, path))
        return (ssize_t)syscall(SYS_pwrite64, fd, data, len, offset);
    return -1;
}

EXPORT int fsync(int fd) {
    return strikes_fd(fd, true, __func__) ? -1 : NEXT(fsync)(fd);
}

EXPORT int close(int fd) {
    bool fails = strikes_fd(fd, false, __func__);
    int error_number = errno;
    int status = (int)syscall(SYS_close, fd);
    errno = fails ? error_number : errno;
    return fails ? -1 : status;
}

EXPORT DIR *fdopendir(int fd) {
    return strikes_fd(fd, false, __func__) ? NULL : NEXT(fdopendir)(fd);
}
