// Says what differs between two command lines.
#pragma once

#include "base/buf.h"

// Appends the arguments of `after` that differ from those of `before`: "--lr 1e-3 → 3e-3, --top-k 3
// is new". Both are as rk_run_command_add writes them. Appends nothing if they are equal.
void rk_command_diff_add(const char *before, const char *after, rk_buf *out);
