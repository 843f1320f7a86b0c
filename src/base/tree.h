// The files of one user's directory tree, where code lies that will be run: nothing in it is
// reached through a symbolic link, nor through a folder that somebody else could have put there or
// filled. Every call begins at the top and opens each folder beneath the one before it, without
// following links; each must belong to the effective user and be writable by nobody else. No
// descriptor stays open between calls, for programs that become daemons close them all, and the
// number would then be somebody else's.
//
// `top` is the tree's directory; it may be reached through links (who opens the tree judges them).
// `path` is relative to it, "objects/ab/abc.rkx": no empty part, ".", or "..".
//
// Errors of all: RK_NOT_FOUND; RK_PERMISSION_DENIED, which names the folder and the remedy;
// RK_INVALID_ARGUMENT for such a path. What a network file system answers with ESTALE is tried
// again once, from the top. Thread-safe; may block on the file system.
#pragma once

#include "base/fs.h"

// The rule for folders, for one that was opened: RK_INVALID_ARGUMENT if it is none.
RK_NODISCARD rk_err *rk_tree_check_folder(const struct stat *info, const char *shown);

// As rk_fs_read. The file too must belong to the user, or root, and be writable by nobody else.
RK_NODISCARD rk_err *rk_tree_read(const char *top, const char *path, size_t max_bytes,
                                  rk_buf *out_data);

// Opens a file with open(2)'s flags; no link is followed, and the descriptor is closed on exec.
// `out_fd` is owned.
RK_NODISCARD rk_err *rk_tree_open(const char *top, const char *path, int flags, mode_t mode,
                                  int *out_fd);

// As rk_fs_publish. RK_NOT_FOUND if the folder is not there.
RK_NODISCARD rk_err *rk_tree_publish(const char *top, const char *path, const void *data,
                                     size_t len, mode_t mode);

// Makes folders, the top too, with mode 0700. Those below the top outlast a power cut.
RK_NODISCARD rk_err *rk_tree_make_dirs(const char *top, const char *path);

RK_NODISCARD rk_err *rk_tree_list(const char *top, const char *path, size_t max_entries,
                                  rk_fs_visit_fn visit, void *context);

// Of whatever lies there; a link is not followed.
RK_NODISCARD rk_err *rk_tree_stat(const char *top, const char *path, struct stat *out_stat);

RK_NODISCARD rk_err *rk_tree_rename(const char *top, const char *from, const char *to);

// Gives a file a second name. RK_ALREADY_EXISTS if there is one of that name.
RK_NODISCARD rk_err *rk_tree_link(const char *top, const char *from, const char *to);
RK_NODISCARD rk_err *rk_tree_remove(const char *top, const char *path); // a file

// Removes temporary files from a folder ("": the top) whose writers are dead (base/temporary.h).
// `now_ns` is the time by the file system's clock; 0: that of the folder's last change. Files that
// cannot be removed stay without a word. `out_removed` may be NULL.
RK_NODISCARD rk_err *rk_tree_sweep(const char *top, const char *path, uint64_t now_ns,
                                   size_t *out_removed);
