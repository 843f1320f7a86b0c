#include "base/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/at_internal.h"
#include "base/fd.h"
#include "base/temporary.h"

// The state of a walk along a path: the open folder, and the rest of the path.
typedef struct walk {
    const char *top, *path;
    const char *next; // in `path`: the rest of it
    char part[NAME_MAX + 1];
    int fd; // owned
} walk;

static void walk_cleanup(walk *self) {
    rk_autofd_cleanup(&self->fd);
}

rk_err *rk_tree_check_folder(const struct stat *info, const char *shown) {
    if (!S_ISDIR(info->st_mode))
        return rk_error(RK_INVALID_ARGUMENT, "%s is not a directory", shown);
    if (info->st_uid != geteuid())
        return rk_error(
            RK_PERMISSION_DENIED,
            "%s belongs to user %ld, not to you (%ld); that user could put code into it", shown,
            (long)info->st_uid, (long)geteuid());
    if (info->st_mode & (S_IWGRP | S_IWOTH))
        return rk_error(RK_PERMISSION_DENIED,
                        "%s is writable by other users, who could put code into it: chmod 700 %s",
                        shown, shown);
    return NULL;
}

// Appends the top and the part of the path walked so far, for messages.
static void add_shown(const walk *self, rk_buf *out) {
    size_t behind = (size_t)(self->next - self->path);
    while (behind > 0 && self->path[behind - 1] == '/')
        behind--;
    rk_buf_add_text(out, self->top);
    if (behind)
        rk_buf_add_byte(out, '/');
    rk_buf_add(out, self->path, behind);
}

static rk_err *fail_at(const walk *self, int error_number) {
    RK_AUTO(rk_buf) shown = {0};
    add_shown(self, &shown);
    RK_TRY(rk_buf_status(&shown));
    return rk_error_errno(error_number, "cannot open %s", rk_buf_text(&shown));
}

static rk_err *check_open(const walk *self) {
    struct stat info;
    if (rk_sys()->fstat_fn(self->fd, &info) != 0)
        return fail_at(self, errno);
    if (S_ISDIR(info.st_mode) && info.st_uid == geteuid() && !(info.st_mode & (S_IWGRP | S_IWOTH)))
        return NULL; // the common case needs no text of the path
    RK_AUTO(rk_buf) shown = {0};
    add_shown(self, &shown);
    RK_TRY(rk_buf_status(&shown));
    return rk_tree_check_folder(&info, rk_buf_text(&shown));
}

// Moves the next part of the path to `part`.
static rk_err *take_part(walk *self) {
    size_t len = strcspn(self->next, "/");
    if (len == 0 || len > NAME_MAX || (self->next[len] == '/' && !self->next[len + 1]))
        return rk_error(RK_INVALID_ARGUMENT, "\"%s\" is not a path below %s", self->path,
                        self->top);
    memcpy(self->part, self->next, len);
    self->part[len] = '\0';
    if (strcmp(self->part, ".") == 0 || strcmp(self->part, "..") == 0)
        return rk_error(RK_INVALID_ARGUMENT, "\"%s\" is not a path below %s", self->path,
                        self->top);
    self->next += len + (self->next[len] == '/');
    return NULL;
}

static rk_err *begin(walk *self, int flags) {
    rk_autofd_cleanup(&self->fd);
    self->next = self->path;
    self->fd = rk_fd_open(AT_FDCWD, self->top, flags | O_DIRECTORY, 0);
    return self->fd < 0 ? fail_at(self, errno) : check_open(self);
}

// Returns the error for a `part` that cannot be entered. A link gives ENOTDIR, like any other file
// that is not a folder.
static rk_err *fail_to_enter(const walk *self, int error_number) {
    struct stat info;
    bool is_link = (error_number == ENOTDIR || error_number == ELOOP) &&
                   rk_sys()->fstatat_fn(self->fd, self->part, &info) == 0 && S_ISLNK(info.st_mode);
    if (!is_link)
        return fail_at(self, error_number);
    RK_AUTO(rk_buf) shown = {0};
    add_shown(self, &shown);
    RK_TRY(rk_buf_status(&shown));
    return rk_error(
        RK_PERMISSION_DENIED,
        "%s is a symbolic link, and rekindle follows no links below %s: replace it with a "
        "folder (only the top folder may be a link)",
        rk_buf_text(&shown), self->top);
}

