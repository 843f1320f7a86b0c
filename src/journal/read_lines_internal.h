// Reads a file of any size line by line. Inside src/journal only.
#pragma once

#include "base/span.h"
#include "base/status.h"
#include "base/sys.h"

enum { RK_READ_LINE_MAX_BYTES = 1 << 20 };

typedef enum rk_line_kind {
    RK_LINE_WHOLE,
    RK_LINE_UNENDED,  // the last line, without a newline
    RK_LINE_TOO_LONG, // longer than RK_READ_LINE_MAX_BYTES; passed on as an empty line
} rk_line_kind;

// `line` is without its newline, and borrowed for the call. An error ends the reading and is
// returned.
typedef rk_err *(*rk_line_fn)(void *context, rk_span line, rk_line_kind kind);

// Returns the modification time in nanoseconds since 1970-01-01 UTC; 0 for earlier times.
static inline uint64_t rk_lines_modified_ns(const struct stat *info) {
    return info->st_mtim.tv_sec < 0 ? 0 : rk_stat_modified_ns(info);
}

// Calls `each` for every line. Follows no symbolic link in the last component of `path`.
// `*out_info` is the file's state before the first read. Errors: RK_NOT_FOUND, RK_OUT_OF_RANGE (not
// a regular file), or a system error.
RK_NODISCARD rk_err *rk_lines_read(const char *path, rk_line_fn each, void *context,
                                   struct stat *out_info);
