// Lists the names of all runs.
#pragma once

#include "base/status.h"

typedef struct rk_run_names {
    char **items; // owned, as is each name; newest last
    size_t count;
} rk_run_names;

void rk_run_names_cleanup(rk_run_names *names);

// `*out_names` must be zeroed. Owned: rk_run_names_cleanup, also after an error. Errors as of
// rk_run_list.
RK_NODISCARD rk_err *rk_run_names_collect(const char *directory, rk_run_names *out_names);
