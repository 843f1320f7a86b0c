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
    return NULL;
}

void rk_step_detector_free(rk_step_detector *r) {
    if (r)
        rk_free(r->step_of);
    rk_free(r);
}

static void push_entry(rk_step_detector *r, const rk_step_detector_entry *e) {
    r->history[r->executions++ % RK_STEP_DETECTOR_HISTORY] = *e;
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
    rk_step_detector_entry again = r->history[(r->executions - 1) % RK_STEP_DETECTOR_HISTORY];
    // The history needs only the last of these executions.
    uint64_t left_out = times > RK_STEP_DETECTOR_HISTORY ? times - RK_STEP_DETECTOR_HISTORY : 0;
    r->executions += left_out;
    for (uint64_t i = left_out; i < times; i++)
        push_entry(r, &again);
    r->range.steps += times;
    r->range.sums.executions += times;
    r->current->steps += times;
    r->current->matched += times;
    r->flat_steps += times;
    r->open_from += times;
    r->last_match = r->executions;
    r->step_number += times;
    // The last execution of the program is in the last closed step.
    uint64_t *step = rk_step_detector_step_of(r, again.program);
    if (step)
        *step = r->step_number - 1;
}

// Returns whether one more execution of the same program would be a step that equals the last one
// in all sums.
static bool may_repeat(const rk_step_detector *r) {
    static const rk_step_sums alone = {.executions = 1, .programs = 1};
    return r->current && !r->is_marked && r->current->period == 1 && !r->current->by_name &&
           r->open.executions == 0 && r->range.steps > 0 && r->range.rhythm == r->current->id &&
           memcmp(&r->last, &alone, sizeof alone) == 0;
}

static void note_new(rk_step_detector *r, uint32_t program) {
    const uint64_t *step = rk_step_detector_step_of(r, program);
    r->next.is_new = step && *step == 0;
    r->programs += r->next.is_new;
}

static void execute(rk_step_detector *r, uint32_t program, uint32_t name, bool is_user_name) {
    settle(r);
    note_new(r, program);
    r->next.program = program;
    r->next.name = name | RK_STEP_DETECTOR_NAMED;
    r->next.token = is_user_name ? r->next.name : program;
    push_entry(r, &r->next);
    r->next = (rk_step_detector_entry){0};
    const rk_step_detector_entry *e = rk_step_detector_entry_at(r, r->executions - 1);
    // Without a pattern, or with marks, an execution is only added to the open sums.
    if (r->is_marked || !r->current) {
        rk_step_detector_add_entry(r, e);
        if (!r->is_marked)
            rk_step_detector_look_for_first(r);
        return;
    }
    rk_step_detector_take_in(r, e);
    // No match: the execution is a stray.
    if (r->last_match < r->executions) {
        rk_step_detector_look_after_stray(r);
    } else if (r->current->by_name) {
        rk_step_detector_look_beyond_names(r);
    }
}

void rk_step_detector_execute(rk_step_detector *r, uint32_t program, uint32_t name,
                              bool is_user_name) {
    if (RK_LIKELY(r->may_repeat && program == r->repeated)) {
        r->repeats++;
        return;
    }
    execute(r, program, name, is_user_name);
    r->may_repeat = may_repeat(r);
    r->repeated = program;
}

void rk_step_detector_transfer(rk_step_detector *r, bool to_device, uint64_t bytes) {
    settle(r);
    if (to_device) {
        r->next.host_to_device++;
        r->next.host_to_device_bytes += bytes;
    } else {
        r->next.device_to_host++;
        r->next.device_to_host_bytes += bytes;
    }
}

void rk_step_detector_compile(rk_step_detector *r) {
    settle(r);
    r->next.compiles++;
    r->flat_steps = 0;
}

void rk_step_detector_skip(rk_step_detector *r, uint64_t executions) {
    settle(r);
    r->executions += executions;
    r->open.executions += executions;
    // The history is broken. `last_match` moves as well, so that these executions are no strays.
    r->last_match += executions;
    r->valid = 0;
    r->at = 0;
}

// The first marked step begins with the first execution of the process: earlier ranges become void.
static void begin_marks(rk_step_detector *r) {
    r->is_marked = true;
    rk_step_detector_emit(r);
    r->open.executions += r->open_from;
    r->open_from = 0;
    r->flat_steps = 0;
}

void rk_step_detector_mark(rk_step_detector *r) {
    enum { MARKED_PATTERN = INT32_MAX };
    settle(r);
    if (!r->is_marked)
        begin_marks(r);
    // Transfers and compilations after the last execution belong to the step that ends here.
    r->open.compiles += r->next.compiles;
    r->open.host_to_device += r->next.host_to_device;
    r->open.host_to_device_bytes += r->next.host_to_device_bytes;
    r->open.device_to_host += r->next.device_to_host;
    r->open.device_to_host_bytes += r->next.device_to_host_bytes;
    r->next = (rk_step_detector_entry){0};
    r->marked_steps++;
    rk_step_detector_close(r, MARKED_PATTERN);
}

void rk_step_detector_flush(rk_step_detector *r) {
    settle(r);
    rk_step_detector_emit(r);
}

void rk_step_detector_get_state(const rk_step_detector *r, rk_step_detector_state *out_state) {
    uint64_t steps = 0;
    if (r->is_marked)
        steps = r->marked_steps;
    else if (r->current)
        steps = r->current->steps;
    *out_state = (rk_step_detector_state){
        .executions = r->executions + r->repeats,
        .programs = r->programs,
        .steps = steps + r->repeats,
        .flat_steps = r->flat_steps + r->repeats,
    };
}
