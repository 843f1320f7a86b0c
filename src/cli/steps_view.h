// Prints the steps of a run, for `rekindle stats`.
#pragma once

#include "cli/out.h"
#include "diagnose/steps/steps.h"

// {"count", "flat_after", …}; null if no steps were found. Format: docs/cli.md.
json_t *rk_steps_json(const rk_steps *steps);

// Appends what a usual step does: "3 executions, 1 transfer to the device (1.2 MB)".
void rk_steps_print_usual(const rk_process_steps *process, rk_buf *out);

// Appends the step after which the number of distinct programs stopped growing, or the steps in
// which it grew, or that it never stopped growing.
void rk_steps_print_curve(const rk_process_steps *process, rk_buf *out);

// Returns the number of compilations after the curve became flat, over all processes. `*out_ns` is
// their total time.
uint64_t rk_steps_late(const rk_steps *steps, uint64_t *out_ns);
