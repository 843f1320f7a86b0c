// Steps, found in what a process executes: which programs, in which order, with which transfers and
// compilations between them. Fed while the job goes on, by whoever watches it; one thread at a
// time. It costs some nanoseconds an execution, and 70 KiB.
//
// A rhythm is a sequence of programs that came three times in a row, at most
// RK_STEP_DETECTOR_MAX_PERIOD of them; each time round is a step. Programs are told apart by their
// names (training on batches of another length is the same step), or, where a framework numbers all
// its programs under one name, by themselves, and by name only if that shows nothing. What comes in
// between (an evaluation every so often, a value that is printed) does not end a rhythm. Two things
// do:
//
// - A longer one that explains more: G G G G U, again and again, is one step of four micro-steps
//   and an update, at most RK_STEP_DETECTOR_MAX_MICRO_STEPS. (Not where what is added repeats
//   itself: an evaluation of several batches.) It is taken back to where it began; what was found
//   there before is void.
// - Another one that has lasted as long, or that was there before.
//
// A program that says where its steps end (rk_step_detector_mark) is believed, from then on.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

enum {
    RK_STEP_DETECTOR_MAX_PERIOD = 256,     // executions
    RK_STEP_DETECTOR_MAX_MICRO_STEPS = 32, // executions of the shorter rhythm in the longer one
    RK_STEP_DETECTOR_TIMES = 3,            // it came, before it is one
};

typedef struct rk_step_sums {
    uint64_t executions;
    uint64_t programs;     // distinct ones executed; of a range: the most in one step
    uint64_t new_programs; // those never executed before
    uint64_t compiles;     // real ones
    uint64_t host_to_device, host_to_device_bytes;
    uint64_t device_to_host, device_to_host_bytes;
} rk_step_sums;

// Neighbouring steps of one rhythm. They are equal in all sums, unless there have been too many
// ranges already.
typedef struct rk_step_range {
    uint32_t rhythm;          // from 1; 0: not in steps, and `steps` is 0
    uint64_t first_execution; // of the process, from 0. What was told before of it is void
    uint64_t steps;
    bool is_marked;    // the program said where they end
    rk_step_sums sums; // of all of them together
} rk_step_range;

typedef struct rk_step_detector rk_step_detector;
typedef void rk_step_detector_emit_fn(void *context, const rk_step_range *range);

// `emit` is called for each range, from within the functions below. Owned: rk_step_detector_free.
RK_NODISCARD rk_err *rk_step_detector_new(rk_step_detector_emit_fn *emit, void *context,
                                          rk_step_detector **out_rhythm);
void rk_step_detector_free(rk_step_detector *rhythm); // NULL is fine

// `program`: number of a distinct program, from 0, small; `name`: of its name; `is_telling`: the
// name is the user's.
void rk_step_detector_execute(rk_step_detector *rhythm, uint32_t program, uint32_t name,
                              bool is_telling);
void rk_step_detector_transfer(rk_step_detector *rhythm, bool to_device, uint64_t bytes);
void rk_step_detector_compile(rk_step_detector *rhythm);
// Executions that nothing else is known of.
void rk_step_detector_skip(rk_step_detector *rhythm, uint64_t executions);
void rk_step_detector_mark(rk_step_detector *rhythm); // a step ends here

// Emits what is still held back. It may go on after that.
void rk_step_detector_flush(rk_step_detector *rhythm);

// Where it stands.
typedef struct rk_step_detector_state {
    uint64_t executions;
    uint64_t programs;   // distinct ones executed
    uint64_t steps;      // of the rhythm that there is; 0 if there is none
    uint64_t flat_steps; // the last ones of them, since a program was compiled or was new
} rk_step_detector_state;
void rk_step_detector_get_state(const rk_step_detector *rhythm, rk_step_detector_state *out_state);
