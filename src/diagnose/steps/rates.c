// What a usual step of a process does.
#include <stdlib.h>

#include "base/alloc.h"
#include "diagnose/steps/steps.h"

typedef struct rate {
    double per_step;
    uint64_t steps; // with this rate
} rate;

static int by_rate(const void *a, const void *b) {
    const rate *one = a, *other = b;
    return (one->per_step > other->per_step) - (one->per_step < other->per_step);
}

static uint64_t executions_of(const rk_step_span *span) {
    return span->executions;
}

// `programs` is of one step already.
static uint64_t programs_of(const rk_step_span *span) {
    return span->programs * span->steps;
}

static uint64_t reads_of(const rk_step_span *span) {
    return span->device_to_host;
}

// The median over the steps.
static rk_err *find_median(const rk_process_steps *steps, uint64_t (*count)(const rk_step_span *),
                           double *out_rate) {
    rk_autofree rate *rates = rk_calloc(steps->span_count + 1, sizeof *rates);
    uint64_t seen = 0;
    if (!rates)
        return rk_err_no_memory();
    for (size_t i = 0; i < steps->span_count; i++) {
        const rk_step_span *span = &steps->spans[i];
        if (span->steps > 0)
            rates[i] = (rate){(double)count(span) / (double)span->steps, span->steps};
    }
    qsort(rates, steps->span_count, sizeof *rates, by_rate);
    *out_rate = 0;
    for (size_t i = 0; i < steps->span_count && 2 * seen < steps->count; i++) {
        seen += rates[i].steps;
        *out_rate = rates[i].per_step;
    }
    return NULL;
}

rk_err *rk_steps_usual_executions(const rk_process_steps *steps, double *out_executions) {
    return find_median(steps, executions_of, out_executions);
}

rk_err *rk_steps_usual_programs(const rk_process_steps *steps, double *out_programs) {
    return find_median(steps, programs_of, out_programs);
}

rk_err *rk_steps_usual_reads(const rk_process_steps *steps, double *out_reads) {
    return find_median(steps, reads_of, out_reads);
}
