// The graphs of PyTorch/XLA that a process executed, and how often.
#include "base/alloc.h"
#include "diagnose/explain/graphs_internal.h"

void rk_graphs_cleanup(rk_graphs *list) {
    rk_free(list->items);
}

uint64_t rk_graphs_executions(const rk_graphs *list, size_t group) {
    uint64_t count = 0;
    for (size_t i = 0; i < list->count; i++)
        count += list->items[i].group == group ? list->items[i].executions : 0;
    return count;
}

// The step of the first request for a version; RK_NO_STEP if the step of any of them is unknown.
static uint64_t first_step(const rk_graphs *list, size_t group) {
    uint64_t first = UINT64_MAX;
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].group != group)
            continue;
        if (list->items[i].step == RK_NO_STEP)
            return RK_NO_STEP;
        first = list->items[i].step < first ? list->items[i].step : first;
    }
    return first;
}

bool rk_graphs_recur(const rk_graphs *list, size_t at) {
    enum { FIRST_STEPS = 4 };
    const size_t group = list->items[at].group;
    if (4 * rk_graphs_executions(list, group) < 3 * list->steps)
        return false;
    uint64_t first = first_step(list, group);
    return first == RK_NO_STEP || list->is_guess || first <= FIRST_STEPS ||
           4 * first <= list->steps;
}
