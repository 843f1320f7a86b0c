// The name of a run: what the writing side makes and the reading side trusts as a file name.
#pragma once

#include <stdbool.h>

#include "base/status.h"

enum { RK_RUN_ID_MAX_CHARS = 128 };

// True for 1 to 128 of A-Z a-z 0-9 . _ -, not beginning with a dot: safe as a directory's name.
RK_NODISCARD bool rk_run_id_valid(const char *run);

// "<YYYYMMDD>T<HHMMSS>Z-<host>-<pid>", in UTC, so that names sort by time. The host is its short
// name, at most 32 characters, others than the above replaced by '-'. Owned: rk_free.
RK_NODISCARD rk_err *rk_run_id_make(char **out_run);
