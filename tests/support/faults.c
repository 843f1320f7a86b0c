#include "support/faults.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/sys.h"

static rk_fault_plan current;
static atomic_uint counted, interruptible;

// True if this call must fail. Does not return if the process must end here.
static bool strikes(rk_fault_call call) {
    if (!(current.calls & (unsigned)call))
        return false;
    unsigned number = atomic_fetch_add(&counted, 1) + 1;
    if (current.nth == 0 || number < current.nth || (number > current.nth && !current.lasting))
        return false;
    if (current.exits && call != RK_FAULT_WRITE)
        _exit(RK_FAULT_EXIT_STATUS);
    errno = current.error_number;
    return true;
}

// True if this call must fail with EINTR.
static bool interrupted(void) {
    if (!current.interrupts || atomic_fetch_add(&interruptible, 1) % 2)
        return false;
    errno = EINTR;
    return true;
}

static size_t shortened(size_t len) {
    return current.most_io_bytes && len > current.most_io_bytes ? current.most_io_bytes : len;
}

static int faulty_open(const char *path, int flags, mode_t mode) {
    return interrupted() || strikes(RK_FAULT_OPEN) ? -1 : rk_sys_libc.open_fn(path, flags, mode);
}

static int faulty_openat(int dir_fd, const char *path, int flags, mode_t mode) {
    return interrupted() || strikes(RK_FAULT_OPEN)
               ? -1
               : rk_sys_libc.openat_fn(dir_fd, path, flags, mode);
}

// As on Linux, the descriptor is closed even if close(2) fails.
static int faulty_close(int fd) {
    bool fails = strikes(RK_FAULT_CLOSE);
    int status = rk_sys_libc.close_fn(fd);
    if (!fails)
        return status;
    errno = current.error_number;
    return -1;
}

static int faulty_closedir(DIR *directory) {
    bool fails = strikes(RK_FAULT_CLOSE);
    int status = rk_sys_libc.closedir_fn(directory);
    if (!fails)
        return status;
    errno = current.error_number;
    return -1;
}

static ssize_t faulty_read(int fd, void *data, size_t len) {
    return interrupted() || strikes(RK_FAULT_READ) ? -1
                                                   : rk_sys_libc.read_fn(fd, data, shortened(len));
}

static ssize_t faulty_pread(int fd, void *data, size_t len, off_t offset) {
    return interrupted() || strikes(RK_FAULT_READ)
               ? -1
               : rk_sys_libc.pread_fn(fd, data, shortened(len), offset);
}

static ssize_t faulty_write(int fd, const void *data, size_t len) {
    if (interrupted())
        return -1;
    if (!strikes(RK_FAULT_WRITE))
        return rk_sys_libc.write_fn(fd, data, shortened(len));
    if (current.exits) {
        ssize_t torn = rk_sys_libc.write_fn(fd, data, len / 2);
        (void)torn;
        _exit(RK_FAULT_EXIT_STATUS);
    }
    return -1;
}

static ssize_t faulty_pwrite(int fd, const void *data, size_t len, off_t offset) {
    if (interrupted())
        return -1;
    if (!strikes(RK_FAULT_WRITE))
        return rk_sys_libc.pwrite_fn(fd, data, shortened(len), offset);
    if (current.exits) {
        ssize_t torn = rk_sys_libc.pwrite_fn(fd, data, len / 2, offset);
        (void)torn;
        _exit(RK_FAULT_EXIT_STATUS);
    }
    return -1;
}

static int faulty_fsync(int fd) {
    return interrupted() || strikes(RK_FAULT_FSYNC) ? -1 : rk_sys_libc.fsync_fn(fd);
}

static int faulty_ftruncate(int fd, off_t len) {
    return strikes(RK_FAULT_UTIME) ? -1 : rk_sys_libc.ftruncate_fn(fd, len);
}

static int faulty_fstat(int fd, struct stat *out_stat) {
    return strikes(RK_FAULT_FSTAT) ? -1 : rk_sys_libc.fstat_fn(fd, out_stat);
}

static int faulty_lstat(const char *path, struct stat *out_stat) {
    return strikes(RK_FAULT_LSTAT) ? -1 : rk_sys_libc.lstat_fn(path, out_stat);
}

static int faulty_fstatat(int dir_fd, const char *path, struct stat *out_stat) {
    return strikes(RK_FAULT_LSTAT) ? -1 : rk_sys_libc.fstatat_fn(dir_fd, path, out_stat);
}

static int faulty_rename(const char *from, const char *to) {
    return strikes(RK_FAULT_RENAME) ? -1 : rk_sys_libc.rename_fn(from, to);
}

static int faulty_renameat(int from_fd, const char *from, int to_fd, const char *to) {
    return strikes(RK_FAULT_RENAME) ? -1 : rk_sys_libc.renameat_fn(from_fd, from, to_fd, to);
}

static int faulty_linkat(int from_fd, const char *from, int to_fd, const char *to) {
    return strikes(RK_FAULT_LINK) ? -1 : rk_sys_libc.linkat_fn(from_fd, from, to_fd, to);
}

static int faulty_link_open(int fd, int to_fd, const char *to) {
    return strikes(RK_FAULT_LINK) ? -1 : rk_sys_libc.link_open_fn(fd, to_fd, to);
}

static int faulty_unlink(const char *path) {
    return strikes(RK_FAULT_UNLINK) ? -1 : rk_sys_libc.unlink_fn(path);
}

