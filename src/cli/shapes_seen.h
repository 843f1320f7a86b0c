// The distinct executables of a run, with the parameters of their programs. `rekindle shapes`
// searches them for programs that differ only in the size of one axis.
#pragma once

#include "diagnose/shapes/families.h"
#include "diagnose/shapes/parameters.h"
#include "journal/read.h"
#include "store/store.h"

// A distinct executable of the run whose program is still in the store.
typedef struct rk_seen {
    const rk_run_compile *compile; // the first request; borrowed from the run
    uint64_t uses;       // executions in all processes; requests if executions are unknown
    uint64_t compile_ns; // the longest known compile time
    rk_parameters parameters;
    uint64_t operations; // equal for programs with the same operations in the same order
    char *kind;          // owned; equal for programs that may belong to one family
} rk_seen;

typedef struct rk_seen_list {
    rk_seen *items; // owned; in the order of first requests
    size_t count;
    uint64_t unread; // programs that are no longer in the store or cannot be read
} rk_seen_list;
void rk_seen_list_cleanup(rk_seen_list *list);

// Reads the programs of a run from the store. `out_list` must be zeroed; call rk_seen_list_cleanup
// also after an error. Errors of the file system; may block on it.
RK_NODISCARD rk_err *rk_seen_collect(rk_store *store, const rk_run_model *model,
                                     rk_seen_list *out_list);

// Where a program is called.
typedef struct rk_seen_call {
    rk_buf place;  // owned; "train.py:12"; empty if unknown
    bool is_line;  // no call is known: `place` is the line with the most operations
    bool is_eager; // the call is an operation of the framework, outside of any compiled function
} rk_seen_call;
// `*out` must be zeroed; it is owned by the caller.
void rk_seen_find_call(rk_store *store, const rk_seen *seen, rk_seen_call *out);

// Returns whether the run called the function of the family with inputs of other ranks, too, as an
// optimizer that is called for each parameter: the sizes are no sizes of data.
bool rk_seen_is_of_several_tensors(const rk_seen_list *list, const rk_family *family);

// The size of the family's axis in the program; 0 if it is dynamic.
uint64_t rk_seen_size(const rk_seen *seen, const rk_family *family);

// Appends the name of a family: the name of a program, without the number that some frameworks
// append.
void rk_seen_print_name(const rk_seen *seen, rk_buf *out);
