// What `run` and `verify` do before they start a command with rekindle in it.
#pragma once

#include "cli/opt.h"
#include "settings/settings.h"

// Finds our library, and sets what the command needs to find us (rk_place_environment): the run's
// name, which `out_run` gets (owned: rk_free), the job's, the store and the library. Errors say
// what to mend.
RK_NODISCARD rk_err *rk_launch_prepare(const rk_settings *settings, const rk_opt_operands *command,
                                       char **out_run);

// Whether the key files that the settings name can be used. An error that rk_settings_is_wrong
// tells of is one of a file that was read and holds something else.
RK_NODISCARD rk_err *rk_launch_check_signing_key(const rk_settings *settings);
RK_NODISCARD rk_err *rk_launch_check_trusted_keys(const rk_settings *settings);
