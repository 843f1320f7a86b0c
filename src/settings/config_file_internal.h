// Reader of the file $REKINDLE_DIR/config: lines of `name = value`. Private to src/settings.
#pragma once

#include "base/span.h"
#include "base/status.h"

enum { RK_CONFIG_MAX_BYTES = 1 << 20 };

typedef struct rk_config_line {
    const char *label;   // "/path/config:3", for errors; borrowed during the call
    rk_span name, value; // without surrounding blanks; borrowed during the call
} rk_config_line;

// Called for one line. After an error, rk_config_read reads the remaining lines, then returns the
// first error.
typedef rk_err *(*rk_config_fn)(void *context, const rk_config_line *line);

// Calls `each` with every assignment in the file, in order. A '#' at the start of a line or after a
// blank begins a comment. A missing file has no lines. A line without '=' is RK_INVALID_ARGUMENT. A
// file that cannot be read, a path that is not a regular file, a dangling symbolic link, and a file
// with a NUL are errors with other codes. All messages name the file; most of them also name the
// remedy.
RK_NODISCARD rk_err *rk_config_read(const char *path, rk_config_fn each, void *context);
