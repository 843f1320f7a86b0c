#include "torch/restore.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sys.h"
#include "base/temporary.h"
#include "torch/module.h"

enum { SECOND_NS = 1000000000 };

// One restore.
typedef struct restoring {
    int directory_fd;
    bool is_new;
    char folder[RK_TORCH_NAME_MAX_BYTES + 1]; // the folder that was made last
} restoring;

static rk_err *fail(const char *name) {
    return rk_error_errno(errno, "cannot write %s", name);
}

// Makes the folders above a file.
static rk_err *make_folders(restoring *self, const char *name) {
    char path[RK_TORCH_NAME_MAX_BYTES + 1];
    const char *last = strrchr(name, '/');
    size_t len = last ? (size_t)(last - name) : 0;
    if (len == 0 || (strncmp(self->folder, name, len) == 0 && !self->folder[len]))
        return NULL;
    for (size_t i = 1; i <= len; i++) {
        if (name[i] != '/')
            continue;
        memcpy(path, name, i);
        path[i] = '\0';
        if (rk_sys()->mkdirat_fn(self->directory_fd, path, 0700) != 0 && errno != EEXIST)
            return fail(path);
    }
    memcpy(self->folder, name, len);
    self->folder[len] = '\0';
    return NULL;
}

static rk_err *fill(int fd, const char *name, const rk_torch_item *item) {
    const struct timespec modified = {.tv_sec = (time_t)(item->modified_ns / SECOND_NS),
                                      .tv_nsec = (long)(item->modified_ns % SECOND_NS)};
    const struct timespec times[2] = {modified, modified};
    RK_TRY(rk_err_wrap(rk_fd_write_all(fd, item->content.data, item->content.len), "%s", name));
    // Last: writing changes it.
    return rk_sys()->futimens_fn(fd, times) == 0 ? NULL : fail(name);
}

static rk_err *write_file(const restoring *self, const char *name, const rk_torch_item *item) {
    int fd = rk_fd_open(self->directory_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
                        item->is_executable ? 0700 : 0600);
    if (fd < 0)
        return fail(name);
    rk_err *err = fill(fd, name, item);
    if (rk_sys()->close_fn(fd) != 0 && errno != EINTR && !err)
        err = fail(name);
    if (err)
        (void)rk_sys()->unlinkat_fn(self->directory_fd, name, 0);
    return err;
}

// Writes a file under another name, and then gives it its name, unless that has been taken.
static rk_err *write_aside(const restoring *self, const char *name, const rk_torch_item *item,
                           bool *out_written) {
    RK_AUTO(rk_buf) aside = {0};
    const char *last = strrchr(name, '/');
    rk_buf_add(&aside, name, last ? (size_t)(last + 1 - name) : 0);
    rk_temporary_add_name(&aside);
    RK_TRY(rk_buf_status(&aside));
    const char *path = rk_buf_text(&aside);
    RK_TRY(write_file(self, path, item));
    *out_written = rk_sys()->linkat_fn(self->directory_fd, path, self->directory_fd, name) == 0;
    rk_err *err = *out_written || errno == EEXIST ? NULL : fail(name);
    (void)rk_sys()->unlinkat_fn(self->directory_fd, path, 0);
    return err;
}

static rk_err *restore_one(restoring *self, const rk_torch_item *item, bool *out_written) {
    char name[RK_TORCH_NAME_MAX_BYTES + 1];
    struct stat info;
    memcpy(name, item->name.data, item->name.len);
    name[item->name.len] = '\0';
    *out_written = false;
    if (rk_sys()->fstatat_fn(self->directory_fd, name, &info) == 0)
        return NULL;
    RK_TRY(make_folders(self, name));
    if (!self->is_new)
        return write_aside(self, name, item, out_written);
    RK_TRY(write_file(self, name, item));
    *out_written = true;
    return NULL;
}

rk_err *rk_torch_restore(int directory_fd, bool is_new, const rk_torch_item *items, size_t count,
                         size_t *out_written) {
    restoring self = {.directory_fd = directory_fd, .is_new = is_new};
    *out_written = 0;
    for (size_t i = 0; i < count; i++) {
        bool written = false;
        RK_TRY(restore_one(&self, &items[i], &written));
        *out_written += written;
    }
    return NULL;
}
