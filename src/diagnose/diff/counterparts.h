// Finds the counterparts of a program: the programs that it may be a version of. They come from
// another start, or from earlier in the same start. `explain` and `diff RUN RUN` both choose among
// them. For the command line only.
#pragma once

#include "diagnose/diff/difference.h"
#include "diagnose/explain/corpus.h"
#include "journal/read.h"

// What a request is compared by.
typedef struct rk_start_request {
    const rk_known *known; // borrowed from the corpus; NULL: not kept
    uint64_t name;         // hash of the program's name, without its number
    // Position among the distinct programs of this name that the rank requested, from 0. A restart
    // requests its programs in the same order.
    uint32_t position;
} rk_start_request;

// A run, with the program of each of its requests.
typedef struct rk_start {
    const rk_run_model *run;    // borrowed
    rk_start_request *requests; // owned; in the order of run->compiles
} rk_start;

// Run and corpus must outlive the start. Owned by the caller: rk_start_cleanup, also after an
// error. Fails only with RK_RESOURCE_EXHAUSTED.
RK_NODISCARD rk_err *rk_start_make(const rk_run_model *run, const rk_corpus *corpus,
                                   rk_start *out_start);
void rk_start_cleanup(rk_start *start);

typedef struct rk_counterpart {
    const rk_known *known;
    const rk_run_compile *request; // borrowed from the run
    double similarity;             // from 0 to 1
    bool same_program;             // under another key
    bool same_position;
    bool failed; // its compilation failed: only taken if there is no other
} rk_counterpart;

enum { RK_COUNTERPARTS_MAX = 3 };

typedef struct rk_counterparts {
    rk_counterpart items[RK_COUNTERPARTS_MAX]; // the most similar first
    size_t count;
} rk_counterparts;

// Finds the most similar programs of `start` for request `index` of the start `of`: the same
// program first, then by similarity; of nearly equally similar programs, the one at the same
// position comes first, then the latest one. If both starts are the same one, considers only
// requests before `index`.
void rk_counterparts_find(const rk_start *start, const rk_start *of, size_t index,
                          rk_counterparts *out_list);

// Returns the number of changes that the causes in the list amount to: a changed batch size is one
// change, however many inputs have that size. `is_known` may be NULL; a cause for which it returns
// true does not count.
size_t rk_count_changes(const rk_differences *list,
                        bool (*is_known)(const void *context, const rk_difference *difference),
                        const void *context);
