// Run ids: made by the writing side, and checked before they are used as a directory name.
#pragma once

#include <stdbool.h>

#include "base/status.h"

enum { RK_RUN_ID_MAX_CHARS = 128 };

// True for 1 to 128 characters of A-Z a-z 0-9 . _ -, without a leading dot: safe as a directory
// name.
RK_NODISCARD bool rk_run_id_valid(const char *run);

// Makes "<YYYYMMDD>T<HHMMSS>Z-<host>-<pid>", in UTC, so that names sort by time. <host> is the
// short host name: at most 32 characters; characters other than the above become '-'. Owned:
// rk_free.
RK_NODISCARD rk_err *rk_run_id_make(char **out_run);
