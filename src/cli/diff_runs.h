// `rekindle diff RUN RUN`.
#pragma once

#include "base/status.h"
#include "settings/settings.h"

// Whether that is the name of a run, or its beginning, since it is not hexadecimal, as keys are; or
// since it may be, and `other` is.
bool rk_diff_names_run(const char *text, const char *other);

// Compares two runs, each named as for `rekindle stats --run`, and prints what differs.
RK_NODISCARD rk_err *rk_diff_print_runs(const rk_settings *settings, const char *before,
                                        const char *after, bool stacks, bool json);
