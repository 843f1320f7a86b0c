// Brings the entries of a bundle into the store: checks every byte of the bundle while it writes
// them under temporary names, and publishes them when all are known to be good.
#pragma once

#include <pthread.h>

#include "cli/bundle_plan.h"
#include "cli/term.h"
#include "store/stage.h"

typedef struct rk_bundle_stage {
    const rk_bundle_plan *plan; // borrowed
    rk_store *store;            // borrowed; NULL: only check
    rk_staged *files;           // owned; one for each item of the plan
    rk_staged **open;           // owned; the files in the order in which they were written
    size_t oldest, newest;      // the files from `oldest` to `newest` in `open` are not synced yet
    uint64_t open_bytes;        // of these files
    size_t threads;
    pthread_mutex_t mutex;                       // for `open` and what follows
    uint64_t begun_bytes, done_bytes, all_bytes; // of the bundle's entries
    rk_progress progress;
} rk_bundle_stage;

// Removes the temporary files that were not published.
void rk_bundle_stage_cleanup(rk_bundle_stage *stage);

// Checks all entries, and writes those that are to be imported. Errors: RK_DATA_LOSS and others for
// an item that cannot be used (bundle/bundle.h, cli/bundle_part.h), or those of store/stage.h.
RK_NODISCARD rk_err *rk_bundle_stage_fill(rk_bundle_stage *stage);

// Publishes the entries. An entry that another process has stored meanwhile gets RK_FATE_PRESENT.
RK_NODISCARD rk_err *rk_bundle_stage_publish(rk_bundle_stage *stage, rk_bundle_planned *items);
