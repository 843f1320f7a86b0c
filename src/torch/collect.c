// Removes the directories of torch.compile that no start used for long.
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/temporary.h"
#include "torch/directory.h"

enum { DEPTH_MAX = 32, NAMES_MAX = 1 << 16 };

static uint64_t walk(int fd, bool removes, unsigned depth);

// Counts the bytes of one file or folder, and removes it.
static uint64_t walk_one(int fd, const char *name, bool removes, unsigned depth) {
    struct stat info;
    uint64_t bytes = 0;
    if (rk_sys()->fstatat_fn(fd, name, &info) != 0)
        return 0;
    if (S_ISDIR(info.st_mode)) {
        int inner = rk_fd_open(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        bytes = inner < 0 ? 0 : walk(inner, removes, depth + 1);
    } else if (S_ISREG(info.st_mode)) {
        bytes = (uint64_t)info.st_size;
    }
    if (removes)
        (void)rk_sys()->unlinkat_fn(fd, name, S_ISDIR(info.st_mode) ? AT_REMOVEDIR : 0);
    return bytes;
}

// Follows no links. `fd` is consumed.
static uint64_t walk(int fd, bool removes, unsigned depth) {
    DIR *stream = depth < DEPTH_MAX ? rk_sys()->fdopendir_fn(fd) : NULL;
    struct dirent *one;
    uint64_t bytes = 0;
    if (!stream) {
        rk_autofd_cleanup(&fd);
        return 0;
    }
    while ((one = rk_sys()->readdir_fn(stream)) != NULL)
        if (strcmp(one->d_name, ".") != 0 && strcmp(one->d_name, "..") != 0)
            bytes += walk_one(dirfd(stream), one->d_name, removes, depth);
    (void)rk_sys()->closedir_fn(stream);
    return bytes;
}

// One call of rk_torch_directories_collect.
typedef struct collecting {
    int base_fd;
    bool dry_run;
    void (*visit)(void *context, const rk_torch_unused *unused);
    void *context;
} collecting;

// Gives the directory another name first: a start then makes a new one, and waits for nothing.
static bool remove_directory(const collecting *self, const char *name, int fd,
                             uint64_t *out_bytes) {
    RK_AUTO(rk_buf) aside = {0};
    rk_temporary_add_name(&aside);
    if (aside.failed ||
        rk_sys()->renameat_fn(self->base_fd, name, self->base_fd, rk_buf_text(&aside)) != 0)
        return false;
    int inner = rk_fd_open(fd, ".", O_RDONLY | O_DIRECTORY, 0);
    *out_bytes = inner < 0 ? 0 : walk(inner, true, 0);
    (void)rk_sys()->unlinkat_fn(self->base_fd, rk_buf_text(&aside), AT_REMOVEDIR);
    return true;
}

static rk_err *visit_directory(void *context, const char *name) {
    const collecting *self = context;
    rk_autofd fd = rk_fd_open(self->base_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    struct stat info;
    uint64_t now_ns = rk_realtime_ns();
    // The lock first: a start sets the time before it takes its own.
    if (fd < 0 || rk_sys()->flock_fn(fd, LOCK_EX | LOCK_NB) != 0 ||
        rk_sys()->fstat_fn(fd, &info) != 0 || info.st_uid != geteuid() ||
        rk_stat_modified_ns(&info) + RK_TORCH_UNUSED_NS > now_ns)
        return NULL;
    rk_torch_unused unused = {.name = name, .age_ns = now_ns - rk_stat_modified_ns(&info)};
    if (self->dry_run) {
        (void)rk_sys()->flock_fn(fd, LOCK_UN); // a start waits only for a removal
        int inner = rk_fd_open(fd, ".", O_RDONLY | O_DIRECTORY, 0);
        unused.bytes = inner < 0 ? 0 : walk(inner, false, 0);
    } else if (!remove_directory(self, name, fd, &unused.bytes)) {
        return NULL;
    }
    self->visit(self->context, &unused);
    return NULL;
}

rk_err *rk_torch_directories_collect(const char *base, bool dry_run,
                                     void (*visit)(void *context, const rk_torch_unused *unused),
                                     void *context) {
    rk_autofd fd = rk_fd_open(AT_FDCWD, base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    collecting self = {fd, dry_run, visit, context};
    if (fd < 0)
        return errno == ENOENT ? NULL : rk_error_errno(errno, "cannot open %s", base);
    return rk_fs_list(base, NAMES_MAX, visit_directory, &self);
}
