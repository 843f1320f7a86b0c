// A file line by line, however long the file. Inside src/journal only.
#pragma once

#include "base/span.h"
#include "base/status.h"
#include "base/sys.h"

enum { RK_READ_LINE_MAX_BYTES = 1 << 20 };

typedef enum rk_line_kind {
    RK_LINE_WHOLE,
    RK_LINE_UNENDED,  // the last one, without a newline
    RK_LINE_TOO_LONG, // over RK_READ_LINE_MAX_BYTES: `line` is empty
} rk_line_kind;

// `line` has no newline and is borrowed for the call. An error ends the reading and is passed on.
typedef rk_err *(*rk_line_fn)(void *context, rk_span line, rk_line_kind kind);

// When a file was changed last, in nanoseconds since 1970-01-01 UTC; 0 for earlier times.
static inline uint64_t rk_lines_modified_ns(const struct stat *info) {
    return info->st_mtim.tv_sec < 0 ? 0 : rk_stat_modified_ns(info);
}

// Errors: RK_NOT_FOUND, RK_OUT_OF_RANGE (not a regular file), or what the system said. Follows no
// link in the last component. `*out_info` is of the file before anything was read.
RK_NODISCARD rk_err *rk_lines_read(const char *path, rk_line_fn each, void *context,
                                   struct stat *out_info);
