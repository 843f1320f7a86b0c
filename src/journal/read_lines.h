// A file line by line, however long the file. Inside src/journal only.
#pragma once

#include "base/span.h"
#include "base/status.h"

enum { RK_READ_LINE_MAX_BYTES = 1 << 20 };

typedef enum rk_line_kind {
    RK_LINE_WHOLE,
    RK_LINE_UNENDED,  // the last one, without a newline
    RK_LINE_TOO_LONG, // over RK_READ_LINE_MAX_BYTES: `line` is empty
} rk_line_kind;

// `line` has no newline and is borrowed for the call. An error ends the reading and is passed on.
typedef rk_err *(*rk_line_fn)(void *context, rk_span line, rk_line_kind kind);

// Errors: RK_NOT_FOUND, RK_OUT_OF_RANGE (not a regular file), or what the system said. Follows no
// link in the last component.
RK_NODISCARD rk_err *rk_lines_read(const char *path, rk_line_fn each, void *context);
