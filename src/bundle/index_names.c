#include <stdlib.h>

#include "base/alloc.h"
#include "bundle/index_internal.h"
#include "bundle/name_internal.h"

static const rk_bundle_item *item_at(const void *pointer) {
    const rk_bundle_item *item;
    memcpy(&item, pointer, sizeof item);
    return item;
}

static int by_name(const void *a, const void *b) {
    return rk_bundle_name_compare(item_at(a)->name, item_at(b)->name);
}

// `upper` comes before `lower` in the order of rk_bundle_name_compare.
static rk_err *check_neighbours(rk_span upper, rk_span lower, const rk_bundle_module *module,
                                const char *shown) {
    if (!rk_bundle_name_contains(upper, lower))
        return NULL;
    const char *what = upper.len < lower.len ? "one would be a file and a folder"
                       : rk_span_equal(upper, lower)
                           ? "they have the same name"
                           : "they have the same name on a file system without case";
    return rk_error(RK_INVALID_ARGUMENT,
                    "%s: module %s: items \"%s\" and \"%s\" conflict: %s: do not use this bundle",
                    shown, rk_bundle_show(module->name).text, rk_bundle_show(upper).text,
                    rk_bundle_show(lower).text, what);
}

static bool is_sorted(const rk_bundle_module *module) {
    for (size_t i = 1; i < module->item_count; i++)
        if (rk_bundle_name_compare(module->items[i - 1].name, module->items[i].name) > 0)
            return false;
    return true;
}

rk_err *rk_bundle_check_conflicts(const rk_bundle_module *module, const char *shown) {
    size_t count = module->item_count;
    if (is_sorted(module)) {
        for (size_t i = 1; i < count; i++)
            RK_TRY(
                check_neighbours(module->items[i - 1].name, module->items[i].name, module, shown));
        return NULL;
    }
    rk_autofree const rk_bundle_item **sorted = rk_calloc(count, sizeof *sorted);
    if (!sorted)
        return rk_err_no_memory();
    for (size_t i = 0; i < count; i++)
        sorted[i] = &module->items[i];
    qsort(sorted, count, sizeof *sorted, by_name);
    for (size_t i = 1; i < count; i++)
        RK_TRY(check_neighbours(sorted[i - 1]->name, sorted[i]->name, module, shown));
    return NULL;
}
