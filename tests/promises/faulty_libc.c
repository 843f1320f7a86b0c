// A libc whose calls fail only when rekindle makes them. Preloaded into a whole job, so that the
// job's own result can be checked. The return address identifies calls by rekindle. All threads
// share one count.
//
//   FAULTY_LIBC_NTH     the number of the failing call, from 1; 0 or not set: none
//   FAULTY_LIBC_ERRNO   the errno of the failing call; 0: an allocation fails instead (NULL)
//   FAULTY_LIBC_LASTING 1: every later counted call fails too
//   FAULTY_LIBC_CHANGES 1: counts only calls that change files
//   FAULTY_LIBC_LOG     a file that gets a line for each call by rekindle that changes files
//                       ("openat PATH ERRNO"), and the count at the end
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

static uintptr_t from, to; // rekindle's code; 0: not loaded yet
static atomic_uint counted;
static unsigned nth;
static int error_number, log_fd = -1;
static bool lasting, changes_only;

static int find_rekindle(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size;
    (void)context;
    // librekindle_preload.so is a stub that loads librekindle_core.so for the first plugin.
    if (!strstr(info->dlpi_name, "librekindle_core") &&
        !strstr(info->dlpi_name, "librekindle_pjrt"))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
            continue;
        from = info->dlpi_addr + segment->p_vaddr;
        to = from + segment->p_memsz;
    }
    return 1;
}

static bool is_rekindle(const void *caller) {
    if (!to) {
        int saved = errno;
        (void)dl_iterate_phdr(find_rekindle, NULL);
        errno = saved;
    }
    return (uintptr_t)caller >= from && (uintptr_t)caller < to;
}

static const char *setting(const char *name) {
    const char *value = getenv(name);
    return value ? value : "";
}

__attribute__((constructor)) static void begin(void) {
    nth = (unsigned)strtoul(setting("FAULTY_LIBC_NTH"), NULL, 10);
    error_number = (int)strtol(setting("FAULTY_LIBC_ERRNO"), NULL, 10);
    lasting = *setting("FAULTY_LIBC_LASTING") == '1';
    changes_only = *setting("FAULTY_LIBC_CHANGES") == '1';
    const char *path = setting("FAULTY_LIBC_LOG");
    if (*path)
        log_fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                              0666);
}

static void note(const char *call, const char *what, int error) {
    char line[600];
    int len = snprintf(line, sizeof line, "%s %.500s %d\n", call, what, error);
    if (log_fd >= 0)
        (void)syscall(SYS_write, log_fd, line, (size_t)len);
}

__attribute__((destructor)) static void end(void) {
    char count[16];
    (void)snprintf(count, sizeof count, "%u", atomic_load(&counted));
    note("counted", count, 0);
}

static bool strikes(const void *caller, bool memory, bool change) {
    if (!nth || memory != (error_number == 0) || (changes_only && !change) || !is_rekindle(caller))
        return false;
    unsigned number = atomic_fetch_add(&counted, 1) + 1;
    if (number < nth || (number > nth && !lasting))
        return false;
    errno = memory ? ENOMEM : error_number;
    return true;
}

static void *next(const char *name) {
    return dlsym(RTLD_NEXT, name);
}

// libc defines these names, and REAL expands to a declaration.
// NOLINTBEGIN(*-reserved-identifier,cert-dcl*,*-parameter-name,*-macro-parentheses)

// Each function has libc's declaration. The real function is looked up once, or twice in a race.
#define CALLER __builtin_extract_return_addr(__builtin_return_address(0))
#define REAL(result, name, parameters)                                                             \
    static result(*real) parameters;                                                               \
    if (!real)                                                                                     \
    *(void **)&real = next(#name)

#define CHANGE(name, what, call)                                                                   \
    do {                                                                                           \
        const void *caller = CALLER;                                                               \
        bool struck = strikes(caller, false, true);                                                \
        int result = struck ? -1 : (call);                                                         \
        int saved = errno;                                                                         \
        if (log_fd >= 0 && is_rekindle(caller))                                                    \
            note(name, what, result < 0 ? saved : 0);                                              \
        errno = saved;                                                                             \
        return result;                                                                             \
    } while (0)

#define EXPORT __attribute__((visibility("default")))

static bool writes(int flags) {
    return (flags & (O_WRONLY | O_RDWR | O_CREAT)) != 0;
}

EXPORT int openat(int dir_fd, const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    REAL(int, openat, (int, const char *, int, ...));
    if (writes(flags))
        CHANGE("openat", path, real(dir_fd, path, flags, mode));
    return strikes(CALLER, false, false) ? -1 : real(dir_fd, path, flags, mode);
}

EXPORT int open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    REAL(int, open, (const char *, int, ...));
    if (writes(flags))
        CHANGE("open", path, real(path, flags, mode));
    return strikes(CALLER, false, false) ? -1 : real(path, flags, mode);
}

EXPORT ssize_t write(int fd, const void *data, size_t len) {
    REAL(ssize_t, write, (int, const void *, size_t));
    // Writes to stderr never fail.
    return fd > 2 && strikes(CALLER, false, true) ? -1 : real(fd, data, len);
}

