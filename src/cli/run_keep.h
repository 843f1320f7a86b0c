// Stores the summaries of finished runs (journal/summary.h).
#pragma once

#include "journal/summary.h"
#include "settings/settings.h"
#include "store/store.h"

typedef struct rk_run_keeper {
    rk_store *store; // owned; NULL: nothing may or can be written
} rk_run_keeper;

// Opens the store. The keeper stores nothing if the mode is `readonly` or `off`, or if the
// directory is no store of the user.
rk_run_keeper rk_run_keeper_start(const rk_settings *settings);
void rk_run_keeper_cleanup(rk_run_keeper *keeper); // RK_AUTO(rk_run_keeper) keeper = …

// Stores the summary of a finished run, unless it was read from the store. A run is finished if its
// journals did not change for an hour. It is also finished if none of its processes is alive on
// this host, and either all its processes or its command have ended. Never replaces a file that
// rekindle did not write. Reports no failures: a summary only saves time. Once a disk was full or
// read-only, the keeper stores nothing more.
void rk_run_keep(rk_run_keeper *keeper, const rk_run_summary *summary);
