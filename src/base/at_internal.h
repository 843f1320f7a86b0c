// Files relative to an open directory: what base/fs.h and base/tree.h share; private to src/base.
// `shown` is the path for messages.
#pragma once

#include "base/fs.h"

// openat(2), again after EINTR, and closed on exec. -1 and errno.
RK_HIDDEN int rk_at_open(int dir_fd, const char *name, int flags, mode_t mode);

// Appends all of an open regular file of at most `max_bytes`. Unless `refused_mode` is 0, refuses
// one with any of these permissions, or that belongs to anybody but us or root:
// RK_PERMISSION_DENIED.
RK_HIDDEN RK_NODISCARD rk_err *rk_at_read(int fd, const char *shown, size_t max_bytes,
                                          mode_t refused_mode, rk_buf *out_data);

// rk_fs_publish in a directory that is open for reading.
RK_HIDDEN RK_NODISCARD rk_err *rk_at_publish(int dir_fd, const char *name, const char *shown,
                                             const void *data, size_t len, mode_t mode);

// fsync(2) of a directory. Where a file system cannot do that (some network file systems), its
// changes are synchronous.
RK_HIDDEN RK_NODISCARD rk_err *rk_at_sync_directory(int dir_fd, const char *shown);

// rk_fs_list of a directory stream, which is closed.
RK_HIDDEN RK_NODISCARD rk_err *rk_at_list(DIR *directory, const char *shown, size_t max_entries,
                                          rk_fs_visit_fn visit, void *context);
