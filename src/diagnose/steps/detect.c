#include "diagnose/steps/detect.h"

#include <string.h>

#include "base/alloc.h"
#include "diagnose/steps/detect_internal.h"

rk_err *rk_step_detector_new(rk_step_detector_emit_fn *emit, void *context,
                             rk_step_detector **out_detector) {
    *out_detector = rk_calloc(1, sizeof **out_detector);
    if (!*out_detector)
        return rk_err_no_memory();
    (*out_detector)->emit = emit;
    (*out_detector)->context = context;
    (*out_detector)->step_number = 1;
    (*out_detector)->reference = UINT32_MAX;
    for (uint32_t i = 0; i < RK_STEP_DETECTOR_GAPS; i++)
        (*out_detector)->gaps[i] =
            (rk_step_detector_program){.token = RK_STEP_DETECTOR_FIRST_GAP + i,
                                       .name = RK_STEP_DETECTOR_FIRST_GAP + i,
                                       .operations = 1,
                                       .is_operation = true,
                                       .carried = UINT32_C(1) << i >> 1};
    return NULL;
}

void rk_step_detector_free(rk_step_detector *r) {
    if (r)
        rk_free(r->programs);
    rk_free(r);
}

static void push_entry(rk_step_detector *r, const rk_step_detector_entry *entry) {
    *rk_step_detector_entry_at(r, r->entries++) = *entry;
    r->valid += r->valid < RK_STEP_DETECTOR_HISTORY;
}

// Accounts for the executions that the fast path only counted. Each of them is a step like the last
// one.
static void settle(rk_step_detector *r) {
    uint64_t times = r->repeats;
    r->repeats = 0;
    r->may_repeat = false;
    if (times == 0)
        return;
    uint32_t program = rk_step_detector_entry_at(r, r->entries - 1)->program;
    uint32_t score = r->programs[program].score;
    // The history needs only the last of these executions.
    uint64_t left_out = times > RK_STEP_DETECTOR_HISTORY ? times - RK_STEP_DETECTOR_HISTORY : 0;
    r->entries += left_out;
    r->totals.executions += left_out;
    r->totals.work += left_out * score;
    for (uint64_t i = left_out; i < times; i++) {
        rk_step_detector_entry entry = {.before = r->totals, .program = program, .programs = 1};
        r->totals.executions++;
        r->totals.work += score;
        entry.totals = r->totals;
        push_entry(r, &entry);
    }
    r->after = r->totals;
    r->range.steps += times;
    r->range.sums.executions += times;
    r->range.sums.work += times * score;
    r->current->steps += times;
    r->current->matched += times;
    r->current->work += times * score;
    r->flat_steps += times;
    r->open = r->totals;
    r->last_match = r->entries;
    r->step_number += times;
    // The last execution of the program is in the last closed step.
    r->programs[program].step = r->step_number - 1;
    r->programs[program].last = r->totals.executions;
}

// Returns whether one more execution of the same program would be a step that equals the last one
// in all sums.
static bool may_repeat(const rk_step_detector *r) {
    const rk_step_sums alone = {.executions = 1, .programs = 1, .work = r->last.work};
    return r->current && !r->is_marked && r->current->period == 1 && !r->current->by_name &&
           memcmp(&r->open, &r->totals, sizeof r->open) == 0 && r->range.steps > 0 &&
           r->range.rhythm == r->current->id && memcmp(&r->last, &alone, sizeof alone) == 0;
}

// Matches the last entry with the current pattern, or looks for a pattern.
static void take_entry(rk_step_detector *r) {
    if (r->is_marked)
        return;
    if (!r->current) {
        rk_step_detector_look_for_first(r);
        return;
    }
    rk_step_detector_take_in(r, r->entries - 1);
    // No match: the execution is a stray.
    if (r->last_match < r->entries) {
        rk_step_detector_look_after_stray(r);
    } else if (r->current->by_name) {
        rk_step_detector_look_beyond_names(r);
    }
}

