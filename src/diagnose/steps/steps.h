// The steps of a run, read from its journal: how many there were, in which one a program was
// compiled, the curve of distinct programs over steps, when it went flat, and what was compiled
// after that. Part of the command line alone (target rk_diagnose_steps), as journal/read.h.
//
// Of the rhythms of a process (diagnose/steps/detect.h) the one counts that the program has marked,
// or else the one with the most executions. What came before its first step is step 0; what lies
// between two of its steps belongs to the later one.
#pragma once

#include "journal/read.h"

enum {
    RK_STEPS_FLAT = 20, // steps without a new program, or a compilation, make the curve flat
};
#define RK_NO_STEP UINT64_MAX

// A step in which programs were executed that never were before.
typedef struct rk_step_point {
    uint64_t step;
    uint64_t programs; // distinct ones executed up to its end
} rk_step_point;

// A range of steps of the rhythm that counts.
typedef struct rk_step_span {
    uint64_t first_execution, executions;
    uint64_t first_step, steps; // from 1
} rk_step_span;

typedef struct rk_process_steps {
    uint64_t count;      // of complete steps; 0: none were found
    bool is_marked;      // by the program
    bool is_flat;        // the curve was flat once, for RK_STEPS_FLAT steps
    uint64_t flat_after; // if it was: the last step before that with anything new
    uint64_t late;       // real compilations after it
    uint64_t late_ns;
    rk_journal_steps sums; // over its complete steps; `programs`: the most in one
    rk_step_span *spans;   // owned; rising
    size_t span_count;
    rk_step_point *curve; // owned; rising
    size_t point_count;
} rk_process_steps;

typedef struct rk_steps {
    rk_process_steps *processes; // owned; as in the run's model
    size_t count;
} rk_steps;
void rk_steps_cleanup(rk_steps *steps);

// `out_steps` must be zeroed, and is to be cleaned up after an error too. RK_RESOURCE_EXHAUSTED is
// the only error.
RK_NODISCARD rk_err *rk_steps_read(const rk_run_model *model, rk_steps *out_steps);

// The step that a compilation of that run was made in, or for: 0 before the first one; RK_NO_STEP
// where the process had no steps, or its journal does not say.
uint64_t rk_steps_of_compile(const rk_steps *steps, const rk_run_compile *compile);

// Whether it is a real compilation after the curve went flat.
bool rk_steps_is_late(const rk_steps *steps, const rk_run_compile *compile);

// The process with the most steps; NULL if none has any. Borrowed.
const rk_process_steps *rk_steps_longest(const rk_steps *steps);
