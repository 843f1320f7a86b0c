// Lists the names of all runs, and finds the run that a user names.
#pragma once

#include "base/buf.h"

typedef struct rk_run_names {
    char **items;       // owned, as is each name; newest last
    uint64_t *start_ns; // owned; of each run
    size_t count;
} rk_run_names;

void rk_run_names_cleanup(rk_run_names *names);

// `*out_names` must be zeroed. Owned: rk_run_names_cleanup, also after an error. Errors as of
// rk_run_list.
RK_NODISCARD rk_err *rk_run_names_collect(const char *directory, rk_run_names *out_names);

// What --run takes, for the help of a verb.
#define RK_RUN_HELP                                                                                \
    "another run than the last: the beginning of its name, or counted from the end: -2 is the "    \
    "one "                                                                                         \
    "before the last"

// Finds a run: by its name, by the beginning of its name, as `last` or -1, as -2 (the one before),
// and so on. NULL: the last run. Owned: rk_free. Errors as of rk_run_find.
RK_NODISCARD rk_err *rk_run_names_find(const char *directory, const char *which, char **out_run);

// Appends the number of a run, "-2"; its whole name if it is not in the list.
void rk_run_names_refer(const rk_run_names *names, const char *run, rk_buf *out);
