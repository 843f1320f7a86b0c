#include "pack/restore.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sys.h"
#include "base/temporary.h"

enum { SECOND_NS = 1000000000 };

// One restore.
typedef struct restoring {
    int directory_fd;
    const char *path;
    char folder[RK_PACK_NAME_MAX_BYTES + 1]; // the folder that was made last
} restoring;

static bool is_full(int error_number) {
    return error_number == ENOSPC || error_number == EDQUOT || error_number == EROFS;
}

static rk_err *fail(const restoring *self, const char *name) {
    int number = errno;
    return rk_error_errno(number, "cannot write %s/%s%s", self->path, name,
                          is_full(number) ? " (free space there)" : "");
}

// Makes the folders above a file.
static rk_err *make_folders(restoring *self, const char *name) {
    char path[RK_PACK_NAME_MAX_BYTES + 1];
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
            return fail(self, path);
    }
    memcpy(self->folder, name, len);
    self->folder[len] = '\0';
    return NULL;
}

static rk_err *fill(const restoring *self, int fd, const char *name, const rk_pack_item *item) {
    const struct timespec modified = {.tv_sec = (time_t)(item->modified_ns / SECOND_NS),
                                      .tv_nsec = (long)(item->modified_ns % SECOND_NS)};
    const struct timespec times[2] = {modified, modified};
    rk_err *err = rk_fd_write_all(fd, item->content.data, item->content.len);
    if (err) {
        errno = rk_err_errno(err);
        rk_err_drop(err, "the error with the path replaces it");
        return fail(self, name);
    }
    // Last: writing changes it.
    return rk_sys()->futimens_fn(fd, times) == 0 ? NULL : fail(self, name);
}

static rk_err *write_file(const restoring *self, const char *name, const rk_pack_item *item) {
    int fd = rk_fd_open(self->directory_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
                        item->is_executable ? 0700 : 0600);
    if (fd < 0)
        return fail(self, name);
    rk_err *err = fill(self, fd, name, item);
    if (rk_sys()->close_fn(fd) != 0 && errno != EINTR && !err)
        err = fail(self, name);
    if (err)
        (void)rk_sys()->unlinkat_fn(self->directory_fd, name, 0);
    return err;
}

// Gives a written file its name, unless that has been taken. Some file systems have no links.
static bool give_name(const restoring *self, const char *aside, const char *name) {
    if (rk_sys()->linkat_fn(self->directory_fd, aside, self->directory_fd, name) == 0)
        return true;
    bool has_links = errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS && errno != EMLINK;
    return !has_links &&
           rk_sys()->renameat_fn(self->directory_fd, aside, self->directory_fd, name) == 0;
}

// Writes a file under another name first, so that it appears with its whole content.
static rk_err *write_aside(const restoring *self, const char *name, const rk_pack_item *item,
                           bool *out_written) {
    RK_AUTO(rk_buf) aside = {0};
    const char *last = strrchr(name, '/');
    rk_buf_add(&aside, name, last ? (size_t)(last + 1 - name) : 0);
    rk_temporary_add_name(&aside);
    RK_TRY(rk_buf_status(&aside));
    const char *path = rk_buf_text(&aside);
    RK_TRY(write_file(self, path, item));
    *out_written = give_name(self, path, name);
    rk_err *err = *out_written || errno == EEXIST ? NULL : fail(self, name);
    (void)rk_sys()->unlinkat_fn(self->directory_fd, path, 0);
    return err;
}

static rk_err *restore_one(restoring *self, const rk_pack_item *item, bool *out_written) {
    char name[RK_PACK_NAME_MAX_BYTES + 1];
    struct stat info;
    rk_pack_item_name(item, name);
    *out_written = false;
    if (rk_sys()->fstatat_fn(self->directory_fd, name, &info) == 0)
        return NULL;
    RK_TRY(make_folders(self, name));
    return write_aside(self, name, item, out_written);
}

bool rk_pack_restore_is_full(const rk_err *err) {
    return is_full(rk_err_errno(err));
}

rk_err *rk_pack_restore(int directory_fd, const char *path, const rk_pack_item *items, size_t count,
                        rk_pack_restored *sums) {
    restoring self = {.directory_fd = directory_fd, .path = path};
    rk_err *first = NULL;
    for (size_t i = 0; i < count; i++) {
        bool written = false;
        rk_err *err = sums->is_full ? NULL : restore_one(&self, &items[i], &written);
        sums->written += written;
        sums->bytes += written ? items[i].content.len : 0;
        sums->failed += err != NULL || sums->is_full;
        sums->present += !err && !sums->is_full && !written;
        sums->is_full |= rk_pack_restore_is_full(err);
        if (first)
            rk_err_drop(err, "the first one is reported");
        else
            first = err;
    }
    return first;
}
