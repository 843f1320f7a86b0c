// State of the step detector, shared by detect.c (input), sums.c (output), detect_roles.c
// (programs) and detect_search.c (search for patterns). Inside src/diagnose only.
#pragma once

#include "diagnose/steps/detect.h"

enum {
    // Entries; a power of two, at least RK_STEP_DETECTOR_TIMES * RK_STEP_DETECTOR_MAX_PERIOD.
    RK_STEP_DETECTOR_HISTORY = 1024,
    RK_STEP_DETECTOR_KNOWN = 8, // patterns that are kept
    // A stray is an execution that does not match the current pattern. After so many strays in a
    // row, the detector searches them for another pattern, and repeats the search less and less
    // often.
    RK_STEP_DETECTOR_STRAYS_BEFORE_LOOK = 16,
    // After so many strays, a pattern may replace the current one even if it looks like an
    // evaluation.
    RK_STEP_DETECTOR_STRAYS_OF_EVALUATION = 4096,
    RK_STEP_DETECTOR_LONGER_PERIOD_MAX = 128, // of a longer pattern that includes strays
    RK_STEP_DETECTOR_BY_NAME_AFTER =
        128, // after so many executions without a pattern, names are compared
    RK_STEP_DETECTOR_EXACT_RANGES = 256, // after so many ranges, unequal steps share a range
};

#define RK_STEP_DETECTOR_NAMED (UINT32_C(1) << 31) // marks a token that is a name

// A gap: many executions in a row of light programs that return what they got. It is an optimizer
// that runs operation by operation, so a gap takes part in patterns like a program. The length of a
// gap is that of its longest part: programs of the user divide it, unless they are small. (In an
// evaluation of several batches, sums are added after each batch.) Two gaps are the same if their
// lengths have the same number of binary digits. The numbers of gaps follow those of programs.
enum { RK_STEP_DETECTOR_GAPS = 32 };
#define RK_STEP_DETECTOR_FIRST_GAP (UINT32_MAX - RK_STEP_DETECTOR_GAPS)

// Totals since the start of the process. The small counters may wrap around: only differences are
// used.
typedef struct rk_step_detector_totals {
    uint64_t executions, work, host_to_device_bytes, device_to_host_bytes;
    uint32_t new_programs, compiles, host_to_device, device_to_host;
} rk_step_detector_totals;

// What is known of a program.
typedef struct rk_step_detector_program {
    uint64_t step;        // of its last execution, from 1; 0: not executed
    uint64_t last;        // number of its last execution in the process, from 1
    uint32_t token, name; // identity for comparisons; the name alone
    uint32_t operations, inputs, carried, carried_types;
    uint64_t carried_set, carried_bytes;
    uint32_t score;
    uint32_t executions; // counted only up to RK_STEP_DETECTOR_TIMES
    uint32_t version_of; // number of a program + 1: the two may be versions of one step; 0: none
    bool is_numbered;    // the user did not give the name
    bool is_operation;   // of the framework
    bool is_repeated;    // was executed twice in a row, or is the first of many versions
    bool is_light;       // takes no part in patterns
    bool is_companion;   // light, because it accompanies some of the steps of the reference
} rk_step_detector_program;

// An execution of a program that is not light, or a gap. Light programs may have been executed
// since the entry before it.
typedef struct rk_step_detector_entry {
    rk_step_detector_totals before; // as of the execution before it; of a gap: the same as `totals`
    rk_step_detector_totals totals; // including this execution, or the last one of the gap
    uint32_t program;
    // Distinct programs in its step: before this execution, and including it.
    uint32_t programs_before, programs;
} rk_step_detector_entry;

typedef struct rk_step_detector_pattern {
    uint32_t id, period;
    bool by_name;
    bool ends_with_update;   // the last program, or gap, carries more than each of the others
    bool ends_with_program;  // ends_with_update, and no gap
    bool is_training;        // a program returns several values that it got; or is not known
    bool is_idle;            // only operations of the framework: its repetitions are no steps
    uint64_t steps, matched; // matched: entries
    uint64_t work, host_to_device_bytes; // of the steps
    uint32_t tokens[RK_STEP_DETECTOR_MAX_PERIOD];
    uint32_t operations, carried, score; // the maximum over its programs
    uint64_t carried_bytes;              // the same
    uint64_t carried_set;                // of the program that carries the most
} rk_step_detector_pattern;

struct rk_step_detector {
    rk_step_detector_emit_fn *emit;
    void *context;
    // Entry i is at i % RK_STEP_DETECTOR_HISTORY.
    rk_step_detector_entry history[RK_STEP_DETECTOR_HISTORY];
    uint64_t entries, valid; // all entries; the last `valid` of them are in the history
    rk_step_detector_totals totals;
    rk_step_detector_totals after;      // the totals as of the last execution
    rk_step_detector_program *programs; // owned
    uint32_t program_capacity;
    rk_step_detector_program gaps[RK_STEP_DETECTOR_GAPS];
    uint32_t gap;       // length of the gap since the last entry
    uint32_t gap_part;  // length of the last part of this gap
    bool gap_ended;     // by an evaluation: what follows is no optimizer
    uint32_t reference; // program; UINT32_MAX: none
    bool has_companions;
    uint64_t distinct;            // programs executed
    uint64_t step_number;         // of the open step; never used twice
    rk_step_detector_totals open; // totals at the start of the open step
    uint64_t open_programs;       // distinct ones executed in the open step
    rk_step_detector_pattern known[RK_STEP_DETECTOR_KNOWN];
    uint32_t known_count, ids;
    rk_step_detector_pattern *current; // points into `known`; NULL: no pattern
    uint32_t at;                       // position in the current pattern
    uint64_t free_from; // number of executions up to the end of the steps of earlier patterns
    uint64_t begun;     // entry at which the current pattern starts
    uint64_t last_match, strays, next_look; // entries
    bool is_marked;
    uint64_t marked_steps, flat_steps;
    rk_step_range range; // not emitted yet
    rk_step_sums last;   // the last step in `range`
    uint64_t ranges;     // number of emitted ranges
    struct {
        rk_step_detector_totals totals;
        uint64_t marked_steps;
        bool is_end;
    } flushed; // as of the last flush
    // Fast path for most executions: the current pattern is one program, and the program is
    // executed again with nothing in between. Such executions are only counted in `repeats`, until
    // settle() in detect.c accounts for them.
    bool may_repeat;
    uint32_t repeated;
    uint64_t repeats;
    uint32_t items[RK_STEP_DETECTOR_HISTORY];
    uint16_t border[RK_STEP_DETECTOR_HISTORY];
};

