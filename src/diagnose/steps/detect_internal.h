// A rhythm from within, shared by rhythm.c (what comes in), rhythm_sums.c (what goes out) and
// rhythm_look.c (finding it). Inside src/diagnose only.
#pragma once

#include "diagnose/steps/detect.h"

enum {
    // Executions; a power of two, at least RK_STEP_DETECTOR_TIMES * RK_STEP_DETECTOR_MAX_PERIOD.
    RK_STEP_DETECTOR_HISTORY = 1024,
    RK_STEP_DETECTOR_KNOWN = 8, // rhythms that are remembered
    // What one rhythm is interrupted by is looked at for another one when it is so long, and then
    // ever less often.
    RK_STEP_DETECTOR_STRAYS_BEFORE_LOOK = 16,
    RK_STEP_DETECTOR_LONGER_PERIOD_MAX = 128, // of a rhythm that explains interruptions
    RK_STEP_DETECTOR_BY_NAME_AFTER =
        128, // executions without a rhythm by which frameworks number them
    RK_STEP_DETECTOR_EXACT_RANGES = 256, // before unequal steps share one
};

#define RK_STEP_DETECTOR_NAMED (UINT32_C(1) << 31) // a token that is a name

// An execution, and what came between the one before and it.
typedef struct rk_step_detector_entry {
    uint32_t token, name; // as programs are told apart; by name alone
    uint32_t program;
    uint32_t compiles, host_to_device, device_to_host;
    bool is_new;
    uint64_t host_to_device_bytes, device_to_host_bytes;
} rk_step_detector_entry;

typedef struct rk_step_detector_pattern {
    uint32_t id, period;
    bool by_name;
    uint64_t steps, matched; // executions
    uint32_t tokens[RK_STEP_DETECTOR_MAX_PERIOD];
} rk_step_detector_pattern;

struct rk_step_detector {
    rk_step_detector_emit_fn *emit;
    void *context;
    rk_step_detector_entry
        history[RK_STEP_DETECTOR_HISTORY]; // of execution i at i % RK_STEP_DETECTOR_HISTORY
    uint64_t executions, valid;            // so many of the last ones are in the history
    rk_step_detector_entry next;           // what is known of the next execution already
    uint64_t *step_of; // owned; by program: the step that it was last executed in, from 1
    uint32_t program_capacity;
    uint64_t programs;
    uint64_t step_number; // of the open step, over all rhythms; never the same twice
    rk_step_sums open;    // since the last step's end
    uint64_t open_from;   // execution
    rk_step_detector_pattern known[RK_STEP_DETECTOR_KNOWN];
    uint32_t known_count, ids;
    rk_step_detector_pattern *current; // one of them, or NULL
    uint32_t at;                       // in it
    uint64_t begun;                    // execution that the current one was found from
    uint64_t last_match, strays, next_look;
    bool is_marked;
    uint64_t marked_steps, flat_steps;
    rk_step_range range; // not emitted yet
    rk_step_sums last;   // step in it
    uint64_t ranges;     // emitted
    // The program that is the whole rhythm came again, nothing in between: so often, and not yet
    // looked at. That is what most executions are.
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

// Where a program was last executed; NULL when memory is short: then it counts as known.
RK_HIDDEN uint64_t *rk_step_detector_step_of(rk_step_detector *r, uint32_t program);

// Adds it to the open sums.
RK_HIDDEN void rk_step_detector_add_entry(rk_step_detector *r, const rk_step_detector_entry *e);

// The open sums become a step of that rhythm, or, for rhythm 0, what is in no step.
RK_HIDDEN void rk_step_detector_close(rk_step_detector *r, uint32_t id);
RK_HIDDEN void rk_step_detector_emit(rk_step_detector *r);

// An execution while there is a rhythm.
RK_HIDDEN void rk_step_detector_take_in(rk_step_detector *r, const rk_step_detector_entry *e);

// After an execution that was in no rhythm, since there is none; that did not match; that did, by
// name alone.
RK_HIDDEN void rk_step_detector_look_for_first(rk_step_detector *r);
RK_HIDDEN void rk_step_detector_look_after_stray(rk_step_detector *r);
RK_HIDDEN void rk_step_detector_look_beyond_names(rk_step_detector *r);
