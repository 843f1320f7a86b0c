#include "cli/run_names.h"

#include "base/alloc.h"
#include "cli/fail.h"
#include "journal/read.h"

void rk_run_names_cleanup(rk_run_names *names) {
    for (size_t i = 0; i < names->count; i++)
        rk_free(names->items[i]);
    rk_free(names->items);
}

static rk_err *add_name(void *context, const rk_run_item *item) {
    rk_run_names *names = context;
    names->items = rk_need(rk_realloc(names->items, (names->count + 1) * sizeof *names->items));
    names->items[names->count++] = rk_need(rk_strdup(item->run));
    return NULL;
}

rk_err *rk_run_names_collect(const char *directory, rk_run_names *out_names) {
    return rk_run_list(directory, add_name, out_names);
}