static void take_gap(rk_step_detector *r) {
    uint32_t gap = rk_step_detector_gap_of(r, r->gap);
    r->gap = r->gap_part = 0;
    r->gap_ended = false;
    if (gap == UINT32_MAX)
        return;
    // Transfers since its last execution belong to the next one.
    rk_step_detector_entry entry = {.before = r->after, .totals = r->after, .program = gap};
    rk_step_detector_count_entry(r, &entry);
    push_entry(r, &entry);
    take_entry(r);
}

static void execute(rk_step_detector *r, const rk_step_program *program) {
    settle(r);
    rk_step_detector_program *known = rk_step_detector_learn(r, program);
    if (!known) { // memory is short
        rk_step_detector_skip(r, 1);
        return;
    }
    bool is_new = known->step == 0;
    rk_step_detector_weigh(r, program->number);
    if (!known->is_light && (r->gap > 0 || r->gap_ended))
        take_gap(r);
    rk_step_detector_entry entry = {.before = r->after, .program = program->number};
    r->distinct += is_new;
    r->totals.executions++;
    r->totals.work += known->score;
    r->totals.new_programs += is_new;
    r->after = entry.totals = r->totals;
    known->last = r->totals.executions;
    rk_step_detector_count_entry(r, &entry);
    if (known->is_light) {
        rk_step_detector_add_to_gap(r, known);
        return;
    }
    if (r->valid > 0 && rk_step_detector_entry_at(r, r->entries - 1)->program == program->number)
        rk_step_detector_note_repetition(r, program->number);
    push_entry(r, &entry);
    take_entry(r);
}

void rk_step_detector_execute(rk_step_detector *r, const rk_step_program *program) {
    if (RK_LIKELY(r->may_repeat && program->number == r->repeated)) {
        r->repeats++;
        return;
    }
    execute(r, program);
    r->may_repeat = may_repeat(r);
    r->repeated = program->number;
}

void rk_step_detector_transfer(rk_step_detector *r, bool to_device, uint64_t bytes) {
    settle(r);
    if (to_device) {
        r->totals.host_to_device++;
        r->totals.host_to_device_bytes += bytes;
    } else {
        r->totals.device_to_host++;
        r->totals.device_to_host_bytes += bytes;
    }
}

void rk_step_detector_compile(rk_step_detector *r) {
    settle(r);
    r->totals.compiles++;
    r->flat_steps = 0;
}

void rk_step_detector_skip(rk_step_detector *r, uint64_t executions) {
    settle(r);
    r->totals.executions += executions;
    r->after = r->totals;
    // The history is broken.
    r->valid = 0;
    r->at = 0;
}

// The first marked step begins with the first execution of the process: earlier ranges become void.
static void begin_marks(rk_step_detector *r) {
    r->is_marked = true;
    rk_step_detector_emit(r);
    r->open = (rk_step_detector_totals){0};
    r->open_programs = r->distinct;
    r->flat_steps = 0;
}

void rk_step_detector_mark(rk_step_detector *r) {
    enum { MARKED_PATTERN = INT32_MAX };
    settle(r);
    if (!r->is_marked)
        begin_marks(r);
    // Transfers and compilations after the last execution belong to the step that ends here.
    r->marked_steps++;
    rk_step_detector_close(r, MARKED_PATTERN, &r->totals);
}

// Returns a copy that emits to the same function. NULL if memory is short.
static rk_step_detector *copy_of(const rk_step_detector *r) {
    rk_step_detector *copy = rk_malloc(sizeof *copy);
    rk_step_detector_program *programs =
        rk_malloc(((size_t)r->program_capacity + 1) * sizeof *programs);
    if (!copy || !programs) {
        rk_free(copy);
        rk_free(programs);
        return NULL;
    }
    *copy = *r;
    copy->programs = programs;
    if (r->program_capacity > 0)
        memcpy(programs, r->programs, r->program_capacity * sizeof *programs);
    copy->current = r->current ? &copy->known[r->current - r->known] : NULL;
    return copy;
}