static inline rk_step_detector_entry *rk_step_detector_entry_at(rk_step_detector *r,
                                                                uint64_t entry) {
    return &r->history[entry % RK_STEP_DETECTOR_HISTORY];
}

static inline const rk_step_detector_program *rk_step_detector_program_at(const rk_step_detector *r,
                                                                          uint64_t entry) {
    uint32_t program = r->history[entry % RK_STEP_DETECTOR_HISTORY].program;
    return program < RK_STEP_DETECTOR_FIRST_GAP ? &r->programs[program]
                                                : &r->gaps[program - RK_STEP_DETECTOR_FIRST_GAP];
}

static inline uint32_t rk_step_detector_token(const rk_step_detector *r, uint64_t entry,
                                              bool by_name) {
    const rk_step_detector_program *program = rk_step_detector_program_at(r, entry);
    return by_name ? program->name : program->token;
}

// Programs (detect_roles.c).

// Returns what is known of a program, and adds it if it is new. NULL if memory is short.
RK_HIDDEN rk_step_detector_program *rk_step_detector_learn(rk_step_detector *r,
                                                           const rk_step_program *program);
// Returns whether two programs each get and return the whole state: parameters and the optimizer's
// state. So none of them is a micro-step of the other, which gets parameters and gradients.
RK_HIDDEN bool rk_step_detector_are_whole_steps(const rk_step_detector_program *a,
                                                const rk_step_detector_program *b);
// Returns whether a program does what a whole step does, and more: it returns a state with all
// types of that step, and has more operations. For example the first update after a rollout, which
// also computes what the rollout left open.
RK_HIDDEN bool rk_step_detector_does_more(const rk_step_detector_program *program,
                                          const rk_step_detector_program *step);
// Notes that the program is executed twice in a row.
RK_HIDDEN void rk_step_detector_note_repetition(rk_step_detector *r, uint32_t program);
// Returns the number of a gap of this length; UINT32_MAX if it is too short to count.
RK_HIDDEN uint32_t rk_step_detector_gap_of(const rk_step_detector *r, uint32_t length);
// Counts an execution of a light program in the gap since the last entry.
RK_HIDDEN void rk_step_detector_add_to_gap(rk_step_detector *r,
                                           const rk_step_detector_program *light);
// Makes the program, which is about to be executed, the reference if its score is higher and it was
// executed often enough. Then removes programs that are light now from the history, and ends the
// current pattern if it has such programs.
RK_HIDDEN void rk_step_detector_weigh(rk_step_detector *r, uint32_t program);
// If the pattern of `period` entries from `from` on has a program that is executed several times
// and carries much more than the others, then each of its executions is a step: makes the others
// light, removes them from the history and returns true. For example an average of the parameters
// that is updated every other step.
RK_HIDDEN bool rk_step_detector_drop_companions(rk_step_detector *r, uint64_t from,
                                                uint32_t period);
// Returns whether two programs, without names of their own, are versions of one step: of similar
// size, with state of nearly the same types. PyTorch/XLA compiles the first steps of a loop
// differently: there is no state of the optimizer yet, and counters are constants.
RK_HIDDEN bool rk_step_detector_is_similar(const rk_step_detector_program *a,
                                           const rk_step_detector_program *b);

// Output (sums.c).

// Counts an execution in the distinct programs of the open step.
RK_HIDDEN void rk_step_detector_count_program(rk_step_detector *r, uint32_t program);
// The same for an entry: it is now part of the open step.
RK_HIDDEN void rk_step_detector_count_entry(rk_step_detector *r, rk_step_detector_entry *entry);
// Counts the distinct programs of the open step anew, from the executions since its start. Called
// when the start of the open step has changed.
RK_HIDDEN void rk_step_detector_recount(rk_step_detector *r);
// Closes the open step at these totals: as a step of the pattern `id`, or for 0 as executions in no
// step.
RK_HIDDEN void rk_step_detector_close(rk_step_detector *r, uint32_t id,
                                      const rk_step_detector_totals *end);
// Emits the current range, if it is not empty, and starts a new one.
RK_HIDDEN void rk_step_detector_emit(rk_step_detector *r);

// Patterns (detect_search.c).

// Matches an entry with the current pattern.
RK_HIDDEN void rk_step_detector_take_in(rk_step_detector *r, uint64_t entry);

// Looks for the first pattern. Called after an execution while there is none.
RK_HIDDEN void rk_step_detector_look_for_first(rk_step_detector *r);
// Looks for a longer or another pattern. Called after a stray.
RK_HIDDEN void rk_step_detector_look_after_stray(rk_step_detector *r);
// Looks for a pattern of the programs themselves. Called after an execution has matched a pattern
// of names.
RK_HIDDEN void rk_step_detector_look_beyond_names(rk_step_detector *r);
