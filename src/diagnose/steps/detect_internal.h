// State of the step detector, shared by detect.c (input), sums.c (output) and detect_search.c
// (search for patterns). Inside src/diagnose only.
#pragma once

#include "diagnose/steps/detect.h"

enum {
    // Executions; a power of two, at least RK_STEP_DETECTOR_TIMES * RK_STEP_DETECTOR_MAX_PERIOD.
    RK_STEP_DETECTOR_HISTORY = 1024,
    RK_STEP_DETECTOR_KNOWN = 8, // patterns that are kept
    // A stray is an execution that does not match the current pattern. After so many strays in a
    // row, the detector searches them for another pattern, and repeats the search less and less
    // often.
    RK_STEP_DETECTOR_STRAYS_BEFORE_LOOK = 16,
    RK_STEP_DETECTOR_LONGER_PERIOD_MAX = 128, // of a longer pattern that includes strays
    RK_STEP_DETECTOR_BY_NAME_AFTER =
        128, // after so many executions without a pattern, names are compared
    RK_STEP_DETECTOR_EXACT_RANGES = 256, // after so many ranges, unequal steps share a range
};

#define RK_STEP_DETECTOR_NAMED (UINT32_C(1) << 31) // marks a token that is a name

// An execution, and the events between it and the previous one.
typedef struct rk_step_detector_entry {
    uint32_t token, name; // identity for comparisons; the name alone
    uint32_t program;
    uint32_t compiles, host_to_device, device_to_host;
    bool is_new;
    uint64_t host_to_device_bytes, device_to_host_bytes;
} rk_step_detector_entry;

typedef struct rk_step_detector_pattern {
    uint32_t id, period;
    bool by_name;
    uint64_t steps, matched; // steps; matched executions
    uint32_t tokens[RK_STEP_DETECTOR_MAX_PERIOD];
} rk_step_detector_pattern;

struct rk_step_detector {
    rk_step_detector_emit_fn *emit;
    void *context;
    // Execution i is at i % RK_STEP_DETECTOR_HISTORY.
    rk_step_detector_entry history[RK_STEP_DETECTOR_HISTORY];
    uint64_t executions, valid;  // all executions; the last `valid` of them are in the history
    rk_step_detector_entry next; // events that belong to the next execution
    uint64_t *step_of;           // owned; by program: step of its last execution, from 1; 0: none
    uint32_t program_capacity;
    uint64_t programs;
    uint64_t step_number; // of the open step; never used twice
    rk_step_sums open;    // of the open step: since the end of the last step
    uint64_t open_from;   // first execution of the open step
    rk_step_detector_pattern known[RK_STEP_DETECTOR_KNOWN];
    uint32_t known_count, ids;
    rk_step_detector_pattern *current; // points into `known`; NULL: no pattern
    uint32_t at;                       // position in the current pattern
    uint64_t begun;                    // execution at which the current pattern starts
    uint64_t last_match, strays, next_look;
    bool is_marked;
    uint64_t marked_steps, flat_steps;
    rk_step_range range; // not emitted yet
    rk_step_sums last;   // the last step in `range`
    uint64_t ranges;     // number of emitted ranges
    // Fast path for most executions: the current pattern is one program, and the program is
    // executed again with nothing in between. Such executions are only counted in `repeats`, until
    // settle() in detect.c accounts for them.
    bool may_repeat;
    uint32_t repeated;
    uint64_t repeats;
    uint32_t items[RK_STEP_DETECTOR_HISTORY];
    uint16_t border[RK_STEP_DETECTOR_HISTORY];
};

static inline uint32_t rk_step_detector_token(const rk_step_detector_entry *e, bool by_name) {
    return by_name ? e->name : e->token;
}

static inline const rk_step_detector_entry *rk_step_detector_entry_at(const rk_step_detector *r,
                                                                      uint64_t execution) {
    return &r->history[execution % RK_STEP_DETECTOR_HISTORY];
}

// The step of a program's last execution. NULL if memory is short: then the program is not counted
// as new.
RK_HIDDEN uint64_t *rk_step_detector_step_of(rk_step_detector *r, uint32_t program);

// Adds an execution to the open sums.
RK_HIDDEN void rk_step_detector_add_entry(rk_step_detector *r, const rk_step_detector_entry *e);

// Closes the open sums: as a step of the pattern `id`, or for 0 as executions in no step.
RK_HIDDEN void rk_step_detector_close(rk_step_detector *r, uint32_t id);
// Emits the current range, if it is not empty, and starts a new one.
RK_HIDDEN void rk_step_detector_emit(rk_step_detector *r);

// Matches an execution with the current pattern.
RK_HIDDEN void rk_step_detector_take_in(rk_step_detector *r, const rk_step_detector_entry *e);

// Looks for the first pattern. Called after an execution while there is none.
RK_HIDDEN void rk_step_detector_look_for_first(rk_step_detector *r);
// Looks for a longer or another pattern. Called after a stray.
RK_HIDDEN void rk_step_detector_look_after_stray(rk_step_detector *r);
// Looks for a pattern of the programs themselves. Called after an execution has matched a pattern
// of names.
RK_HIDDEN void rk_step_detector_look_beyond_names(rk_step_detector *r);
