// Reads the steps of a run from its journal: their number, the step of each compilation, the curve
// of distinct programs over steps, the step after which the curve is flat, and the compilations
// after that step. For the command line only (target rk_diagnose_read), as journal/read.h.
//
// A process may have several step patterns (diagnose/steps/detect.h). Only one of the patterns
// counts: the pattern that the program marked, else the pattern that carries at least half of the
// process's work (executions weighted with the size of their programs). Without such a pattern, the
// steps are not known. They are not known either if a fifth of the work from its first step on is
// in no step, or if most executions are those of other loops, which run operation by operation.
// Patterns before and after it whose steps execute equally many programs, transfer the same to the
// device and carry similar work count, too: the same loop with other programs. Journals of older
// versions have no work: there the pattern with the most executions counts. Executions before the
// first step of the pattern that counts are step 0. Executions between two of its steps belong to
// the later step.
#pragma once

#include "journal/read.h"

enum {
    RK_STEPS_FLAT = 20, // steps without a new program or a compilation make the curve flat
};
#define RK_NO_STEP UINT64_MAX

// A step that executed programs for the first time.
typedef struct rk_step_point {
    uint64_t step;
    uint64_t programs; // distinct ones executed up to the end of the step
} rk_step_point;

// A range of steps of the pattern that counts.
typedef struct rk_step_span {
    uint64_t first_execution, executions;
    uint64_t first_step, steps; // from 1
    uint64_t programs;          // distinct ones; the most in one step
    rk_journal_counts transfers;
} rk_step_span;

typedef struct rk_process_steps {
    uint64_t count; // complete steps; 0: none were found
    bool is_marked; // the program marked its steps
    bool is_flat;   // the curve was flat for RK_STEPS_FLAT steps at some time
    uint64_t
        flat_after; // if `is_flat`: the last step with a new program or a compilation before that
    uint64_t last_new; // the last step with a new program or a compilation; 0: before the first
    uint64_t late;     // real compilations after `flat_after`
    uint64_t late_ns;
    rk_journal_steps sums; // over the complete steps; `programs`: the most in one step
    rk_step_span *spans;   // owned; rising
    size_t span_count;
    rk_step_point *curve; // owned; rising
    size_t point_count;
} rk_process_steps;

typedef struct rk_steps {
    rk_process_steps *processes; // owned; in the order of the run's model
    size_t count;
} rk_steps;
void rk_steps_cleanup(rk_steps *steps);

// Reads the steps of all processes of a run. `out_steps` must be zeroed; clean it up also after an
// error. RK_RESOURCE_EXHAUSTED is the only error.
RK_NODISCARD rk_err *rk_steps_read(const rk_run_model *model, rk_steps *out_steps);

// Returns the step in which, or for which, the run compiled a program: 0 before the first step;
// RK_NO_STEP if the process has no steps, or if its journal does not say.
uint64_t rk_steps_of_compile(const rk_steps *steps, const rk_run_compile *compile);

// True if the process completed no step after `compile`. False without steps.
bool rk_steps_is_after_last(const rk_steps *steps, const rk_run_compile *compile);

// True if `compile` called the compiler after the curve became flat.
bool rk_steps_is_late(const rk_steps *steps, const rk_run_compile *compile);

// What a usual step does: each member is a median over all steps. After some steps, a validation
// executes much more, and a checkpoint reads all parameters. All 0 without steps.
// RK_RESOURCE_EXHAUSTED is the only error.
typedef struct rk_usual_step {
    double executions, programs; // distinct ones
    double host_to_device, host_to_device_bytes;
    double device_to_host, device_to_host_bytes;
} rk_usual_step;
RK_NODISCARD rk_err *rk_steps_find_usual_step(const rk_process_steps *steps,
                                              rk_usual_step *out_step);

// The process with the most steps; NULL if no process has steps. Borrowed.
const rk_process_steps *rk_steps_longest(const rk_steps *steps);
