// The programs of a run that differ in nothing but the size of one axis, for `rekindle shapes`.
#pragma once

#include "diagnose/shapes/families.h"
#include "diagnose/shapes/parameters.h"
#include "journal/read.h"
#include "store/store.h"

// A distinct executable that the run asked for, and whose program is kept.
typedef struct rk_seen {
    const rk_run_compile *compile; // the first request for it; borrowed from the run
    uint64_t uses;       // executions, in all processes; or requests, if that is not known
    uint64_t compile_ns; // what compiling it takes, or once took
    rk_parameters parameters;
    char *kind; // owned; equal for programs that may be of one family
} rk_seen;

typedef struct rk_seen_list {
    rk_seen *items; // owned; in the order of the first requests
    size_t count;
    uint64_t unread; // programs that are not kept any more, or cannot be read
} rk_seen_list;
void rk_seen_list_cleanup(rk_seen_list *list);

// Reads the programs of a run from the store. `out_list` must be zeroed, and is to be cleaned up
// after an error too. Errors: what the file system said. Blocks on it.
RK_NODISCARD rk_err *rk_seen_collect(rk_store *store, const rk_run_model *model,
                                     rk_seen_list *out_list);

// Where the program is called, "train.py:12"; nothing where that is not known.
void rk_seen_print_place(rk_store *store, const rk_seen *seen, rk_buf *out);

// The axis' size in a program of the list.
uint64_t rk_seen_size(const rk_seen *seen, const rk_family *family);

// The name that a family goes by: that of a program, less the number that some frameworks append.
void rk_seen_print_name(const rk_seen *seen, rk_buf *out);
