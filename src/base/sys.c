#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { STANDARD_STREAMS = 3 };

// A program may run with a standard stream closed. No file of rekindle may get that number: the
// program's output would go into the file.
static int above_standard_streams(int fd) {
    if (RK_LIKELY(fd < 0 || fd >= STANDARD_STREAMS))
        return fd;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, STANDARD_STREAMS);
    int error_number = errno;
    (void)close(fd);
    errno = error_number;
    return moved;
}

static int sys_open(const char *path, int flags, mode_t mode) {
    return above_standard_streams(open(path, flags, mode));
}

static int sys_fstat(int fd, struct stat *out_stat) {
    return fstat(fd, out_stat);
}

static int sys_lstat(const char *path, struct stat *out_stat) {
    return lstat(path, out_stat);
}

static int sys_openat(int dir_fd, const char *path, int flags, mode_t mode) {
    return above_standard_streams(openat(dir_fd, path, flags, mode));
}

static DIR *sys_opendir(const char *path) {
    int fd = sys_open(path, O_RDONLY | O_NONBLOCK | O_DIRECTORY | O_CLOEXEC, 0);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    int error_number = errno;
    if (fd >= 0 && !directory)
        (void)close(fd);
    errno = error_number;
    return directory;
}

static int sys_fstatat(int dir_fd, const char *path, struct stat *out_stat) {
    return fstatat(dir_fd, path, out_stat, AT_SYMLINK_NOFOLLOW);
}

static int sys_linkat(int from_fd, const char *from, int to_fd, const char *to) {
    return linkat(from_fd, from, to_fd, to, 0);
}

// The flag AT_EMPTY_PATH would need a capability. This way needs /proc.
static int sys_link_open(int fd, int to_fd, const char *to) {
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, path, to_fd, to, AT_SYMLINK_FOLLOW);
}

static int sys_utimensat(int dir_fd, const char *path, const struct timespec times[2]) {
    return utimensat(dir_fd, path, times, AT_SYMLINK_NOFOLLOW);
}

static int sys_statvfs(const char *path, struct statvfs *out_info) {
    return statvfs(path, out_info);
}

static int sys_eaccess(const char *path, int mode) {
    return faccessat(AT_FDCWD, path, mode, AT_EACCESS);
}

// Writes without a signal to the job. By default, SIGPIPE (the reader of stderr is gone) and
// SIGXFSZ (beyond `ulimit -f`) end the process; errno reports the same failure. SIGTTOU would stop
// a job in the background (`stty tostop`); while it is blocked, the write succeeds.
// `offset` -1: at the descriptor's own offset.
static ssize_t write_without_signal(int fd, const void *data, size_t len, off_t offset) {
    static const struct timespec at_once;
    sigset_t raised, pending, before;
    (void)sigemptyset(&raised);
    (void)sigaddset(&raised, SIGPIPE);
    (void)sigaddset(&raised, SIGXFSZ);
    (void)sigaddset(&raised, SIGTTOU);
    (void)pthread_sigmask(SIG_BLOCK, &raised, &before);
    (void)sigpending(&pending);
    ssize_t written = offset < 0 ? write(fd, data, len) : pwrite(fd, data, len, offset);
    int error_number = errno;
    int number = written >= 0 ? 0 : error_number == EPIPE ? SIGPIPE : SIGXFSZ;
    // A signal that was pending before belongs to the job.
    if (number && (error_number == EPIPE || error_number == EFBIG) &&
        !sigismember(&pending, number)) {
        (void)sigemptyset(&raised);
        (void)sigaddset(&raised, number);
        while (sigtimedwait(&raised, NULL, &at_once) < 0 && errno == EINTR)
            continue;
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error_number;
    return written;
}

static bool are_files_limited(void) {
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

static ssize_t sys_write(int fd, const void *data, size_t len) {
    // All other descriptors are files, which raise no SIGPIPE.
    return fd < STANDARD_STREAMS || are_files_limited() ? write_without_signal(fd, data, len, -1)
                                                        : write(fd, data, len);
}

static ssize_t sys_pwrite(int fd, const void *data, size_t len, off_t offset) {
    return are_files_limited() ? write_without_signal(fd, data, len, offset)
                               : pwrite(fd, data, len, offset);
}

const rk_sys_table rk_sys_libc = {
    .open_fn = sys_open,
    .close_fn = close,
    .read_fn = read,
    .write_fn = sys_write,
    .fsync_fn = fsync,
    .ftruncate_fn = ftruncate,
    .fstat_fn = sys_fstat,
    .lstat_fn = sys_lstat,
    .rename_fn = rename,
    .unlink_fn = unlink,
    .mkdir_fn = mkdir,
    .rmdir_fn = rmdir,
    .opendir_fn = sys_opendir,
    .readdir_fn = readdir,
    .closedir_fn = closedir,
    .pread_fn = pread,
    .pwrite_fn = sys_pwrite,
    .futimens_fn = futimens,
    .fchmod_fn = fchmod,
    .statvfs_fn = sys_statvfs,
    .flock_fn = flock,
    .eaccess_fn = sys_eaccess,
    .openat_fn = sys_openat,
    .fstatat_fn = sys_fstatat,
    .mkdirat_fn = mkdirat,
    .renameat_fn = renameat,
    .linkat_fn = sys_linkat,
    .link_open_fn = sys_link_open,
    .unlinkat_fn = unlinkat,
    .utimensat_fn = sys_utimensat,
    .fdopendir_fn = fdopendir,
};

static uint64_t clock_ns(clockid_t clock) {
    struct timespec now = {0};
    (void)clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t libc_monotonic_ns(void) {
    return clock_ns(CLOCK_MONOTONIC);
}

static uint64_t libc_realtime_ns(void) {
    return clock_ns(CLOCK_REALTIME);
}

static uint64_t libc_boottime_ns(void) {
    return clock_ns(CLOCK_BOOTTIME);
}

static const rk_clock_table libc_clock = {libc_monotonic_ns, libc_realtime_ns, libc_boottime_ns};
static const rk_sys_table *current_sys = &rk_sys_libc;
static const rk_clock_table *current_clock = &libc_clock;

const rk_sys_table *rk_sys(void) {
    return current_sys;
}

void rk_sys_replace(const rk_sys_table *table) {
    current_sys = table ? table : &rk_sys_libc;
}

void rk_clock_replace(const rk_clock_table *table) {
    current_clock = table ? table : &libc_clock;
}

uint64_t rk_monotonic_ns(void) {
    return current_clock->monotonic_ns_fn();
}

uint64_t rk_realtime_ns(void) {
    return current_clock->realtime_ns_fn();
}

uint64_t rk_boottime_ns(void) {
    return current_clock->boottime_ns_fn ? current_clock->boottime_ns_fn() : libc_boottime_ns();
}
