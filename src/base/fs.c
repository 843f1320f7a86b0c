#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>

#include "base/alloc.h"
#include "base/at_internal.h"
#include "base/fd.h"

rk_err *rk_fs_read(const char *path, size_t max_bytes, rk_buf *out_data) {
    // O_NONBLOCK: a FIFO in place of the file must not hang the job.
    rk_autofd fd = rk_fd_open(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0)
        return rk_error_errno(errno, "cannot open %s", path);
    return rk_at_read(fd, path, max_bytes, 0, out_data);
}

rk_err *rk_fs_read_trusted(const char *path, size_t max_bytes, mode_t refused_mode,
                           rk_buf *out_data) {
    rk_autofd fd = rk_fd_open(AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0);
    if (fd < 0)
        return rk_error_errno(errno, "cannot open %s", path);
    return rk_at_read(fd, path, max_bytes, refused_mode, out_data);
}

// Opens the directory that contains `path`. `out_fd` is owned.
static rk_err *open_directory_of(const char *path, int *out_fd) {
    rk_autofree char *directory = rk_strdup(path);
    if (!directory)
        return rk_err_no_memory();
    char *slash = strrchr(directory, '/');
    if (slash == directory)
        slash[1] = '\0';
    else if (slash)
        *slash = '\0';
    int fd = rk_fd_open(AT_FDCWD, slash ? directory : ".", O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return rk_error_errno(errno, "cannot open the directory of %s", path);
    *out_fd = fd;
    return NULL;
}

rk_err *rk_fs_publish(const char *path, const void *data, size_t len, mode_t mode) {
    rk_autofd directory = -1;
    RK_TRY(open_directory_of(path, &directory));
    const char *slash = strrchr(path, '/');
    return rk_at_publish(directory, slash ? slash + 1 : path, path, data, len, mode);
}

// Follows symbolic links. Needs no permission on the directory itself.
static bool is_directory(const char *path) {
    rk_autofd fd = rk_fd_open(AT_FDCWD, path, O_PATH | O_DIRECTORY, 0);
    return fd >= 0;
}

static rk_err *make_dir(const char *path, mode_t mode) {
    if (rk_sys()->mkdir_fn(path, mode) == 0)
        return NULL;
    int error_number = errno;
    // In a read-only or foreign parent, an existing directory gives EROFS or EACCES, not EEXIST.
    if (is_directory(path))
        return NULL;
    return rk_error_errno(error_number, "cannot make directory %s", path);
}

rk_err *rk_fs_make_dirs(const char *path, mode_t mode) {
    rk_autofree char *partial = rk_strdup(path);
    if (!partial)
        return rk_err_no_memory();
    char *next = partial + strspn(partial, "/");
    while (*next) {
        next += strcspn(next, "/");
        char *rest = next + strspn(next, "/");
        char kept = *next;
        *next = '\0';
        RK_TRY(make_dir(partial, mode));
        *next = kept;
        next = rest;
    }
    return NULL;
}

rk_err *rk_fs_list(const char *path, size_t max_entries, rk_fs_visit_fn visit, void *context) {
    DIR *directory = rk_sys()->opendir_fn(path);
    if (!directory)
        return rk_error_errno(errno, "cannot list %s", path);
    return rk_at_list(directory, path, max_entries, visit, context);
}

rk_err *rk_fs_remove(const char *path) {
    if (rk_sys()->unlink_fn(path) != 0)
        return rk_error_errno(errno, "cannot remove %s", path);
    return NULL;
}

char *rk_path_join(const char *directory, const char *name) {
    size_t directory_len = strlen(directory);
    while (directory_len > 1 && directory[directory_len - 1] == '/')
        directory_len--;
    size_t name_len = strlen(name);
    char *path = rk_malloc(directory_len + name_len + 2);
    if (!path)
        return NULL;
    memcpy(path, directory, directory_len);
    size_t at = directory_len;
    if (at && path[at - 1] != '/')
        path[at++] = '/';
    memcpy(path + at, name, name_len + 1);
    return path;
}
