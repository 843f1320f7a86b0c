#include "diagnose/steps/steps.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "diagnose/steps/doubts_internal.h"

void rk_steps_cleanup(rk_steps *steps) {
    for (size_t i = 0; i < steps->count; i++) {
        rk_free(steps->processes[i].spans);
        rk_free(steps->processes[i].curve);
    }
    rk_free(steps->processes);
    *steps = (rk_steps){0};
}

static void ranges_cleanup(rk_step_ranges *list) {
    rk_free(list->items);
}

static uint64_t part_of(uint64_t count, double share) {
    return (uint64_t)((double)count * share);
}

// Shortens a range to the executions before `next`. What `next` counts is not counted here again.
// For programs, the journal has the number executed before `next`. All other sums shrink in
// proportion, because the steps of a range are equal.
static void cut(rk_journal_steps *range, const rk_journal_steps *next) {
    uint64_t limit = next->first_execution - range->first_execution;
    if (range->executions <= limit)
        return;
    double kept = (double)limit / (double)range->executions;
    rk_journal_counts *transfers = &range->transfers;
    range->steps = part_of(range->steps, kept);
    range->work = part_of(range->work, kept);
    range->compiles = part_of(range->compiles, kept);
    transfers->host_to_device = part_of(transfers->host_to_device, kept);
    transfers->host_to_device_bytes = part_of(transfers->host_to_device_bytes, kept);
    transfers->device_to_host = part_of(transfers->device_to_host, kept);
    transfers->device_to_host_bytes = part_of(transfers->device_to_host_bytes, kept);
    range->executions = limit;
    uint64_t before = next->programs_before;
    if (before >= range->programs_before && before - range->programs_before < range->new_programs &&
        before > 0)
        range->new_programs = before - range->programs_before;
}

// Adds a range. It replaces earlier ranges of the same executions, and cuts a range that overlaps
// it.
static void add_range(rk_step_ranges *list, const rk_journal_steps *range) {
    while (list->count > 0 &&
           list->items[list->count - 1].first_execution >= range->first_execution)
        list->count--;
    if (list->count > 0)
        cut(&list->items[list->count - 1], range);
    list->items[list->count++] = *range;
}

static rk_err *collect(const rk_run_model *model, size_t process, rk_step_ranges *out_list) {
    out_list->items = rk_calloc(model->step_count + 1, sizeof *out_list->items);
    if (!out_list->items)
        return rk_err_no_memory();
    for (size_t i = 0; i < model->step_count; i++)
        if (model->steps[i].process == process)
            add_range(out_list, &model->steps[i].steps);
    return NULL;
}

static int by_pattern(const void *a, const void *b) {
    const rk_journal_steps *one = a, *other = b;
    return (one->rhythm > other->rhythm) - (one->rhythm < other->rhythm);
}

static uint64_t total_work(const rk_step_ranges *list) {
    uint64_t sum = 0;
    for (size_t i = 0; i < list->count; i++)
        sum += list->items[i].work;
    return sum;
}

// Finds the pattern that counts; 0 if there is none. Its steps must carry half of the process's
// work, or, in journals without work, have the most executions.
static rk_err *find_pattern(const rk_step_ranges *list, uint32_t *out_pattern) {
    rk_autofree rk_journal_steps *sorted = rk_calloc(list->count + 1, sizeof *sorted);
    uint64_t most = 0, sum = 0, all = total_work(list);
    *out_pattern = 0;
    if (!sorted)
        return rk_err_no_memory();
    memcpy(sorted, list->items, list->count * sizeof *sorted);
    qsort(sorted, list->count, sizeof *sorted, by_pattern);
    for (size_t i = 0; i < list->count; i++) {
        sum = i > 0 && sorted[i].rhythm == sorted[i - 1].rhythm ? sum : 0;
        sum += all > 0 ? sorted[i].work : sorted[i].executions;
        if (sorted[i].marked)
            sum = UINT64_MAX;
        if (sorted[i].rhythm > 0 && sorted[i].steps > 0 && sum > most && sum >= all - all / 2) {
            most = sum;
            *out_pattern = sorted[i].rhythm;
        }
    }
    return NULL;
}

