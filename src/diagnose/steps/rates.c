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

// Members of rk_usual_step.
enum { EXECUTIONS, PROGRAMS, TO_DEVICE, TO_DEVICE_BYTES, TO_HOST, TO_HOST_BYTES, MEMBERS };

// Sets what the steps of a span do together.
static void count(const rk_step_span *span, uint64_t *out_counts) {
    out_counts[EXECUTIONS] = span->executions;
    out_counts[PROGRAMS] = span->programs * span->steps; // `programs` is of one step
    out_counts[TO_DEVICE] = span->transfers.host_to_device;
    out_counts[TO_DEVICE_BYTES] = span->transfers.host_to_device_bytes;
    out_counts[TO_HOST] = span->transfers.device_to_host;
    out_counts[TO_HOST_BYTES] = span->transfers.device_to_host_bytes;
}

// The median over the steps. `rates` has room for all spans.
static double find_median(const rk_process_steps *steps, int member, rate *rates) {
    uint64_t seen = 0;
    double median = 0;
    for (size_t i = 0; i < steps->span_count; i++) {
        const rk_step_span *span = &steps->spans[i];
        uint64_t counts[MEMBERS];
        count(span, counts);
        rates[i] = (rate){0};
        if (span->steps > 0)
            rates[i] = (rate){(double)counts[member] / (double)span->steps, span->steps};
    }
    qsort(rates, steps->span_count, sizeof *rates, by_rate);
    for (size_t i = 0; i < steps->span_count && 2 * seen < steps->count; i++) {
        seen += rates[i].steps;
        median = rates[i].per_step;
    }
    return median;
}

rk_err *rk_steps_find_usual_step(const rk_process_steps *steps, rk_usual_step *out_step) {
    rk_autofree rate *rates = rk_calloc(steps->span_count + 1, sizeof *rates);
    double medians[MEMBERS];
    if (!rates)
        return rk_err_no_memory();
    for (int i = 0; i < MEMBERS; i++)
        medians[i] = find_median(steps, i, rates);
    *out_step = (rk_usual_step){.executions = medians[EXECUTIONS],
                                .programs = medians[PROGRAMS],
                                .host_to_device = medians[TO_DEVICE],
                                .host_to_device_bytes = medians[TO_DEVICE_BYTES],
                                .device_to_host = medians[TO_HOST],
                                .device_to_host_bytes = medians[TO_HOST_BYTES]};
    return NULL;
}
