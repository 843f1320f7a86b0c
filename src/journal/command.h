// How the command of `rekindle run` ended, written into the journal of its run.
#pragma once

#include "journal/read.h"

// Adds a "command" event to the first journal of the run. Nothing to do where no process of the
// command has a journal. Errors: RK_NOT_FOUND (there is no such run), or what the system said.
RK_NODISCARD rk_err *rk_run_add_command(const char *store_directory, const char *run,
                                        const rk_run_command *command);