static bool is_same_rate(uint64_t a, uint64_t a_steps, uint64_t b, uint64_t b_steps) {
    return (double)a * (double)b_steps == (double)b * (double)a_steps;
}

// Returns whether the steps of two patterns do the same with other programs: they execute equally
// many, transfer the same to the device, and carry similar work.
static bool are_alike(const rk_journal_steps *a, const rk_journal_steps *b) {
    const double work_max = 2.2;
    double one = (double)a->work / (double)a->steps, other = (double)b->work / (double)b->steps;
    return !a->marked && !b->marked &&
           is_same_rate(a->executions, a->steps, b->executions, b->steps) &&
           is_same_rate(a->transfers.host_to_device, a->steps, b->transfers.host_to_device,
                        b->steps) &&
           is_same_rate(a->transfers.host_to_device_bytes, a->steps,
                        b->transfers.host_to_device_bytes, b->steps) &&
           a->transfers.host_to_device > 0 && one <= work_max * other && other <= work_max * one;
}

// Returns whether one pattern ends before the other one begins.
static bool follow_each_other(const rk_step_ranges *list, uint32_t a, uint32_t b) {
    size_t changes = 0;
    uint32_t last = 0;
    for (size_t i = 0; i < list->count; i++) {
        uint32_t pattern = list->items[i].rhythm;
        if (pattern != a && pattern != b)
            continue;
        changes += last > 0 && pattern != last;
        last = pattern;
    }
    return changes == 1;
}

// Counts the steps of other patterns that do the same before or after those of the pattern: the
// loops of several optimizers, or the epochs after the model's state got other programs.
static void merge_alike(rk_step_ranges *list, uint32_t pattern) {
    const rk_journal_steps *usual = rk_steps_find_usual(list, pattern);
    for (size_t i = 0; usual && i < list->count; i++) {
        uint32_t other = list->items[i].rhythm;
        const rk_journal_steps *its =
            other > 0 && other != pattern ? rk_steps_find_usual(list, other) : NULL;
        if (!its || !are_alike(usual, its) || !follow_each_other(list, pattern, other))
            continue;
        for (size_t k = 0; k < list->count; k++)
            if (list->items[k].rhythm == other)
                list->items[k].rhythm = pattern;
    }
}

static void add_sums(rk_journal_steps *to, const rk_journal_steps *range) {
    to->executions += range->executions;
    to->steps += range->steps;
    to->programs = to->programs > range->programs ? to->programs : range->programs;
    to->new_programs += range->new_programs;
    to->compiles += range->compiles;
    to->transfers.host_to_device += range->transfers.host_to_device;
    to->transfers.host_to_device_bytes += range->transfers.host_to_device_bytes;
    to->transfers.device_to_host += range->transfers.device_to_host;
    to->transfers.device_to_host_bytes += range->transfers.device_to_host_bytes;
}

// The step of an execution; 0 before the first step.
static uint64_t step_at(const rk_process_steps *process, uint64_t execution) {
    if (process->span_count == 0 || execution < process->spans[0].first_execution)
        return 0;
    // The last span that begins at or before the execution.
    size_t low = 0, high = process->span_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (process->spans[middle].first_execution <= execution)
            low = middle;
        else
            high = middle;
    }
    const rk_step_span *span = &process->spans[low];
    uint64_t into = execution - span->first_execution, done = span->steps;
    if (into < span->executions)
        done = (uint64_t)((double)span->steps * (double)into / (double)span->executions);
    return span->first_step + done;
}

