// Whether another branch of the source became active, where a program does not show it. Inside
// src/diagnose only.
#pragma once

#include "diagnose/explain/explain_internal.h"

// Why an item leaves the third question open. The first reason that holds counts.
typedef enum rk_branch_doubt {
    RK_DOUBT_LISTS,
    RK_DOUBT_MODEL,
    RK_DOUBT_RESULTS,
    RK_DOUBT_START,
    RK_DOUBT_NUMBERS,
    RK_DOUBT_VALUES,
    RK_DOUBT_INTEGERS,
    RK_DOUBT_GROWTH,
    RK_DOUBT_CHECKS,
    RK_DOUBT_VIEWS,
    RK_DOUBT_ONCE,
    RK_DOUBT_SHAPES, // of the question about shapes, as the next one
    RK_DOUBT_PARTS,
    RK_DOUBT_ORDER,
} rk_branch_doubt;

// Returns whether the reason for a difference is known, and is no branch: a part of a step, values
// of another step, another call with other inputs, the same values in another container, another
// order of the operations in another process, or the position of a slice.
RK_HIDDEN bool rk_is_no_branch(const rk_explained *item);

// Returns whether one of two graphs of PyTorch/XLA may compute its arguments, because nothing
// executed them before.
RK_HIDDEN bool rk_may_compute_arguments(const rk_explanation *x, const rk_explained *item);

// Returns whether a graph of PyTorch/XLA was executed once, and no steps are known: it may be
// another part of the job than the earlier graph that it was compared with.
RK_HIDDEN bool rk_is_executed_once(const rk_explanation *x, const rk_explained *item);

// Returns whether nothing shows a branch, and nothing shows that there is none.
RK_HIDDEN bool rk_may_be_branch(const rk_explanation *x, const rk_explained *item);

RK_HIDDEN rk_branch_doubt rk_branch_doubt_of(const rk_explanation *x, const rk_explained *item);

// Writes why an item leaves the question open. `count`: of the items with the same doubt;
// `has_others`: other items have other doubts.
RK_HIDDEN void rk_write_may_be_branch(const rk_explained *item, rk_branch_doubt doubt, size_t count,
                                      bool has_others, rk_buf *text);
