// File functions relative to an open directory, used by base/fs.h and base/tree.h. Private to
// src/base. `shown` is the path that error messages show.
#pragma once

#include "base/fs.h"

// Checks that an open file is regular and has at most `max_bytes`, and returns its size. Refuses
// other users' files as rk_at_read does.
RK_HIDDEN RK_NODISCARD rk_err *rk_at_check_regular(int fd, const char *shown, size_t max_bytes,
                                                   mode_t refused_mode, size_t *out_size);

// Appends the content of an open regular file of at most `max_bytes`. If `refused_mode` is not 0:
// RK_PERMISSION_DENIED if the file has any of these permission bits, or if its owner is neither the
// effective user nor root.
RK_HIDDEN RK_NODISCARD rk_err *rk_at_read(int fd, const char *shown, size_t max_bytes,
                                          mode_t refused_mode, rk_buf *out_data);

// As rk_fs_publish, in the directory `dir_fd`, which must be open for reading.
RK_HIDDEN RK_NODISCARD rk_err *rk_at_publish(int dir_fd, const char *name, const char *shown,
                                             const void *data, size_t len, mode_t mode);

// fsync(2) of a directory. Ignores EINVAL and EROFS: a file system without this call (some network
// file systems) makes directory changes synchronously.
RK_HIDDEN RK_NODISCARD rk_err *rk_at_sync_directory(int dir_fd, const char *shown);

// As rk_fs_list, for an open directory stream. Closes the stream.
RK_HIDDEN RK_NODISCARD rk_err *rk_at_list(DIR *directory, const char *shown, size_t max_entries,
                                          rk_fs_visit_fn visit, void *context);