EXPORT ssize_t read(int fd, void *data, size_t len) {
    REAL(ssize_t, read, (int, void *, size_t));
    return strikes(CALLER, false, false) ? -1 : real(fd, data, len);
}

EXPORT ssize_t pread(int fd, void *data, size_t len, off_t offset) {
    REAL(ssize_t, pread, (int, void *, size_t, off_t));
    return strikes(CALLER, false, false) ? -1 : real(fd, data, len, offset);
}

EXPORT ssize_t pwrite(int fd, const void *data, size_t len, off_t offset) {
    REAL(ssize_t, pwrite, (int, const void *, size_t, off_t));
    return strikes(CALLER, false, true) ? -1 : real(fd, data, len, offset);
}

// As on Linux, the descriptor is closed even if close(2) fails.
EXPORT int close(int fd) {
    REAL(int, close, (int));
    bool struck = strikes(CALLER, false, true);
    int result = real(fd);
    if (struck)
        errno = error_number;
    return struck ? -1 : result;
}

EXPORT int fsync(int fd) {
    REAL(int, fsync, (int));
    return strikes(CALLER, false, true) ? -1 : real(fd);
}

EXPORT int fstat(int fd, struct stat *info) {
    REAL(int, fstat, (int, struct stat *));
    return strikes(CALLER, false, false) ? -1 : real(fd, info);
}

EXPORT int lstat(const char *path, struct stat *info) {
    REAL(int, lstat, (const char *, struct stat *));
    return strikes(CALLER, false, false) ? -1 : real(path, info);
}

EXPORT int fstatat(int dir_fd, const char *path, struct stat *info, int flags) {
    REAL(int, fstatat, (int, const char *, struct stat *, int));
    return strikes(CALLER, false, false) ? -1 : real(dir_fd, path, info, flags);
}

EXPORT int statvfs(const char *path, struct statvfs *info) {
    REAL(int, statvfs, (const char *, struct statvfs *));
    return strikes(CALLER, false, false) ? -1 : real(path, info);
}

EXPORT int rename(const char *old_path, const char *new_path) {
    REAL(int, rename, (const char *, const char *));
    CHANGE("rename", new_path, real(old_path, new_path));
}

EXPORT int renameat(int old_fd, const char *old_path, int new_fd, const char *new_path) {
    REAL(int, renameat, (int, const char *, int, const char *));
    CHANGE("renameat", new_path, real(old_fd, old_path, new_fd, new_path));
}

EXPORT int linkat(int old_fd, const char *old_path, int new_fd, const char *new_path, int flags) {
    REAL(int, linkat, (int, const char *, int, const char *, int));
    CHANGE("linkat", new_path, real(old_fd, old_path, new_fd, new_path, flags));
}

EXPORT int unlink(const char *path) {
    REAL(int, unlink, (const char *));
    CHANGE("unlink", path, real(path));
}

EXPORT int unlinkat(int dir_fd, const char *path, int flags) {
    REAL(int, unlinkat, (int, const char *, int));
    CHANGE("unlinkat", path, real(dir_fd, path, flags));
}

EXPORT int mkdir(const char *path, mode_t mode) {
    REAL(int, mkdir, (const char *, mode_t));
    CHANGE("mkdir", path, real(path, mode));
}

EXPORT int mkdirat(int dir_fd, const char *path, mode_t mode) {
    REAL(int, mkdirat, (int, const char *, mode_t));
    CHANGE("mkdirat", path, real(dir_fd, path, mode));
}

EXPORT int rmdir(const char *path) {
    REAL(int, rmdir, (const char *));
    CHANGE("rmdir", path, real(path));
}

EXPORT int futimens(int fd, const struct timespec times[2]) {
    REAL(int, futimens, (int, const struct timespec *));
    CHANGE("futimens", "-", real(fd, times));
}

EXPORT int utimensat(int dir_fd, const char *path, const struct timespec times[2], int flags) {
    REAL(int, utimensat, (int, const char *, const struct timespec *, int));
    CHANGE("utimensat", path, real(dir_fd, path, times, flags));
}

EXPORT DIR *opendir(const char *path) {
    REAL(DIR *, opendir, (const char *));
    return strikes(CALLER, false, false) ? NULL : real(path);
}

EXPORT DIR *fdopendir(int fd) {
    REAL(DIR *, fdopendir, (int));
    return strikes(CALLER, false, false) ? NULL : real(fd);
}

EXPORT struct dirent *readdir(DIR *directory) {
    REAL(struct dirent *, readdir, (DIR *));
    return strikes(CALLER, false, false) ? NULL : real(directory);
}

// glibc's own names, because dlsym may need memory.
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

EXPORT void *malloc(size_t size) {
    return strikes(CALLER, true, false) ? NULL : __libc_malloc(size);
}

EXPORT void *calloc(size_t count, size_t size) {
    return strikes(CALLER, true, false) ? NULL : __libc_calloc(count, size);
}

EXPORT void *realloc(void *memory, size_t size) {
    return strikes(CALLER, true, false) ? NULL : __libc_realloc(memory, size);
}
// NOLINTEND(*-reserved-identifier,cert-dcl*,*-parameter-name,*-macro-parentheses)
