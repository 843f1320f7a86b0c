#include "base/sys.h"

#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static int sys_open(const char *path, int flags, mode_t mode) {
    return open(path, flags, mode);
}

static int sys_fstat(int fd, struct stat *out_stat) {
    return fstat(fd, out_stat);
}

static int sys_lstat(const char *path, struct stat *out_stat) {
    return lstat(path, out_stat);
}

static int sys_openat(int dir_fd, const char *path, int flags, mode_t mode) {
    return openat(dir_fd, path, flags, mode);
}

static int sys_fstatat(int dir_fd, const char *path, struct stat *out_stat) {
    return fstatat(dir_fd, path, out_stat, AT_SYMLINK_NOFOLLOW);
}

static int sys_linkat(int from_fd, const char *from, int to_fd, const char *to) {
    return linkat(from_fd, from, to_fd, to, 0);
}

static int sys_utimensat(int dir_fd, const char *path, const struct timespec times[2]) {
    return utimensat(dir_fd, path, times, AT_SYMLINK_NOFOLLOW);
}

static int sys_statvfs(const char *path, struct statvfs *out_info) {
    return statvfs(path, out_info);
}

const rk_sys_table rk_sys_libc = {
    .open_fn = sys_open,
    .close_fn = close,
    .read_fn = read,
    .write_fn = write,
    .fsync_fn = fsync,
    .fstat_fn = sys_fstat,
    .lstat_fn = sys_lstat,
    .rename_fn = rename,
    .unlink_fn = unlink,
    .mkdir_fn = mkdir,
    .rmdir_fn = rmdir,
    .opendir_fn = opendir,
    .readdir_fn = readdir,
    .closedir_fn = closedir,
    .pread_fn = pread,
    .futimens_fn = futimens,
    .fchmod_fn = fchmod,
    .statvfs_fn = sys_statvfs,
    .openat_fn = sys_openat,
    .fstatat_fn = sys_fstatat,
    .mkdirat_fn = mkdirat,
    .renameat_fn = renameat,
    .linkat_fn = sys_linkat,
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
