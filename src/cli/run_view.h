// The state, counters and JSON of a run, as the verbs show them.
#pragma once

#include "cli/out.h"
#include "journal/summary.h"

typedef enum rk_run_state {
    RK_RUN_ENDED, // every process recorded its end; or the command exited, with status 0 or with no
                  // unknown end of a process
    RK_RUN_RUNNING,    // a process on this host is alive
    RK_RUN_CUT_SHORT,  // a signal killed the command
    RK_RUN_NOT_KNOWN,  // a process recorded no end, for an unknown reason
    RK_RUN_INCOMPLETE, // a write to a journal failed, so later events are missing
} rk_run_state;

// Returns the state of a run. Looks for living processes on this host if a journal has no end.
rk_run_state rk_run_state_of(const rk_run_model *model);
const char *rk_run_state_text(rk_run_state state); // "ended", "running", …; static
// True if the run ended by itself, and its command returned a status other than 0.
bool rk_run_has_failed(const rk_run_model *model);

// From the first start to the last event; 0 if unknown.
uint64_t rk_run_duration_ns(const rk_run_model *model);

// A counter that another cache would show for the same requests, with the name that its users know.
typedef struct rk_peer_count {
    const char *name; // static
    uint64_t count;
} rk_peer_count;

// PyTorch/XLA's three counters of its persistent cache (torch_xla/csrc/runtime/cache.h).
// PyTorch/XLA counts an entry that is found but cannot be used as a failure, not as a miss.
enum { RK_TORCH_XLA_COUNTS = 3 };
void rk_run_torch_xla_counts(const rk_run_totals *totals,
                             rk_peer_count out_counts[static RK_TORCH_XLA_COUNTS]);

// The JSON object of one run: for `rekindle stats --json`, and for an element of `runs`.
json_t *rk_run_json(const rk_run_summary *summary);
// Adds the members that the JSON of one run and the JSON of all runs together share.
void rk_run_add_totals(json_t *object, const rk_run_totals *totals);