static rk_err *make_spans(rk_step_ranges *list, rk_process_steps *process) {
    uint32_t pattern;
    RK_TRY(find_pattern(list, &pattern));
    merge_alike(list, pattern);
    bool are_doubtful;
    RK_TRY(rk_steps_are_doubtful(list, pattern, &are_doubtful));
    if (are_doubtful)
        pattern = 0;
    process->spans = rk_calloc(list->count + 1, sizeof *process->spans);
    if (!process->spans)
        return rk_err_no_memory();
    for (size_t i = 0; pattern > 0 && i < list->count; i++) {
        const rk_journal_steps *range = &list->items[i];
        if (range->rhythm != pattern)
            continue;
        process->spans[process->span_count++] =
            (rk_step_span){.first_execution = range->first_execution,
                           .executions = range->executions,
                           .first_step = process->count + 1,
                           .steps = range->steps,
                           .programs = range->programs,
                           .transfers = range->transfers};
        process->count += range->steps;
        process->is_marked = range->marked;
        add_sums(&process->sums, range);
    }
    return NULL;
}

static int by_key(const void *a, const void *b) {
    return strcmp(a, b);
}

// Counts the distinct programs that a process executed. A process that was killed has no list of
// them.
static rk_err *count_executed(const rk_run_model *model, size_t process, uint64_t *out_count) {
    rk_autofree rk_run_hex *keys = rk_calloc(model->executed_count + 1, sizeof *keys);
    size_t count = 0;
    *out_count = 0;
    if (!keys)
        return rk_err_no_memory();
    for (size_t i = 0; i < model->executed_count; i++)
        if (model->executed[i].process == process && model->executed[i].executions > 0)
            memcpy(keys[count++], model->executed[i].key, sizeof *keys);
    if (count > 0)
        qsort(keys, count, sizeof *keys, by_key);
    for (size_t i = 0; i < count; i++)
        *out_count += i == 0 || strcmp(keys[i - 1], keys[i]) != 0;
    return NULL;
}

// Adds the programs that were executed for the first time after the last range: no range contains
// a step that was not complete at the end of the process.
static rk_err *add_end(const rk_run_model *model, size_t index, const rk_step_ranges *list,
                       rk_process_steps *process) {
    const rk_journal_steps *last = &list->items[list->count - 1];
    size_t count = process->point_count;
    uint64_t executed, programs = count ? process->curve[count - 1].programs : 0;
    if (model->processes[index].counts.executions <= last->first_execution + last->executions)
        return NULL;
    RK_TRY(count_executed(model, index, &executed));
    if (executed <= programs)
        return NULL;
    if (count == 0 || process->curve[count - 1].step <= process->count)
        process->point_count++;
    process->curve[process->point_count - 1] = (rk_step_point){process->count + 1, executed};
    return NULL;
}

// The steps of a range have equal sums. Returns how many of them have new programs of their own; 1
// if that is not known, because the journal has joined unequal steps.
static uint64_t parts_of(const rk_journal_steps *range) {
    enum { PARTS_MAX = 4096 };
    bool divides = range->steps > 0 && range->steps <= PARTS_MAX &&
                   range->new_programs % range->steps == 0 && range->executions >= range->steps;
    return range->new_programs == 0 ? 0 : divides ? range->steps : 1;
}

static void add_point(rk_process_steps *process, uint64_t step, uint64_t programs) {
    size_t count = process->point_count;
    if (count == 0 || process->curve[count - 1].step != step)
        process->point_count++;
    process->curve[process->point_count - 1] = (rk_step_point){step, programs};
}

static rk_err *make_curve(const rk_step_ranges *list, rk_process_steps *process) {
    uint64_t programs = 0, points = 1;
    for (size_t i = 0; i < list->count; i++)
        points += parts_of(&list->items[i]);
    process->curve = rk_calloc(points, sizeof *process->curve);
    if (!process->curve)
        return rk_err_no_memory();
    for (size_t i = 0; i < list->count; i++) {
        const rk_journal_steps *range = &list->items[i];
        uint64_t parts = parts_of(range);
        for (uint64_t k = 0; k < parts; k++) {
            programs += range->new_programs / parts;
            add_point(process,
                      step_at(process, range->first_execution + k * (range->executions / parts)),
                      programs);
        }
    }
    return NULL;
}

