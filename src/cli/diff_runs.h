// Compares two runs, for `rekindle diff RUN RUN`.
#pragma once

#include "cli/diff_view.h"
#include "settings/settings.h"

// True if `text` is the name of a run or the beginning of one, not a key. Text that is not
// hexadecimal names a run, because keys are hexadecimal. Hexadecimal text names a run if it has at
// most 8 digits and `other`, the other operand, is not hexadecimal.
bool rk_diff_names_run(const char *text, const char *other);

// Compares two runs and prints the differences. Runs are named as for `rekindle stats --run`.
RK_NODISCARD rk_err *rk_diff_print_runs(const rk_settings *settings, const char *before,
                                        const char *after, const rk_diff_how *how, bool json);
