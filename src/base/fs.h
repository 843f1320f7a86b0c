// Files: whole-file reads, atomic publishing, directories. All paths are absolute, or relative to
// the working directory of the moment; every function may block on the file system.
#pragma once

#include "base/buf.h"
#include "base/sys.h"

void rk_autofd_cleanup(int *fd);
#define rk_autofd __attribute__((cleanup(rk_autofd_cleanup))) int

// Appends the whole file to `out_data`, or fails with RK_NOT_FOUND, RK_OUT_OF_RANGE (longer than
// `max_bytes`, or not a regular file), or what the system call said. Does not follow a symbolic
// link in the last component.
RK_NODISCARD rk_err *rk_fs_read(const char *path, size_t max_bytes, rk_buf *out_data);

// For keys and the like: follows links, but refuses a file that belongs to anybody but us or root,
// or has any of the permissions `refused_mode` (0077, or 0022 where all may read it):
// RK_PERMISSION_DENIED with the remedy.
RK_NODISCARD rk_err *rk_fs_read_trusted(const char *path, size_t max_bytes, mode_t refused_mode,
                                        rk_buf *out_data);

// Publishes `len` bytes under `path` so that a reader sees all or nothing, also after a power cut:
// a temporary file beside it (base/temporary.h), fsync, rename, fsync of the directory. On failure
// the old content is as it was and nothing is left behind; should only the last step fail, the new
// content is there and whole, but may not outlast a power cut. `mode` is as for open(2).
RK_NODISCARD rk_err *rk_fs_publish(const char *path, const void *data, size_t len, mode_t mode);

// As mkdir -p, with `mode` for those made; "" and "/" need nothing.
RK_NODISCARD rk_err *rk_fs_make_dirs(const char *path, mode_t mode);

// Writes all bytes to `fd`, whatever write(2) does in between.
RK_NODISCARD rk_err *rk_fs_write_all(int fd, const void *data, size_t len);

// Calls `visit` with every name in a directory but ".", ".." and NFS's own .nfs…, in byte order, at
// most `max_entries`. An error from `visit` ends the walk and is passed on. RK_NOT_FOUND if there
// is no such directory.
typedef rk_err *(*rk_fs_visit_fn)(void *context, const char *name);
RK_NODISCARD rk_err *rk_fs_list(const char *path, size_t max_entries, rk_fs_visit_fn visit,
                                void *context);

RK_NODISCARD rk_err *rk_fs_remove(const char *path); // a file; RK_NOT_FOUND if there is none

// Joins with one slash. Owned: rk_free. NULL when memory is short.
RK_NODISCARD char *rk_path_join(const char *directory, const char *name);
