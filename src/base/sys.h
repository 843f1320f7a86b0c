// System calls and clocks, called through tables. Tests replace the tables to fail the n-th call,
// to exit at the n-th call, or to move the clock. Only src/base calls libc for these; other modules
// use this header or base/fs.h.
#pragma once

#include <dirent.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>

#include "base/macros.h"

// Each entry behaves like the call it is named after: -1 (or NULL) and errno on failure. The table
// has an entry for every file call of this library; tests cannot make any other call fail. In
// libc's table (rk_sys_libc), write_fn and pwrite_fn never raise SIGPIPE (on stderr) or SIGXFSZ. A
// new descriptor is never 0, 1 or 2, even if a standard stream is closed.
typedef struct rk_sys_table {
    int (*open_fn)(const char *path, int flags, mode_t mode);
    int (*close_fn)(int fd);
    ssize_t (*read_fn)(int fd, void *data, size_t len);
    ssize_t (*write_fn)(int fd, const void *data, size_t len);
    int (*fsync_fn)(int fd);
    int (*ftruncate_fn)(int fd, off_t len);
    int (*fstat_fn)(int fd, struct stat *out_stat);
    int (*lstat_fn)(const char *path, struct stat *out_stat);
    int (*rename_fn)(const char *from, const char *to);
    int (*unlink_fn)(const char *path);
    int (*mkdir_fn)(const char *path, mode_t mode);
    int (*rmdir_fn)(const char *path);
    DIR *(*opendir_fn)(const char *path);
    struct dirent *(*readdir_fn)(DIR *directory);
    int (*closedir_fn)(DIR *directory);
    ssize_t (*pread_fn)(int fd, void *data, size_t len, off_t offset);
    ssize_t (*pwrite_fn)(int fd, const void *data, size_t len, off_t offset);
    int (*futimens_fn)(int fd, const struct timespec times[2]);
    int (*fchmod_fn)(int fd, mode_t mode);
    int (*statvfs_fn)(const char *path, struct statvfs *out_info);
    int (*flock_fn)(int fd, int operation);
    int (*eaccess_fn)(const char *path, int mode); // access(2) with the effective user

    // Relative to an open directory, or to the working directory with AT_FDCWD.
    int (*openat_fn)(int dir_fd, const char *path, int flags, mode_t mode);
    int (*fstatat_fn)(int dir_fd, const char *path, struct stat *out_stat); // follows no link
    int (*mkdirat_fn)(int dir_fd, const char *path, mode_t mode);
    int (*renameat_fn)(int from_fd, const char *from, int to_fd, const char *to);
    int (*linkat_fn)(int from_fd, const char *from, int to_fd, const char *to); // follows no link
    int (*link_open_fn)(int fd, int to_fd, const char *to); // names a file of O_TMPFILE
    int (*unlinkat_fn)(int dir_fd, const char *path, int flags);
    int (*utimensat_fn)(int dir_fd, const char *path,
                        const struct timespec times[2]); // follows no link
    DIR *(*fdopendir_fn)(int fd);
} rk_sys_table;

typedef struct rk_clock_table {
    uint64_t (*monotonic_ns_fn)(void);
    uint64_t (*realtime_ns_fn)(void); // since 1970-01-01 UTC
    // Since boot, time asleep included. If NULL, the real clock is used.
    uint64_t (*boottime_ns_fn)(void);
} rk_clock_table;

const rk_sys_table *rk_sys(void);      // the current table
extern const rk_sys_table rk_sys_libc; // libc's table, which tests copy and change

// Replace a table for the whole process; NULL restores libc's. Only for tests, before any thread
// exists.
void rk_sys_replace(const rk_sys_table *table);
void rk_clock_replace(const rk_clock_table *table);

// The time of a file's last modification, since 1970-01-01 UTC. A time before 1970 wraps around and
// is greater than all others.
static inline uint64_t rk_stat_modified_ns(const struct stat *info) {
    return (uint64_t)info->st_mtim.tv_sec * 1000000000u + (uint64_t)info->st_mtim.tv_nsec;
}

uint64_t rk_monotonic_ns(void);
uint64_t rk_realtime_ns(void);
uint64_t rk_boottime_ns(void);
