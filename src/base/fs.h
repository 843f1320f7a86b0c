// File functions: whole-file reads, atomic publishing, directories. Paths are absolute, or relative
// to the current working directory. Every function may block on the file system.
#pragma once

#include "base/buf.h"
#include "base/fd.h"
#include "base/sys.h"

// Appends the whole file to `out_data`. Errors: RK_NOT_FOUND, RK_OUT_OF_RANGE (longer than
// `max_bytes`, or not a regular file), or the code for the errno of a system call. Does not follow
// a symbolic link in the last component of the path.
RK_NODISCARD rk_err *rk_fs_read(const char *path, size_t max_bytes, rk_buf *out_data);

// As rk_fs_read, for files that need protection, such as keys. Follows symbolic links.
// RK_PERMISSION_DENIED if the owner is neither the effective user nor root, or if the file has any
// of the permission bits `refused_mode`: 0077, or 0022 for a file that all users may read.
RK_NODISCARD rk_err *rk_fs_read_trusted(const char *path, size_t max_bytes, mode_t refused_mode,
                                        rk_buf *out_data);

// Publishes `len` bytes under `path`. A reader sees all of the new content or none of it, even
// after a power cut. The steps: write a temporary file in the same directory (base/temporary.h),
// fsync, rename, fsync of the directory. On failure the old content is unchanged and the temporary
// file is removed. One exception: if only the last step fails, the new content is complete and
// visible, but a power cut may undo the change. `mode` is as for open(2).
RK_NODISCARD rk_err *rk_fs_publish(const char *path, const void *data, size_t len, mode_t mode);

// Works like mkdir -p. New directories get `mode`. Does nothing for "" and "/".
RK_NODISCARD rk_err *rk_fs_make_dirs(const char *path, mode_t mode);

// Calls `visit` with every name in a directory except ".", ".." and NFS's own .nfs…, in byte order.
// Reads at most `max_entries` names and ignores the rest. Stops at the first error from `visit` and
// returns that error. RK_NOT_FOUND if the directory does not exist.
typedef rk_err *(*rk_fs_visit_fn)(void *context, const char *name);
RK_NODISCARD rk_err *rk_fs_list(const char *path, size_t max_entries, rk_fs_visit_fn visit,
                                void *context);

RK_NODISCARD rk_err *rk_fs_remove(const char *path); // a file; RK_NOT_FOUND if it does not exist

// Joins two paths with one slash. Owned: rk_free. NULL if memory is short.
RK_NODISCARD char *rk_path_join(const char *directory, const char *name);
