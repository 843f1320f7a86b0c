// Keeping summaries of runs that are over (journal/summary.h).
#pragma once

#include "journal/summary.h"
#include "settings/settings.h"
#include "store/store.h"

typedef struct rk_run_keeper {
    rk_store *store; // owned; NULL: nothing may be written, or could be
} rk_run_keeper;

// Keeps nothing where the mode is `readonly` or `off`, nor where the directory is no store of the
// user's.
rk_run_keeper rk_run_keeper_start(const rk_settings *settings);
void rk_run_keeper_cleanup(rk_run_keeper *keeper); // RK_AUTO(rk_run_keeper) keeper = …

// Keeps the summary of a run that is over, unless it came from there: no process of this host is
// alive and all ended, or the command did; or the journals were not written to for an hour. A file
// of others by that name stays. Failures are not told, since a summary only saves time; after one
// of the disk, nothing more is kept.
void rk_run_keep(rk_run_keeper *keeper, const rk_run_summary *summary);