// Opens the folder `part` in place of the current one.
static rk_err *enter(walk *self, int flags) {
    int fd = rk_fd_open(self->fd, self->part, flags | O_DIRECTORY | O_NOFOLLOW, 0);
    if (fd < 0)
        return fail_to_enter(self, errno);
    rk_autofd_cleanup(&self->fd);
    self->fd = fd;
    return check_open(self);
}

// Opens the folder that contains the last part of `path`, with `flags`; `part` is then that last
// part. Opens all other folders with O_PATH, which needs no read permission.
static rk_err *walk_to_parent(walk *self, int flags) {
    RK_TRY(begin(self, strchr(self->path, '/') ? O_PATH : flags));
    RK_TRY(take_part(self));
    while (*self->next) {
        RK_TRY(enter(self, strchr(self->next, '/') ? O_PATH : flags));
        RK_TRY(take_part(self));
    }
    return NULL;
}

#define WALK_INIT(top_directory, relative_path)                                                    \
    { .top = (top_directory), .path = (relative_path), .fd = -1 }

static rk_err *open_once(const char *top, const char *path, int flags, mode_t mode, int *out_fd) {
    RK_AUTO(walk) way = WALK_INIT(top, path);
    RK_TRY(walk_to_parent(&way, O_PATH));
    *out_fd = rk_fd_open(way.fd, way.part, flags | O_NOFOLLOW, mode);
    return *out_fd < 0 ? fail_at(&way, errno) : NULL;
}

// Returns the whole path, for messages. Owned: rk_free.
static rk_err *show(const char *top, const char *path, char **out_shown) {
    *out_shown = rk_path_join(top, path);
    return *out_shown ? NULL : rk_err_no_memory();
}

// O_NONBLOCK: a FIFO in place of the file must not hang the job.
enum { READ_FLAGS = O_RDONLY | O_NONBLOCK };

static rk_err *open_file_once(const char *top, const char *path, size_t max_bytes, int *out_fd,
                              size_t *out_size) {
    rk_autofree char *shown = NULL;
    rk_autofd fd = -1;
    RK_TRY(show(top, path, &shown));
    RK_TRY(open_once(top, path, READ_FLAGS, 0, &fd));
    RK_TRY(rk_at_check_regular(fd, shown, max_bytes, S_IWGRP | S_IWOTH, out_size));
    *out_fd = fd;
    fd = -1;
    return NULL;
}

static rk_err *sync_once(const char *top, const char *path) {
    rk_autofree char *shown = NULL;
    rk_autofd fd = -1;
    RK_TRY(show(top, path, &shown));
    RK_TRY(open_once(top, path, O_RDONLY | O_DIRECTORY, 0, &fd));
    return rk_at_sync_directory(fd, shown);
}

static rk_err *read_once(const char *top, const char *path, size_t max_bytes, rk_buf *out_data) {
    rk_autofree char *shown = NULL;
    RK_TRY(show(top, path, &shown));
    rk_autofd fd = -1;
    RK_TRY(open_once(top, path, READ_FLAGS, 0, &fd));
    size_t before = out_data->len;
    rk_err *err = rk_at_read(fd, shown, max_bytes, S_IWGRP | S_IWOTH, out_data);
    if (err)
        out_data->len = before;
    return err;
}

static rk_err *publish_once(const char *top, const char *path, rk_span data, mode_t mode) {
    rk_autofree char *shown = NULL;
    RK_TRY(show(top, path, &shown));
    RK_AUTO(walk) way = WALK_INIT(top, path);
    RK_TRY(walk_to_parent(&way, O_RDONLY)); // not O_PATH, because it is synced
    return rk_at_publish(way.fd, way.part, shown, data.data, data.len, mode);
}