static bool is_real(const rk_run_compile *compile, size_t process) {
    return compile->process == process && compile->compiled && !compile->ahead_of_time &&
           compile->has_executions;
}

static int by_step(const void *a, const void *b) {
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

// Finds the first long gap between steps with a new program or a compilation. Then counts the
// compilations after it.
static rk_err *find_flat(const rk_run_model *model, size_t index, rk_process_steps *process) {
    rk_autofree uint64_t *grew =
        rk_calloc(process->point_count + model->compile_count + 1, sizeof *grew);
    size_t count = 0;
    if (!grew)
        return rk_err_no_memory();
    grew[count++] = 0;
    for (size_t i = 0; i < process->point_count; i++)
        grew[count++] = process->curve[i].step;
    for (size_t i = 0; i < model->compile_count; i++)
        if (is_real(&model->compiles[i], index))
            grew[count++] = step_at(process, model->compiles[i].executions);
    qsort(grew, count, sizeof *grew, by_step);
    process->last_new = grew[count - 1];
    for (size_t i = 0; i < count && !process->is_flat; i++) {
        uint64_t next = i + 1 < count ? grew[i + 1] : process->count + 1;
        process->is_flat = next > grew[i] + RK_STEPS_FLAT;
        process->flat_after = grew[i];
    }
    for (size_t i = 0; i < model->compile_count && process->is_flat; i++) {
        const rk_run_compile *compile = &model->compiles[i];
        if (!is_real(compile, index) ||
            step_at(process, compile->executions) <= process->flat_after)
            continue;
        process->late++;
        process->late_ns += compile->compile_ns;
    }
    return NULL;
}

static rk_err *read_process(const rk_run_model *model, size_t index, rk_process_steps *process) {
    __attribute__((cleanup(ranges_cleanup))) rk_step_ranges list = {0};
    RK_TRY(collect(model, index, &list));
    RK_TRY(make_spans(&list, process));
    if (process->count == 0)
        return NULL;
    RK_TRY(make_curve(&list, process));
    RK_TRY(add_end(model, index, &list, process));
    return find_flat(model, index, process);
}

rk_err *rk_steps_read(const rk_run_model *model, rk_steps *out_steps) {
    out_steps->processes = rk_calloc(model->process_count + 1, sizeof *out_steps->processes);
    if (!out_steps->processes)
        return rk_err_no_memory();
    for (; out_steps->count < model->process_count; out_steps->count++) {
        rk_err *err =
            read_process(model, out_steps->count, &out_steps->processes[out_steps->count]);
        if (err) {
            out_steps->count++;
            return err;
        }
    }
    return NULL;
}

uint64_t rk_steps_of_compile(const rk_steps *steps, const rk_run_compile *compile) {
    if (compile->process >= steps->count || !compile->has_executions ||
        steps->processes[compile->process].count == 0)
        return RK_NO_STEP;
    return step_at(&steps->processes[compile->process], compile->executions);
}

bool rk_steps_is_after_last(const rk_steps *steps, const rk_run_compile *compile) {
    uint64_t step = rk_steps_of_compile(steps, compile);
    return step != RK_NO_STEP && step > steps->processes[compile->process].count;
}

bool rk_steps_is_late(const rk_steps *steps, const rk_run_compile *compile) {
    uint64_t step = rk_steps_of_compile(steps, compile);
    return step != RK_NO_STEP && is_real(compile, compile->process) &&
           steps->processes[compile->process].is_flat &&
           step > steps->processes[compile->process].flat_after;
}

const rk_process_steps *rk_steps_longest(const rk_steps *steps) {
    const rk_process_steps *longest = NULL;
    for (size_t i = 0; i < steps->count; i++)
        if (steps->processes[i].count > (longest ? longest->count : 0))
            longest = &steps->processes[i];
    return longest;
}
