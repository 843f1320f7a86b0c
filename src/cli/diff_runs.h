// Compares two runs, for `rekindle diff RUN RUN`.
#pragma once

#include "base/status.h"
#include "settings/settings.h"

// True if `text` names a run, or is the beginning of a run's name: it is not hexadecimal, as keys
// are; or it has at most 8 digits, and `other` is not hexadecimal.
bool rk_diff_names_run(const char *text, const char *other);

// Compares two runs and prints the differences. Runs are named as for `rekindle stats --run`.
RK_NODISCARD rk_err *rk_diff_print_runs(const rk_settings *settings, const char *before,
                                        const char *after, bool stacks, bool json);
