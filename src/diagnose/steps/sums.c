#include <string.h>

#include "base/alloc.h"
#include "diagnose/steps/detect_internal.h"

uint64_t *rk_step_detector_step_of(rk_step_detector *r, uint32_t program) {
    if (program >= r->program_capacity) {
        uint32_t larger = program < 32 ? 64 : program * 2;
        uint64_t *grown = rk_realloc(r->step_of, larger * sizeof *grown);
        if (!grown)
            return NULL;
        memset(grown + r->program_capacity, 0, (larger - r->program_capacity) * sizeof *grown);
        r->step_of = grown;
        r->program_capacity = larger;
    }
    return &r->step_of[program];
}

void rk_step_detector_add_entry(rk_step_detector *r, const rk_step_detector_entry *e) {
    rk_step_sums *sums = &r->open;
    uint64_t *step = rk_step_detector_step_of(r, e->program);
    if (step && *step != r->step_number) {
        *step = r->step_number;
        sums->programs++;
    }
    sums->executions++;
    sums->new_programs += e->is_new;
    sums->compiles += e->compiles;
    sums->host_to_device += e->host_to_device;
    sums->host_to_device_bytes += e->host_to_device_bytes;
    sums->device_to_host += e->device_to_host;
    sums->device_to_host_bytes += e->device_to_host_bytes;
}

static void add_sums(rk_step_sums *to, const rk_step_sums *step) {
    to->executions += step->executions;
    to->programs = to->programs > step->programs ? to->programs : step->programs;
    to->new_programs += step->new_programs;
    to->compiles += step->compiles;
    to->host_to_device += step->host_to_device;
    to->host_to_device_bytes += step->host_to_device_bytes;
    to->device_to_host += step->device_to_host;
    to->device_to_host_bytes += step->device_to_host_bytes;
}

static bool is_growth(const rk_step_sums *sums) {
    return sums->compiles > 0 || sums->new_programs > 0;
}

void rk_step_detector_emit(rk_step_detector *r) {
    if (r->range.sums.executions == 0 && r->range.steps == 0)
        return;
    r->emit(r->context, &r->range);
    r->range = (rk_step_range){0};
    r->ranges++;
}

// Returns whether the open step extends the current range. It must follow directly, be of the same
// pattern and equal the last step in all sums. After many ranges only steps with a compilation or a
// new program need a range of their own, so that the number of ranges stays small.
static bool continues_range(const rk_step_detector *r, uint32_t id) {
    const rk_step_range *range = &r->range;
    if (range->steps == 0 || range->rhythm != id ||
        range->first_execution + range->sums.executions != r->open_from)
        return false;
    if (memcmp(&r->last, &r->open, sizeof r->open) == 0)
        return true;
    return r->ranges >= RK_STEP_DETECTOR_EXACT_RANGES && !is_growth(&r->open) &&
           !is_growth(&r->last);
}

void rk_step_detector_close(rk_step_detector *r, uint32_t id) {
    if (id == 0 && r->open.executions == 0)
        return;
    if (!continues_range(r, id)) {
        rk_step_detector_emit(r);
        r->range = (rk_step_range){
            .rhythm = id, .first_execution = r->open_from, .is_marked = r->is_marked && id > 0};
    }
    r->range.steps += id > 0;
    add_sums(&r->range.sums, &r->open);
    r->last = r->open;
    if (id > 0)
        r->flat_steps = is_growth(&r->open) ? 0 : r->flat_steps + 1;
    r->open_from += r->open.executions;
    r->open = (rk_step_sums){0};
    r->step_number++;
}
