// The steps of a run, as `rekindle stats` shows them.
#pragma once

#include "cli/out.h"
#include "diagnose/steps/steps.h"

// {"count", "flat_after", …}, or null where none were found: docs/cli.md.
json_t *rk_steps_json(const rk_steps *steps);

// What a step does on average: "3 executions, 1 transfer to the device (1.2 MB)".
void rk_steps_print_average(const rk_process_steps *process, rk_buf *out);

// When the curve of distinct programs went flat, or that it never did.
void rk_steps_print_curve(const rk_process_steps *process, rk_buf *out);

// Compilations after that, over all processes.
uint64_t rk_steps_late(const rk_steps *steps, uint64_t *out_ns);
