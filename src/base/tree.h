// Safe access to the files of one user's directory tree. The tree holds code that will be run, so
// no file in it may be reached through a symbolic link, or through a folder that another user could
// create or fill. Every call starts at the top and opens each folder relative to its parent,
// without following links. Each folder must belong to the effective user and must not be writable
// by others. No descriptor stays open between calls: a program that becomes a daemon closes all
// descriptors, and another file could then get the same number.
//
// `top` is the directory of the tree. The path to `top` may contain links; the caller must have
// checked them. `path` is relative to `top`, such as "objects/ab/abc.rkx". `path` has no empty
// part, no "." and no "..".
//
// Errors of all functions: RK_NOT_FOUND; RK_PERMISSION_DENIED, with the folder and the remedy;
// RK_INVALID_ARGUMENT for a path of another form. After ESTALE from a network file system, the
// function starts once more from the top. Thread-safe. May block on the file system.
#pragma once

#include "base/fs.h"

// Checks owner and mode of an opened folder by the rule above. RK_INVALID_ARGUMENT if it is not a
// folder.
RK_NODISCARD rk_err *rk_tree_check_folder(const struct stat *info, const char *shown);

// As rk_fs_read. The file must belong to the effective user or root, and must not be writable by
// others.
RK_NODISCARD rk_err *rk_tree_read(const char *top, const char *path, size_t max_bytes,
                                  rk_buf *out_data);

// Opens a file for reading, with the checks of rk_tree_read, and returns its size. `out_fd` is
// owned.
RK_NODISCARD rk_err *rk_tree_open_file(const char *top, const char *path, size_t max_bytes,
                                       int *out_fd, size_t *out_size);

// Opens a file with the `flags` and `mode` of open(2). Does not follow a link. The descriptor is
// closed on exec. `out_fd` is owned.
RK_NODISCARD rk_err *rk_tree_open(const char *top, const char *path, int flags, mode_t mode,
                                  int *out_fd);

// As rk_fs_publish. RK_NOT_FOUND if the folder does not exist.
RK_NODISCARD rk_err *rk_tree_publish(const char *top, const char *path, const void *data,
                                     size_t len, mode_t mode);

// Makes all missing folders of `path`, and the top, with mode 0700. After a power cut, the new
// folders below the top still exist.
RK_NODISCARD rk_err *rk_tree_make_dirs(const char *top, const char *path);

// Syncs a folder: names that were added to it, or removed from it, survive a power cut.
RK_NODISCARD rk_err *rk_tree_sync(const char *top, const char *path);

// As rk_fs_list.
RK_NODISCARD rk_err *rk_tree_list(const char *top, const char *path, size_t max_entries,
                                  rk_fs_visit_fn visit, void *context);

// As lstat(2): for any kind of file; does not follow a link.
RK_NODISCARD rk_err *rk_tree_stat(const char *top, const char *path, struct stat *out_stat);

RK_NODISCARD rk_err *rk_tree_rename(const char *top, const char *from, const char *to);

// Gives a file a second name. RK_ALREADY_EXISTS if `to` exists.
RK_NODISCARD rk_err *rk_tree_link(const char *top, const char *from, const char *to);
RK_NODISCARD rk_err *rk_tree_remove(const char *top, const char *path); // a file

// Removes abandoned temporary files (base/temporary.h) from a folder; "" is the top. `now_ns` is
// the current time by the clock of the file system; 0 stands for the time of the folder's last
// change. A file that cannot be removed stays, without an error. `out_removed` may be NULL.
RK_NODISCARD rk_err *rk_tree_sweep(const char *top, const char *path, uint64_t now_ns,
                                   size_t *out_removed);
