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

bool rk_graphs_recur(const rk_graphs *list, size_t at) {
    return 4 * rk_graphs_executions(list, list->items[at].group) >= 3 * list->steps;
}
