#include <string.h>

#include "diagnose/steps/detect_internal.h"

void rk_step_detector_count_program(rk_step_detector *r, uint32_t program) {
    if (program >= RK_STEP_DETECTOR_FIRST_GAP)
        return;
    uint64_t *step = &r->programs[program].step;
    r->open_programs += *step != r->step_number;
    *step = r->step_number;
}

void rk_step_detector_count_entry(rk_step_detector *r, rk_step_detector_entry *entry) {
    entry->programs_before = (uint32_t)r->open_programs;
    rk_step_detector_count_program(r, entry->program);
    entry->programs = (uint32_t)r->open_programs;
}

void rk_step_detector_recount(rk_step_detector *r) {
    r->step_number++;
    r->open_programs = 0;
    for (uint32_t i = 0; i < r->program_capacity; i++)
        if (r->programs[i].last > r->open.executions)
            rk_step_detector_count_program(r, i);
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
    to->work += step->work;
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
static bool continues_range(const rk_step_detector *r, uint32_t id, const rk_step_sums *step) {
    const rk_step_range *range = &r->range;
    if (range->steps == 0 || range->rhythm != id ||
        range->first_execution + range->sums.executions != r->open.executions)
        return false;
    if (memcmp(&r->last, step, sizeof *step) == 0)
        return true;
    return r->ranges >= RK_STEP_DETECTOR_EXACT_RANGES && !is_growth(step) && !is_growth(&r->last);
}

void rk_step_detector_close(rk_step_detector *r, uint32_t id, const rk_step_detector_totals *end) {
    const rk_step_detector_totals *start = &r->open;
    // If a step is found later, its light programs are counted only if they were new.
    uint64_t new_programs = end->new_programs - start->new_programs;
    const rk_step_sums step = {
        .executions = end->executions - start->executions,
        .programs = r->open_programs > new_programs ? r->open_programs : new_programs,
        .new_programs = new_programs,
        .compiles = end->compiles - start->compiles,
        .host_to_device = end->host_to_device - start->host_to_device,
        .host_to_device_bytes = end->host_to_device_bytes - start->host_to_device_bytes,
        .device_to_host = end->device_to_host - start->device_to_host,
        .device_to_host_bytes = end->device_to_host_bytes - start->device_to_host_bytes,
        .work = end->work - start->work,
    };
    if (id == 0 && step.executions == 0)
        return;
    if (!continues_range(r, id, &step)) {
        rk_step_detector_emit(r);
        r->range = (rk_step_range){.rhythm = id,
                                   .first_execution = r->open.executions,
                                   .programs_before = r->open.new_programs,
                                   .is_marked = r->is_marked && id > 0};
    }
    r->range.steps += id > 0;
    add_sums(&r->range.sums, &step);
    r->last = step;
    if (id > 0)
        r->flat_steps = is_growth(&step) ? 0 : r->flat_steps + 1;
    if (r->current && r->current->id == id) {
        r->current->work += step.work;
        r->current->host_to_device_bytes += step.host_to_device_bytes;
    }
    r->open = *end;
    r->open_programs = 0;
    r->step_number++;
}