static rk_err *make_and_enter(walk *self) {
    if (rk_sys()->mkdirat_fn(self->fd, self->part, 0700) != 0 && errno != EEXIST)
        return rk_error_errno(errno, "cannot make directory %s in %s", self->path, self->top);
    RK_TRY(rk_at_sync_directory(self->fd, self->top));
    return enter(self, O_RDONLY);
}

static rk_err *make_dirs_once(const char *top, const char *path) {
    RK_AUTO(walk) way = WALK_INIT(top, path);
    rk_err *err = begin(&way, O_RDONLY);
    if (rk_err_code(err) == RK_NOT_FOUND) {
        rk_err_drop(err, "it is made");
        RK_TRY(rk_fs_make_dirs(top, 0700));
        err = begin(&way, O_RDONLY);
    }
    RK_TRY(err);
    while (*way.next) {
        RK_TRY(take_part(&way));
        struct stat info;
        // Checked first: a read-only file system refuses mkdir even for an existing folder.
        if (rk_sys()->fstatat_fn(way.fd, way.part, &info) == 0)
            RK_TRY(enter(&way, O_RDONLY));
        else
            RK_TRY(make_and_enter(&way));
    }
    return NULL;
}

// Walks to the folder `path` and opens it for listing. `out_directory` is owned; rk_at_list closes
// it.
static rk_err *open_listing(walk *way, DIR **out_directory) {
    if (!*way->path) {
        RK_TRY(begin(way, O_PATH));
    } else {
        RK_TRY(walk_to_parent(way, O_PATH));
        RK_TRY(enter(way, O_PATH));
    }
    int fd = rk_fd_open(way->fd, ".", O_RDONLY | O_DIRECTORY, 0);
    *out_directory = fd < 0 ? NULL : rk_sys()->fdopendir_fn(fd);
    if (*out_directory)
        return NULL;
    rk_err *err = fail_at(way, errno);
    rk_autofd_cleanup(&fd);
    return err;
}

static rk_err *stat_once(const char *top, const char *path, struct stat *out_stat) {
    RK_AUTO(walk) way = WALK_INIT(top, path);
    RK_TRY(walk_to_parent(&way, O_PATH));
    return rk_sys()->fstatat_fn(way.fd, way.part, out_stat) == 0 ? NULL : fail_at(&way, errno);
}

static rk_err *rename_once(const char *top, const char *from, const char *to) {
    RK_AUTO(walk) source = WALK_INIT(top, from);
    RK_AUTO(walk) target = WALK_INIT(top, to);
    RK_TRY(walk_to_parent(&source, O_PATH));
    RK_TRY(walk_to_parent(&target, O_PATH));
    if (rk_sys()->renameat_fn(source.fd, source.part, target.fd, target.part) != 0)
        return rk_error_errno(errno, "cannot move %s to %s in %s", from, to, top);
    return NULL;
}

static rk_err *link_once(const char *top, const char *from, const char *to) {
    RK_AUTO(walk) source = WALK_INIT(top, from);
    RK_AUTO(walk) target = WALK_INIT(top, to);
    RK_TRY(walk_to_parent(&source, O_PATH));
    RK_TRY(walk_to_parent(&target, O_PATH));
    if (rk_sys()->linkat_fn(source.fd, source.part, target.fd, target.part) != 0)
        return rk_error_errno(errno, "cannot make a hard link %s to %s in %s", to, from, top);
    return NULL;
}

static rk_err *remove_once(const char *top, const char *path) {
    RK_AUTO(walk) way = WALK_INIT(top, path);
    RK_TRY(walk_to_parent(&way, O_PATH));
    if (rk_sys()->unlinkat_fn(way.fd, way.part, 0) != 0)
        return rk_error_errno(errno, "cannot remove %s/%s", top, path);
    return NULL;
}

// On NFS, another host may remove a file or folder after this host has looked it up. Calls then
// fail with ESTALE, and a second walk from the top looks it up again.
#define AGAIN_IF_STALE(call)                                                                       \
    (__extension__({                                                                               \
        rk_err *stale_err_ = (call);                                                               \
        if (RK_UNLIKELY(rk_err_errno(stale_err_) == ESTALE)) {                                     \
            rk_err_drop(stale_err_, "looked up again, from the top");                              \
            stale_err_ = (call);                                                                   \
        }                                                                                          \
        stale_err_;                                                                                \
    }))

