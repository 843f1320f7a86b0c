// Why something is compiled after warm-up, in words, before it is compiled. Inside src/pjrt only.
#pragma once

#include "pjrt/compile_internal.h"

typedef struct rk_late {
    rk_buf name;   // of the program, as it calls itself
    rk_buf place;  // "file:line" of the user's source, where it was called; empty: not known
    rk_buf cause;  // a class of docs/explain.md; empty: nothing is known
    rk_buf words;  // "input x: tensor<16x8xf32> → tensor<12x8xf32> (train.py:7)"; may be empty
    rk_buf remedy; // what to do about it
} rk_late;
RK_HIDDEN void rk_late_cleanup(rk_late *late);

// The request was answered with an executable: its program is what later ones are compared with.
// Reads it, so this is for strict mode alone. Thread-safe, as the next.
RK_HIDDEN void rk_late_remember(const rk_request *r);

// Fills in what it can find out; never fails. Takes milliseconds: diagnose/diff/quick.h.
RK_HIDDEN void rk_late_explain(const rk_request *r, rk_late *out_late);