// Leaves only the entries after the closed steps in the history, so that no pattern begins earlier.
static void forget_closed(rk_step_detector *r) {
    uint64_t first = r->entries - r->valid;
    while (first < r->entries &&
           rk_step_detector_entry_at(r, first)->totals.executions <= r->open.executions)
        first++;
    r->valid = r->entries - first;
    r->begun = r->begun > first ? r->begun : first;
}

// Closes the executions after the last step. Light programs belong to that step: their work counts
// for no other.
static void close_rest(rk_step_detector *r) {
    rk_step_detector_totals end = r->totals;
    end.work = r->open.work;
    for (uint64_t i = r->entries - r->valid; i < r->entries; i++)
        if (rk_step_detector_entry_at(r, i)->totals.executions > r->open.executions)
            end.work += rk_step_detector_program_at(r, i)->score;
    rk_step_detector_close(r, 0, &end);
}

// Emits what a process that ends now would emit. Changes the detector, so call it with a copy.
static void emit_rest(rk_step_detector *r, bool is_end) {
    if (!r->current && !r->is_marked && r->valid > 0) {
        forget_closed(r);
        r->next_look = 0;
        if (r->valid > 0)
            rk_step_detector_look_for_first(r);
    }
    // A step may end with a gap. Then the last step of the process is complete.
    uint32_t gap = rk_step_detector_gap_of(r, r->gap);
    if (is_end && gap != UINT32_MAX && r->current && r->at > 0 && r->at + 1 == r->current->period &&
        r->current->tokens[r->at] == gap)
        take_gap(r);
    close_rest(r);
    rk_step_detector_emit(r);
}

static bool is_flushed(const rk_step_detector *r, bool is_end) {
    return r->flushed.marked_steps == r->marked_steps && (r->flushed.is_end || !is_end) &&
           memcmp(&r->flushed.totals, &r->totals, sizeof r->totals) == 0;
}

void rk_step_detector_flush(rk_step_detector *r, bool is_end) {
    settle(r);
    if (is_flushed(r, is_end))
        return;
    r->flushed.totals = r->totals;
    r->flushed.marked_steps = r->marked_steps;
    r->flushed.is_end = is_end;
    rk_step_detector_emit(r);
    rk_step_detector *copy = copy_of(r);
    if (copy)
        emit_rest(copy, is_end);
    rk_step_detector_free(copy);
}

// Returns whether the current pattern has carried at least half of the work so far.
static bool carries_work(const rk_step_detector *r) {
    return r->current && r->current->work > 0 && 2 * r->current->work >= r->open.work;
}

static bool is_training(const rk_step_detector *r) {
    // Of programs that are not known, there are no carried bytes.
    const rk_step_detector_pattern *p = r->current;
    return p->is_training &&
           (p->carried_bytes == 0 ||
            2 * (double)p->host_to_device_bytes < (double)p->carried_bytes * (double)p->steps);
}

static uint32_t score_of_steps(const rk_step_detector *r) {
    if (r->current)
        return r->current->score;
    return r->reference == UINT32_MAX ? 0 : r->programs[r->reference].score;
}

void rk_step_detector_get_state(rk_step_detector *r, rk_step_detector_state *out_state) {
    settle(r);
    bool counts = r->is_marked || carries_work(r);
    uint64_t steps = 0;
    if (r->is_marked)
        steps = r->marked_steps;
    else if (counts)
        steps = r->current->steps;
    *out_state = (rk_step_detector_state){
        .executions = r->totals.executions,
        .programs = r->distinct,
        .steps = steps,
        .flat_steps = counts ? r->flat_steps : 0,
        .is_training = r->is_marked || (counts && is_training(r)),
        .is_marked = r->is_marked,
        .score = score_of_steps(r),
    };
}
