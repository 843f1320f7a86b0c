// Records in a run's journal what `rekindle run` itself did and saw: how the command ended, and
// what happened to torch.compile's caches.
#pragma once

#include "journal/read.h"

// Appends a "command" event to the first journal of the run. Does nothing if the run has no
// journal. Errors: RK_NOT_FOUND (no such run), or a system error.
RK_NODISCARD rk_err *rk_run_add_command(const char *store_directory, const char *run,
                                        const rk_run_command *command);

// What a "torch" event says. All members may be NULL; borrowed.
typedef struct rk_run_torch_note {
    const rk_run_torch *torch; // what was done with the caches; NULL: nothing
    const char *why;           // why nothing was done
    const char *warning;       // a problem that `rekindle stats` shows
} rk_run_torch_note;

// Appends a "torch" event to the first journal of the run. If the run has no journal, because no
// process of the job loaded a plugin, makes one with `start`. Errors: as for rk_journal_open.
RK_NODISCARD rk_err *rk_run_add_torch(const rk_journal_start *start, const rk_run_torch_note *note);
