// Why something is compiled after warm-up, in words, before it is compiled. Inside src/pjrt only.
#pragma once

#include "pjrt/compile_inside.h"

typedef struct rk_late {
    rk_buf name;   // of the program, as it calls itself
    rk_buf place;  // "file:line" of the user's source, where it was called; empty: not known
    rk_buf cause;  // a class of docs/explain.md; empty: nothing is known
    rk_buf words;  // "input x: tensor<16x8xf32> → tensor<12x8xf32> (train.py:7)"; may be empty
    rk_buf remedy; // what to do about it
} rk_late;
RK_HIDDEN void rk_late_cleanup(rk_late *late);

// Compares the program with the last ones of its name in this process, for at most
// RK_LATE_NS or the time that one comparison takes. Fills in what it can find out; never fails.
#define RK_LATE_NS ((uint64_t)50000000)
RK_HIDDEN void rk_late_explain(const rk_request *r, rk_late *out_late);
