// Work of a program: the number of operations after inlining, which the time of a compilation
// depends on. Inside src/diagnose only.
#pragma once

#include "diagnose/explain/explain_internal.h"

typedef struct rk_work_item {
    uint32_t operations; // with those of the functions that it calls
    bool contracts;      // it is, or calls, a matrix product or a convolution
} rk_work_item;

typedef struct rk_work {
    rk_work_item *items; // owned; in the order of the index's items
    uint64_t total;      // operations of the entry function
} rk_work;
void rk_work_cleanup(rk_work *work);

// Measures a program. Owned by the caller: rk_work_cleanup, also after an error. Fails only with
// RK_RESOURCE_EXHAUSTED.
RK_HIDDEN RK_NODISCARD rk_err *rk_work_measure(const rk_program_index *index, rk_work *out_work);
