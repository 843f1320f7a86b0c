#include "bundle/output_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/sys.h"
#include "base/temporary.h"
#include "base/temporary_sweep.h"
#include "bundle/format_internal.h"

enum { PENDING_BYTES = 256 << 10, BEHIND_BYTES = 8 << 20 };

static rk_err *open_folder(rk_bundle_output *self) {
    rk_autofree char *folder = rk_strdup(self->path);
    if (!folder)
        return rk_err_no_memory();
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = '\0';
    self->dir_fd = rk_fd_open(AT_FDCWD, slash ? folder : ".", O_RDONLY | O_DIRECTORY, 0);
    if (self->dir_fd < 0)
        return rk_error_errno(errno, "cannot open the folder of %s", self->path);
    return NULL;
}

static const char *name_of(const rk_bundle_output *self) {
    const char *slash = strrchr(self->path, '/');
    return slash ? slash + 1 : self->path;
}

// Refuses to replace anything but a file or a link. /dev/null must stay what it is.
static rk_err *check_target(const rk_bundle_output *self) {
    struct stat info;
    const char *name = name_of(self);
    rk_autofd folder = *name ? rk_fd_open(self->dir_fd, name, O_PATH | O_DIRECTORY, 0) : -1;
    if (folder >= 0 || !*name)
        return rk_error(RK_FAILED_PRECONDITION, "%s is a folder: give the name of a file",
                        self->path);
    if (rk_sys()->fstatat_fn(self->dir_fd, name, &info) != 0 || S_ISREG(info.st_mode) ||
        S_ISLNK(info.st_mode))
        return NULL;
    return rk_error(RK_FAILED_PRECONDITION,
                    "%s is not a regular file, and is not replaced: give the name of a file",
                    self->path);
}

// Leaves `fd` at -1 if the file system or the kernel has no such files, or if they cannot be named
// later. Other faults appear again in open_named.
static void open_nameless(rk_bundle_output *self, mode_t mode) {
    char path[64];
    struct stat info;
    self->fd = rk_fd_open(self->dir_fd, ".", O_TMPFILE | O_RDWR, mode);
    if (self->fd < 0)
        return;
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", self->fd);
    self->is_nameless = rk_sys()->lstat_fn(path, &info) == 0;
    if (!self->is_nameless) {
        rk_autofd_cleanup(&self->fd);
        self->fd = -1;
    }
}

