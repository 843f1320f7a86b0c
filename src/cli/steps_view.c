#include "cli/steps_view.h"

#include <inttypes.h>

#include "cli/text.h"

uint64_t rk_steps_late(const rk_steps *steps, uint64_t *out_ns) {
    uint64_t late = 0;
    *out_ns = 0;
    for (size_t i = 0; i < steps->count; i++) {
        late += steps->processes[i].late;
        *out_ns += steps->processes[i].late_ns;
    }
    return late;
}

// "1 transfer", or "1.5 transfers" for a step of a loop whose steps are known as a whole only.
static void print_rate(double rate, const char *noun, rk_buf *out) {
    uint64_t tenths = (uint64_t)(rate * 10 + 0.5);
    if (tenths % 10 == 0)
        rk_buf_add_text(out, rk_text_count(tenths / 10).text);
    else
        rk_buf_add_format(out, "%.1f", rate);
    rk_buf_add_format(out, " %s%s", noun, tenths == 10 ? "" : "s");
}

// "4 transfers to the device (74.5 kB)"; nothing without transfers.
static void print_transfers(double transfers, double bytes, const char *where, rk_buf *out) {
    const double least = 0.05; // fewer round to 0.0
    if (transfers < least)
        return;
    rk_buf_add_text(out, ", ");
    print_rate(transfers, "transfer", out);
    rk_buf_add_format(out, " %s", where);
    if (bytes >= 1)
        rk_buf_add_format(out, " (%s)", rk_text_bytes((uint64_t)bytes).text);
}

void rk_steps_print_usual(const rk_process_steps *process, rk_buf *out) {
    rk_usual_step step;
    rk_err *err = rk_steps_find_usual_step(process, &step);
    if (err) {
        out->failed = true;
        rk_err_free(err);
        return;
    }
    print_rate(step.executions, "execution", out);
    print_transfers(step.host_to_device, step.host_to_device_bytes, "to the device", out);
    print_transfers(step.device_to_host, step.device_to_host_bytes, "from the device", out);
}

static uint64_t programs_of(const rk_process_steps *process) {
    return process->point_count > 0 ? process->curve[process->point_count - 1].programs : 0;
}

// The points of the curve within the complete steps: "step 33", "steps 1, 17 and 33", or "12 steps,
// from step 1 to step 115". Returns false without any.
static bool print_steps_of_points(const rk_process_steps *process, rk_buf *out) {
    enum { LISTED_MAX = 4 };
    const rk_step_point *points = process->curve;
    size_t first = 0, end = process->point_count;
    while (first < end && points[first].step == 0)
        first++;
    while (end > first && points[end - 1].step > process->count)
        end--;
    size_t count = end - first;
    if (count == 0)
        return false;
    rk_buf_add_text(out, "new programs in ");
    if (count > LISTED_MAX) {
        rk_buf_add_format(out, "%zu steps, from step %" PRIu64 " to step %" PRIu64, count,
                          points[first].step, points[end - 1].step);
        return true;
    }
    rk_buf_add_text(out, count == 1 ? "step " : "steps ");
    for (size_t i = first; i < end; i++)
        rk_buf_add_format(out, "%s%" PRIu64,
                          i == first    ? ""
                          : i + 1 < end ? ", "
                                        : " and ",
                          points[i].step);
    return true;
}

// What a run shows that was flat, and then had something new.
static void print_growth(const rk_process_steps *process, rk_buf *out) {
    size_t count = process->point_count;
    uint64_t programs = programs_of(process), last = count ? process->curve[count - 1].step : 0;
    bool any = print_steps_of_points(process, out), at_end = process->last_new > process->count;
    if (last > process->count)
        rk_buf_add_text(out, any ? " and after the last step" : "new programs after the last step");
    else if (!any)
        rk_buf_add_text(out, "no new programs in the steps");
    rk_buf_add_format(out, " (%s program%s)", rk_text_count(programs).text,
                      rk_text_plural(programs));
    if (last >= process->last_new) {
        rk_buf_add_text(out, at_end || last == process->count ? "" : "; nothing new since");
        return;
    }
    // What was compiled then was not executed, or was executed before.
    rk_buf_add_text(out, "; the last compilation was ");
    if (at_end)
        rk_buf_add_text(out, "after the last step");
    else
        rk_buf_add_format(out, "in step %" PRIu64, process->last_new);
}

void rk_steps_print_curve(const rk_process_steps *process, rk_buf *out) {
    uint64_t all = programs_of(process);
    bool is_after = process->last_new > process->count && process->point_count > 0 &&
                    process->curve[0].step <= process->count;
    if ((process->is_flat && process->last_new > process->flat_after) || is_after) {
        print_growth(process, out);
    } else if (process->is_flat) {
        rk_buf_add_format(out, "nothing new after step %" PRIu64 " (%s program%s)",
                          process->flat_after, rk_text_count(all).text, rk_text_plural(all));
    } else if (process->last_new < process->count) {
        rk_buf_add_format(
            out, "nothing new since step %" PRIu64 ", of %" PRIu64 " steps (%s program%s)",
            process->last_new, process->count, rk_text_count(all).text, rk_text_plural(all));
    } else {
        rk_buf_add_format(out, "new programs up to the last step (%s program%s)",
                          rk_text_count(all).text, rk_text_plural(all));
    }
}

static json_t *mean_json(uint64_t sum, uint64_t count) {
    return json_real((double)sum / (double)count);
}

static json_t *transfers_json(uint64_t transfers, uint64_t bytes, uint64_t steps) {
    json_t *object = rk_out_object();
    rk_out_set(object, "count", mean_json(transfers, steps));
    rk_out_set(object, "bytes", mean_json(bytes, steps));
    return object;
}

static json_t *per_step_json(const rk_process_steps *process) {
    const rk_journal_counts *transfers = &process->sums.transfers;
    json_t *object = rk_out_object();
    rk_out_set(object, "executions", mean_json(process->sums.executions, process->count));
    rk_out_set(object, "most_programs", rk_out_uint(process->sums.programs));
    rk_out_set(
        object, "host_to_device",
        transfers_json(transfers->host_to_device, transfers->host_to_device_bytes, process->count));
    rk_out_set(
        object, "device_to_host",
        transfers_json(transfers->device_to_host, transfers->device_to_host_bytes, process->count));
    return object;
}

json_t *rk_steps_json(const rk_steps *steps) {
    const rk_process_steps *process = rk_steps_longest(steps);
    if (!process)
        return json_null();
    uint64_t late_ns, late = rk_steps_late(steps, &late_ns);
    json_t *object = rk_out_object(), *curve = rk_out_array();
    for (size_t i = 0; i < process->point_count; i++) {
        json_t *point = rk_out_object();
        rk_out_set(point, "step", rk_out_uint(process->curve[i].step));
        rk_out_set(point, "programs", rk_out_uint(process->curve[i].programs));
        rk_out_append(curve, point);
    }
    rk_out_set(object, "count", rk_out_uint(process->count));
    rk_out_set(object, "marked", rk_out_bool(process->is_marked));
    rk_out_set(object, "flat_after",
               process->is_flat ? rk_out_uint(process->flat_after) : json_null());
    rk_out_set(object, "last_new", rk_out_uint(process->last_new));
    rk_out_set(object, "late", rk_out_uint(late));
    rk_out_set(object, "late_seconds", rk_out_seconds(late_ns));
    rk_out_set(object, "per_step", per_step_json(process));
    rk_out_set(object, "curve", curve);
    return object;
}