rk_err *rk_tree_open(const char *top, const char *path, int flags, mode_t mode, int *out_fd) {
    return AGAIN_IF_STALE(open_once(top, path, flags, mode, out_fd));
}

rk_err *rk_tree_open_file(const char *top, const char *path, size_t max_bytes, int *out_fd,
                          size_t *out_size) {
    return AGAIN_IF_STALE(open_file_once(top, path, max_bytes, out_fd, out_size));
}

rk_err *rk_tree_sync(const char *top, const char *path) {
    return AGAIN_IF_STALE(sync_once(top, path));
}

rk_err *rk_tree_read(const char *top, const char *path, size_t max_bytes, rk_buf *out_data) {
    return AGAIN_IF_STALE(read_once(top, path, max_bytes, out_data));
}

rk_err *rk_tree_publish(const char *top, const char *path, const void *data, size_t len,
                        mode_t mode) {
    return AGAIN_IF_STALE(publish_once(top, path, rk_span_of(data, len), mode));
}

rk_err *rk_tree_make_dirs(const char *top, const char *path) {
    return AGAIN_IF_STALE(make_dirs_once(top, path));
}

rk_err *rk_tree_list(const char *top, const char *path, size_t max_entries, rk_fs_visit_fn visit,
                     void *context) {
    rk_autofree char *shown = NULL;
    RK_TRY(show(top, path, &shown));
    RK_AUTO(walk) way = WALK_INIT(top, path);
    DIR *directory = NULL;
    RK_TRY(AGAIN_IF_STALE(open_listing(&way, &directory)));
    return rk_at_list(directory, shown, max_entries, visit, context);
}

rk_err *rk_tree_stat(const char *top, const char *path, struct stat *out_stat) {
    return AGAIN_IF_STALE(stat_once(top, path, out_stat));
}

rk_err *rk_tree_rename(const char *top, const char *from, const char *to) {
    return AGAIN_IF_STALE(rename_once(top, from, to));
}

rk_err *rk_tree_link(const char *top, const char *from, const char *to) {
    return AGAIN_IF_STALE(link_once(top, from, to));
}

rk_err *rk_tree_remove(const char *top, const char *path) {
    return AGAIN_IF_STALE(remove_once(top, path));
}

typedef struct sweep {
    int fd; // of the swept folder; borrowed
    uint64_t now_ns;
    size_t removed;
} sweep;

static rk_err *sweep_one(void *context, const char *name) {
    sweep *self = context;
    struct stat info;
    if (!rk_temporary_is_name(name) || rk_sys()->fstatat_fn(self->fd, name, &info) != 0 ||
        !S_ISREG(info.st_mode))
        return NULL;
    uint64_t at_ns = rk_stat_modified_ns(&info);
    uint64_t age_ns = self->now_ns > at_ns ? self->now_ns - at_ns : 0;
    if (rk_temporary_is_abandoned(name, age_ns))
        self->removed += rk_sys()->unlinkat_fn(self->fd, name, 0) == 0;
    return NULL;
}

rk_err *rk_tree_sweep(const char *top, const char *path, uint64_t now_ns, size_t *out_removed) {
    enum { MOST_NAMES = 1 << 20 };
    RK_AUTO(walk) way = WALK_INIT(top, path);
    DIR *directory = NULL;
    RK_TRY(AGAIN_IF_STALE(open_listing(&way, &directory)));
    struct stat info = {0};
    if (!now_ns && rk_sys()->fstat_fn(way.fd, &info) == 0)
        now_ns = rk_stat_modified_ns(&info);
    sweep self = {.fd = way.fd, .now_ns = now_ns};
    rk_err *err = rk_at_list(directory, path, MOST_NAMES, sweep_one, &self);
    if (out_removed)
        *out_removed = self.removed;
    return err;
}
