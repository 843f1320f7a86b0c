// Tells whether the repetitions of a pattern are the steps of the loop.
#include "diagnose/steps/doubts_internal.h"

#include <stdlib.h>

#include "base/alloc.h"

const rk_journal_steps *rk_steps_find_usual(const rk_step_ranges *list, uint32_t pattern) {
    enum { STEPS_MIN = 5 };
    const rk_journal_steps *usual = NULL;
    uint64_t steps = 0;
    for (size_t i = 0; i < list->count; i++) {
        const rk_journal_steps *range = &list->items[i];
        if (range->rhythm != pattern)
            continue;
        steps += range->steps;
        if (range->steps > (usual ? usual->steps : 0))
            usual = range;
    }
    return steps >= STEPS_MIN ? usual : NULL;
}

// Returns whether most steps of a pattern have a program of their own.
static bool has_new_programs(const rk_step_ranges *list, uint32_t pattern) {
    uint64_t steps = 0, programs = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].rhythm != pattern)
            continue;
        steps += list->items[i].steps;
        programs += list->items[i].new_programs;
    }
    return pattern > 0 && 2 * programs > steps;
}

// Returns whether so much work belongs to no step of a pattern that the loop went on with other
// programs. Usually this is the work from the first step on: the steps of a second loop are a
// pattern of their own. If each step has a program of its own, the work before, and that of other
// such patterns, may be steps as well.
static bool is_interrupted(const rk_step_ranges *list, uint32_t pattern) {
    const double share_min = 0.8;
    bool is_new = has_new_programs(list, pattern);
    uint64_t work = 0, all = 0, until = 0;
    for (size_t i = 0; i < list->count; i++) {
        const rk_journal_steps *range = &list->items[i];
        uint64_t end = range->first_execution + range->executions;
        if (range->marked)
            return false;
        bool is_of_pattern = range->rhythm == pattern;
        bool may_be_steps = range->rhythm == 0 ? all > 0 || is_new
                                               : is_new && has_new_programs(list, range->rhythm);
        if (is_of_pattern || (may_be_steps && range->first_execution >= until))
            all += range->work;
        work += is_of_pattern ? range->work : 0;
        until = end > until ? end : until;
    }
    return (double)work < share_min * (double)all;
}

// Returns whether a range is another loop, which runs operation by operation: each of its programs
// is executed again and again and carries little work, in no step or in one that is much longer
// than the others.
static bool is_other_loop(const rk_journal_steps *range, const rk_journal_steps *usual) {
    const double rounds_min = 200, longer = 64, lighter = 16;
    double executions = (double)range->executions / (double)(range->steps ? range->steps : 1);
    double usual_executions = (double)usual->executions / (double)usual->steps;
    double work = (double)range->work * (double)usual->executions;
    double usual_work = (double)usual->work * (double)range->executions;
    return range->programs && executions >= rounds_min * (double)range->programs &&
           (range->rhythm == 0 || executions > longer * usual_executions) &&
           lighter * work < usual_work;
}

// Returns whether most executions from the first step on are those of such loops.
static bool has_other_loops(const rk_step_ranges *list, uint32_t pattern) {
    const rk_journal_steps *usual = rk_steps_find_usual(list, pattern);
    uint64_t all = 0, looped = 0;
    for (size_t i = 0; usual && i < list->count; i++) {
        const rk_journal_steps *range = &list->items[i];
        if (range->marked)
            return false;
        if (all == 0 && range->rhythm != pattern)
            continue;
        all += range->executions;
        if (is_other_loop(range, usual))
            looped += range->executions;
    }
    return looped > all / 2;
}

static int most_work_first(const void *a, const void *b) {
    const rk_journal_steps *one = a, *other = b;
    double x = (double)one->work / (double)one->steps,
           y = (double)other->work / (double)other->steps;
    return (x < y) - (x > y);
}

// Returns whether a tenth of the steps of a pattern carries most of its work. Then these may be the
// steps, and the others only read numbers.
static rk_err *is_uneven(const rk_step_ranges *list, uint32_t pattern, bool *out_uneven) {
    const double steps_min = 20, most = 0.5;
    rk_autofree rk_journal_steps *sorted = rk_calloc(list->count + 1, sizeof *sorted);
    double steps = 0, work = 0, top = 0;
    size_t count = 0;
    bool marked = false;
    *out_uneven = false;
    if (!sorted)
        return rk_err_no_memory();
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].rhythm != pattern || !list->items[i].steps)
            continue;
        sorted[count++] = list->items[i];
        steps += (double)list->items[i].steps;
        work += (double)list->items[i].work;
        marked |= list->items[i].marked;
    }
    if (marked || steps < steps_min)
        return NULL;
    qsort(sorted, count, sizeof *sorted, most_work_first);
    double left = steps / 10;
    for (size_t i = 0; i < count && left > 0; i++) {
        double own = (double)sorted[i].steps, taken = own < left ? own : left;
        top += taken * (double)sorted[i].work / own;
        left -= taken;
    }
    *out_uneven = top > most * work;
    return NULL;
}

rk_err *rk_steps_are_doubtful(const rk_step_ranges *list, uint32_t pattern, bool *out_doubtful) {
    RK_TRY(is_uneven(list, pattern, out_doubtful));
    *out_doubtful |= is_interrupted(list, pattern) || has_other_loops(list, pattern);
    return NULL;
}