static rk_err *open_named(rk_bundle_output *self, mode_t mode) {
    rk_temporary_add_name(&self->temporary);
    RK_TRY(rk_buf_status(&self->temporary));
    self->fd = rk_fd_open(self->dir_fd, rk_buf_text(&self->temporary),
                          O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
    if (self->fd < 0) {
        int error_number = errno;
        rk_buf_clear(&self->temporary);
        return rk_error_errno(error_number, "cannot create a temporary file in the folder of %s",
                              self->path);
    }
    return NULL;
}

// Gives the complete file a temporary name, because only renaming replaces an older bundle.
static rk_err *name_file(rk_bundle_output *self) {
    if (!self->is_nameless)
        return NULL;
    rk_temporary_add_name(&self->temporary);
    RK_TRY(rk_buf_status(&self->temporary));
    if (rk_sys()->link_open_fn(self->fd, self->dir_fd, rk_buf_text(&self->temporary)) == 0)
        return NULL;
    int error_number = errno;
    rk_buf_clear(&self->temporary);
    return rk_error_errno(error_number, "cannot give a new file a name in the folder of %s",
                          self->path);
}

rk_err *rk_bundle_output_begin(const char *path, mode_t mode, rk_bundle_output *out_output) {
    rk_bundle_output *self = out_output;
    *self = (rk_bundle_output){.dir_fd = -1, .fd = -1};
    self->path = rk_strdup(path);
    if (!self->path)
        return rk_err_no_memory();
    RK_TRY(open_folder(self));
    RK_TRY(check_target(self));
    rk_buf_reserve(&self->pending, PENDING_BYTES);
    RK_TRY(rk_buf_status(&self->pending));
    rk_err_drop(rk_temporary_sweep(self->dir_fd), "leftovers cost only space");
    open_nameless(self, mode);
    return self->fd < 0 ? open_named(self, mode) : NULL;
}

rk_err *rk_bundle_output_put(const rk_bundle_output *output, uint64_t offset, rk_span data) {
    return rk_err_wrap(rk_fd_write_at(output->fd, offset, data.data, data.len), "%s", output->path);
}

void rk_bundle_output_write_behind(const rk_bundle_output *output, uint64_t *behind,
                                   uint64_t offset, uint64_t done) {
    if (done - *behind < BEHIND_BYTES)
        return;
    rk_fd_write_behind(output->fd, offset + *behind, done - *behind);
    *behind = done;
}

static rk_err *write_now(rk_bundle_output *self, rk_span data) {
    RK_TRY(rk_bundle_output_put(self, self->written_bytes, data));
    self->written_bytes += data.len;
    rk_bundle_output_write_behind(self, &self->behind_bytes, 0, self->written_bytes);
    return NULL;
}

rk_err *rk_bundle_output_flush(rk_bundle_output *output) {
    RK_TRY(write_now(output, rk_buf_span(&output->pending)));
    rk_buf_clear(&output->pending);
    return NULL;
}

rk_err *rk_bundle_output_add(rk_bundle_output *output, rk_span data) {
    if (output->pending.len + data.len > PENDING_BYTES)
        RK_TRY(rk_bundle_output_flush(output));
    output->bytes += data.len;
    if (data.len > PENDING_BYTES)
        return write_now(output, data);
    rk_buf_add_span(&output->pending, data);
    return rk_buf_status(&output->pending);
}

rk_err *rk_bundle_output_align(rk_bundle_output *output) {
    static const uint8_t zeros[RK_BUNDLE_ALIGNMENT_BYTES];
    size_t len = (size_t)(rk_bundle_align(output->bytes) - output->bytes);
    return len ? rk_bundle_output_add(output, rk_span_of(zeros, len)) : NULL;
}

// Moves bytes of the file to a smaller offset.
static rk_err *move(const rk_bundle_output *self, uint64_t from, uint64_t len, uint64_t to) {
    rk_autofree uint8_t *buffer = rk_malloc(PENDING_BYTES);
    if (!buffer)
        return rk_err_no_memory();
    for (uint64_t done = 0; done < len;) {
        size_t part = len - done < PENDING_BYTES ? (size_t)(len - done) : PENDING_BYTES, got;
        if (!rk_fd_read_at(self->fd, from + done, buffer, part, &got))
            return rk_error_errno(errno, "cannot read %s", self->path);
        if (got < part)
            return rk_error(RK_ABORTED, "another process has shortened %s", self->path);
        RK_TRY(rk_bundle_output_put(self, to + done, rk_span_of(buffer, part)));
        done += part;
    }
    return NULL;
}

rk_err *rk_bundle_output_take(rk_bundle_output *output, uint64_t offset, uint64_t len) {
    RK_TRY(rk_bundle_output_flush(output));
    if (offset != output->bytes)
        RK_TRY(move(output, offset, len, output->bytes));
    output->bytes = output->written_bytes = output->bytes + len;
    rk_bundle_output_write_behind(output, &output->behind_bytes, 0, output->bytes);
    return NULL;
}

rk_err *rk_bundle_output_rewind(rk_bundle_output *output, uint64_t bytes) {
    RK_TRY(rk_bundle_output_flush(output));
    int status;
    do
        status = rk_sys()->ftruncate_fn(output->fd, (off_t)bytes);
    while (status != 0 && errno == EINTR);
    if (status != 0)
        return rk_error_errno(errno, "cannot shorten %s", output->path);
    output->bytes = output->written_bytes = bytes;
    if (output->behind_bytes > bytes)
        output->behind_bytes = bytes;
    return NULL;
}

static rk_err *close_file(rk_bundle_output *self) {
    int fd = self->fd;
    self->fd = -1;
    // A quota or NFS may report a failed write only here.
    if (rk_sys()->close_fn(fd) != 0 && errno != EINTR)
        return rk_error_errno(errno, "cannot close %s", self->path);
    return NULL;
}

rk_err *rk_bundle_output_publish(rk_bundle_output *output) {
    RK_TRY(rk_bundle_output_flush(output));
    if (!rk_fd_sync(output->fd))
        return rk_error_errno(errno, "cannot sync %s", output->path);
    RK_TRY(name_file(output));
    RK_TRY(close_file(output));
    if (rk_sys()->renameat_fn(output->dir_fd, rk_buf_text(&output->temporary), output->dir_fd,
                              name_of(output)) != 0)
        return rk_error_errno(errno, "cannot rename a new file to %s", output->path);
    rk_buf_clear(&output->temporary);
    // Some network file systems have no such call, and change folders synchronously.
    if (!rk_fd_sync(output->dir_fd) && errno != EINVAL && errno != EROFS)
        return rk_error_errno(errno, "cannot sync the folder of %s", output->path);
    return NULL;
}

void rk_bundle_output_cleanup(rk_bundle_output *output) {
    rk_autofd_cleanup(&output->fd);
    if (output->temporary.len)
        (void)rk_sys()->unlinkat_fn(output->dir_fd, rk_buf_text(&output->temporary), 0);
    rk_autofd_cleanup(&output->dir_fd);
    rk_buf_cleanup(&output->temporary);
    rk_buf_cleanup(&output->pending);
    rk_free(output->path);
    *output = (rk_bundle_output){.dir_fd = -1, .fd = -1};
}