static int faulty_unlinkat(int dir_fd, const char *path, int flags) {
    return strikes(RK_FAULT_UNLINK) ? -1 : rk_sys_libc.unlinkat_fn(dir_fd, path, flags);
}

static int faulty_mkdir(const char *path, mode_t mode) {
    return strikes(RK_FAULT_MKDIR) ? -1 : rk_sys_libc.mkdir_fn(path, mode);
}

static int faulty_mkdirat(int dir_fd, const char *path, mode_t mode) {
    return strikes(RK_FAULT_MKDIR) ? -1 : rk_sys_libc.mkdirat_fn(dir_fd, path, mode);
}

static int faulty_rmdir(const char *path) {
    return strikes(RK_FAULT_RMDIR) ? -1 : rk_sys_libc.rmdir_fn(path);
}

static DIR *faulty_opendir(const char *path) {
    return strikes(RK_FAULT_OPENDIR) ? NULL : rk_sys_libc.opendir_fn(path);
}

static DIR *faulty_fdopendir(int fd) {
    return strikes(RK_FAULT_OPENDIR) ? NULL : rk_sys_libc.fdopendir_fn(fd);
}

static struct dirent *faulty_readdir(DIR *directory) {
    return strikes(RK_FAULT_READDIR) ? NULL : rk_sys_libc.readdir_fn(directory);
}

static int faulty_fchmod(int fd, mode_t mode) {
    return strikes(RK_FAULT_UTIME) ? -1 : rk_sys_libc.fchmod_fn(fd, mode);
}

static int faulty_futimens(int fd, const struct timespec times[2]) {
    return strikes(RK_FAULT_UTIME) ? -1 : rk_sys_libc.futimens_fn(fd, times);
}

static int faulty_utimensat(int dir_fd, const char *path, const struct timespec times[2]) {
    return strikes(RK_FAULT_UTIME) ? -1 : rk_sys_libc.utimensat_fn(dir_fd, path, times);
}

static int faulty_statvfs(const char *path, struct statvfs *out_info) {
    return strikes(RK_FAULT_STATVFS) ? -1 : rk_sys_libc.statvfs_fn(path, out_info);
}

static int faulty_flock(int fd, int operation) {
    return strikes(RK_FAULT_LOCK) ? -1 : rk_sys_libc.flock_fn(fd, operation);
}

static int faulty_eaccess(const char *path, int mode) {
    return strikes(RK_FAULT_STATVFS) ? -1 : rk_sys_libc.eaccess_fn(path, mode);
}

static void *faulty_malloc(size_t size_bytes) {
    return strikes(RK_FAULT_ALLOC) ? NULL : malloc(size_bytes);
}

static void *faulty_realloc(void *ptr, size_t size_bytes) {
    return strikes(RK_FAULT_ALLOC) ? NULL : realloc(ptr, size_bytes);
}

void rk_fault_begin(const rk_fault_plan *plan) {
    static const rk_sys_table sys = {
        .open_fn = faulty_open,
        .close_fn = faulty_close,
        .read_fn = faulty_read,
        .write_fn = faulty_write,
        .fsync_fn = faulty_fsync,
        .ftruncate_fn = faulty_ftruncate,
        .fstat_fn = faulty_fstat,
        .lstat_fn = faulty_lstat,
        .rename_fn = faulty_rename,
        .unlink_fn = faulty_unlink,
        .mkdir_fn = faulty_mkdir,
        .rmdir_fn = faulty_rmdir,
        .opendir_fn = faulty_opendir,
        .readdir_fn = faulty_readdir,
        .closedir_fn = faulty_closedir,
        .pread_fn = faulty_pread,
        .pwrite_fn = faulty_pwrite,
        .futimens_fn = faulty_futimens,
        .fchmod_fn = faulty_fchmod,
        .statvfs_fn = faulty_statvfs,
        .flock_fn = faulty_flock,
        .eaccess_fn = faulty_eaccess,
        .openat_fn = faulty_openat,
        .fstatat_fn = faulty_fstatat,
        .mkdirat_fn = faulty_mkdirat,
        .renameat_fn = faulty_renameat,
        .linkat_fn = faulty_linkat,
        .link_open_fn = faulty_link_open,
        .unlinkat_fn = faulty_unlinkat,
        .utimensat_fn = faulty_utimensat,
        .fdopendir_fn = faulty_fdopendir,
    };
    static const rk_alloc_table alloc = {faulty_malloc, faulty_realloc, free};
    current = *plan;
    if (current.calls == 0)
        current.calls = RK_FAULT_EVERY_SYSCALL;
    if (current.error_number == 0)
        current.error_number = EIO;
    atomic_store(&counted, 0);
    atomic_store(&interruptible, 0);
    rk_sys_replace(&sys);
    rk_alloc_replace(&alloc);
}

bool rk_fault_end(void) {
    rk_sys_replace(NULL);
    rk_alloc_replace(NULL);
    return current.nth != 0 && atomic_load(&counted) >= current.nth;
}

unsigned rk_fault_count(void) {
    return atomic_load(&counted);
}

int rk_fault_in_child(void (*body)(void *context), void *context) {
    pid_t child = fork();
    if (child < 0) {
        perror("fork");
        abort();
    }
    if (child == 0) {
        body(context);
        _exit(0);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) {
            perror("waitpid");
            abort();
        }
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
