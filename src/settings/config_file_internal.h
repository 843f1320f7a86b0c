// The file $REKINDLE_DIR/config: lines of `name = value`. Inside src/settings only.
#pragma once

#include "base/span.h"
#include "base/status.h"

enum { RK_CONFIG_MAX_BYTES = 1 << 20 };

typedef struct rk_config_line {
    const char *label;   // "/path/config:3", for errors; borrowed for the call
    rk_span name, value; // without the blanks around them; borrowed for the call
} rk_config_line;

// The first error is passed on when all lines have been read.
typedef rk_err *(*rk_config_fn)(void *context, const rk_config_line *line);

// Calls `each` with every assignment in the file, in order. A '#' at the start of a line or after a
// blank begins a comment. A missing file has no lines. A line without '=', and a file that holds a
// NUL, are RK_INVALID_ARGUMENT; a file that cannot be read, a link that leads nowhere and what is
// no file are errors with other codes. All name the file and what to do.
RK_NODISCARD rk_err *rk_config_read(const char *path, rk_config_fn each, void *context);
