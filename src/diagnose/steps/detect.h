// Detects the steps of a process in its sequence of executions, transfers and compilations. The
// caller passes in these events while the job runs, from one thread at a time. Costs some
// nanoseconds per execution, and 130 KiB of memory.
//
// Only programs that may carry the work take part in patterns. Each program has a score, which
// follows from its role (rk_step_program): large programs that return the state that they got (a
// training step, an update of parameters) have a high score. The reference is the program with the
// highest score among those that were executed three times. Light programs are those that are small
// compared with the reference, or that return little of what they got: operations of the framework,
// initialization, evaluations. Their executions only count as part of the step around them. When
// the reference changes, a pattern of programs that are light now ends.
//
// A step pattern is a sequence of programs that was executed three times in a row. Its length, the
// period, is at most RK_STEP_DETECTOR_MAX_PERIOD executions. Each repetition is a step. Programs
// are compared by name, so that training on batches of another length is the same step. Some
// frameworks give all programs one name with a number appended. There the programs themselves are
// compared, and names only if the programs show no pattern. Other executions in between (an
// occasional evaluation, a value that is printed) do not end a pattern. Two things end a pattern:
//
// - A longer pattern that covers more executions. For example, G G G G U, repeated, is one step of
//   four micro-steps G and an update U (at most RK_STEP_DETECTOR_MAX_MICRO_STEPS micro-steps). The
//   longer pattern starts at its first repetition, and the ranges after that execution are void.
//   Two kinds of programs are an evaluation instead and make no longer pattern: programs that
//   repeat within it (an evaluation of several batches), and programs of which none may be the
//   update (an evaluation of one batch that returns the model).
// - Another pattern that has lasted as long as the current one, or that was detected before. If it
//   has less than half of the score and a part of the same state, it is an evaluation, and only
//   replaces the current pattern if it lasts very long.
//
// If a pattern ends with an update, then each update ends a step: the last step of an epoch may
// have fewer micro-steps. Gradients without an update (of an evaluation) are no step.
//
// A pattern of nothing but single operations of the framework is no step: an initialization of
// several layers repeats, too.
//
// If the program marks where its steps end (rk_step_detector_mark), only the marks count from then
// on.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

enum {
    RK_STEP_DETECTOR_MAX_PERIOD = 256,     // executions
    RK_STEP_DETECTOR_MAX_MICRO_STEPS = 32, // repetitions of the shorter pattern in a longer one
    RK_STEP_DETECTOR_TIMES = 3,            // repetitions that make a pattern
};

typedef struct rk_step_sums {
    uint64_t executions;
    uint64_t programs;     // distinct programs executed; in a range: the maximum over its steps
    uint64_t new_programs; // never executed before
    uint64_t compiles;     // calls of the plugin's compiler
    uint64_t host_to_device, host_to_device_bytes;
    uint64_t device_to_host, device_to_host_bytes;
    uint64_t work; // executions, each weighted with the score of its program
} rk_step_sums;

// Consecutive steps of one pattern. The steps of a range have equal sums, unless very many ranges
// were emitted before.
typedef struct rk_step_range {
    uint32_t rhythm; // number of the pattern, from 1; 0: executions in no step, `steps` is 0
    uint64_t first_execution; // number in the process, from 0; cuts off earlier ranges that reach
                              // beyond this
    uint64_t steps;
    bool is_marked;           // the program marked the ends of the steps
    uint64_t programs_before; // distinct programs executed before the range
    rk_step_sums sums;        // of all steps together
} rk_step_range;

typedef struct rk_step_detector rk_step_detector;
typedef void rk_step_detector_emit_fn(void *context, const rk_step_range *range);

// Makes a detector. Its functions call `emit` for each range. Owned by the caller:
// rk_step_detector_free. Fails only with RK_RESOURCE_EXHAUSTED.
RK_NODISCARD rk_err *rk_step_detector_new(rk_step_detector_emit_fn *emit, void *context,
                                          rk_step_detector **out_detector);
void rk_step_detector_free(rk_step_detector *detector); // NULL is fine

// A program that is executed.
typedef struct rk_step_program {
    uint32_t number;   // of the distinct program, from 0; must be small, since it indexes an array
    uint32_t name;     // number of the program's name, below 2^31
    bool is_user_name; // the user gave the name, so that programs are compared by it; not for
                       // lambdas, names with a number, and passes of jax.grad
    bool is_operation; // a single operation of the framework, outside of any function of the user
    // The role of the program (rk_program_role in program/program.h); all zero: not known.
    uint32_t operations, inputs, carried, carried_types;
    uint64_t carried_set, carried_bytes;
} rk_step_program;

// The score of a program, from its role alone.
uint32_t rk_step_program_score(const rk_step_program *program);

// Records an execution.
void rk_step_detector_execute(rk_step_detector *detector, const rk_step_program *program);
void rk_step_detector_transfer(rk_step_detector *detector, bool to_device, uint64_t bytes);
void rk_step_detector_compile(rk_step_detector *detector);
// Records executions of unknown programs.
void rk_step_detector_skip(rk_step_detector *detector, uint64_t executions);
void rk_step_detector_mark(rk_step_detector *detector); // a step ends here

// Emits the steps that are held back, and the executions after them. Later counts do not depend on
// flushes: what was emitted only because of a flush becomes void with the next range. `is_end`: no
// execution is expected soon, so that a last step that may be complete ends here.
void rk_step_detector_flush(rk_step_detector *detector, bool is_end);

// Current counts.
typedef struct rk_step_detector_state {
    uint64_t executions;
    uint64_t programs; // distinct ones executed
    uint64_t steps;    // of the current pattern; 0 without a pattern, or if it carries little work
    uint64_t flat_steps; // of these, since the last one with a compilation or a new program
    // False if no program of the pattern returns several of the values that it got, or if each step
    // transfers at least half as many bytes to the device as it carries over to the next step. Such
    // steps may be an evaluation, an initialization or a preparation of data before the training.
    bool is_training;
    bool is_marked; // the program marks its steps
    uint32_t score; // the highest of the pattern's programs; without a pattern, of the reference
} rk_step_detector_state;
void rk_step_detector_get_state(rk_step_detector *detector, rk_step_detector_state *out_state);
