// Records in a run's journal how the command of `rekindle run` ended.
#pragma once

#include "journal/read.h"

// Appends a "command" event to the first journal of the run. Does nothing if the run has no
// journal. Errors: RK_NOT_FOUND (no such run), or a system error.
RK_NODISCARD rk_err *rk_run_add_command(const char *store_directory, const char *run,
                                        const rk_run_command *command);
