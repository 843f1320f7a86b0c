#include "torch/headers.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/sys.h"
#include "base/tree.h"

enum { HEADERS_MAX = 64 };

// Opens a folder that only this user can change.
static int open_safely(int parent_fd, const char *name, bool makes) {
    struct stat info;
    if (makes)
        (void)rk_sys()->mkdirat_fn(parent_fd, name, 0700);
    int fd = rk_fd_open(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (fd < 0 || rk_sys()->fstat_fn(fd, &info) != 0) {
        rk_autofd_cleanup(&fd);
        return -1;
    }
    rk_err *err = rk_tree_check_folder(&info, name);
    if (err) {
        rk_autofd_cleanup(&fd);
        fd = -1;
    }
    rk_err_drop(err, "the headers are made again");
    return fd;
}

void rk_torch_headers_open(const char *own, bool makes, int *out_fd) {
    rk_autofd top = open_safely(AT_FDCWD, own, makes);
    *out_fd = top < 0 ? -1 : open_safely(top, "precompiled_headers", makes);
}

static rk_err *visit(int fd, const char *name, uint64_t since_ns, rk_pack_files *files) {
    struct stat info;
    if (!rk_pack_is_header(name) || files->count == HEADERS_MAX ||
        rk_sys()->fstatat_fn(fd, name, &info) != 0 || !S_ISREG(info.st_mode) ||
        info.st_uid != geteuid() || rk_stat_modified_ns(&info) < since_ns)
        return NULL;
    char *copy = rk_strdup(name);
    if (!copy)
        return rk_err_no_memory();
    files->items[files->count++] = (rk_pack_file){
        .name = copy,
        .bytes = (uint64_t)info.st_size,
        .modified_ns = rk_stat_modified_ns(&info),
        .module = RK_PACK_HEADERS,
    };
    return NULL;
}

rk_err *rk_torch_headers_list(int directory_fd, uint64_t since_ns, rk_pack_files *out_files) {
    rk_err *err = NULL;
    struct dirent *one;
    out_files->items = rk_calloc(HEADERS_MAX, sizeof *out_files->items);
    if (!out_files->items)
        return rk_err_no_memory();
    out_files->capacity = HEADERS_MAX;
    int fd = rk_fd_open(directory_fd, ".", O_RDONLY | O_DIRECTORY, 0);
    DIR *stream = fd < 0 ? NULL : rk_sys()->fdopendir_fn(fd);
    if (!stream) {
        rk_autofd_cleanup(&fd);
        return NULL; // it is gone
    }
    while (!err && (one = rk_sys()->readdir_fn(stream)) != NULL)
        err = visit(dirfd(stream), one->d_name, since_ns, out_files);
    (void)rk_sys()->closedir_fn(stream);
    return err;
}
