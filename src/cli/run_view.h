// Runs as the verbs show them: found, loaded, judged.
#pragma once

#include "cli/out.h"
#include "journal/summary.h"

typedef enum rk_run_state {
    RK_RUN_ENDED,      // every process ended orderly, or the command left by itself
    RK_RUN_RUNNING,    // a process of this host is still there
    RK_RUN_CUT_SHORT,  // a signal killed the command
    RK_RUN_NOT_KNOWN,  // a process left no end, and nobody knows why
    RK_RUN_INCOMPLETE, // a write to a journal failed: it lacks the rest
} rk_run_state;

// Looks at this host's processes where no end was recorded.
rk_run_state rk_run_state_of(const rk_run_model *model);
const char *rk_run_state_text(rk_run_state state); // "ended", "running", …; static

// From the first start to the last event.
uint64_t rk_run_duration_ns(const rk_run_model *model);

// What another cache would have counted, by the names its users know, had it served these requests.
typedef struct rk_peer_count {
    const char *name; // static
    uint64_t count;
} rk_peer_count;

// PyTorch/XLA's three counters of its persistent cache (torch_xla/csrc/runtime/cache.h): there an
// entry that is found and cannot be used is a failure, and no miss.
enum { RK_TORCH_XLA_COUNTS = 3 };
void rk_run_torch_xla_counts(const rk_run_totals *totals,
                             rk_peer_count out_counts[static RK_TORCH_XLA_COUNTS]);

// The members of `rekindle stats --json` for one run, and of an element of `runs`.
json_t *rk_run_json(const rk_run_summary *summary);
// Those that a run and all runs together have in common, added to `object`.
void rk_run_add_totals(json_t *object, const rk_run_totals *totals);
