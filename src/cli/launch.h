// Prepares the start of a command under rekindle, for `run` and `verify`.
#pragma once

#include "cli/opt.h"
#include "settings/settings.h"

// Finds the library to preload and sets the variables that the command needs
// (rk_place_environment): the names of run and job, the store, the key files and LD_PRELOAD.
// `*out_run` is the name of the run (owned: rk_free). Error messages say what to fix.
RK_NODISCARD rk_err *rk_launch_prepare(const rk_settings *settings, const rk_opt_operands *command,
                                       char **out_run);

// Check that the key files in the settings can be used. If a file can be read but has no valid key,
// rk_settings_is_wrong returns true for the error.
RK_NODISCARD rk_err *rk_launch_check_signing_key(const rk_settings *settings);
RK_NODISCARD rk_err *rk_launch_check_trusted_keys(const rk_settings *settings);
