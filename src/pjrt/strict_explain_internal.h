// Explains, before the compilation, why a program is compiled after warm-up. Used only inside
// src/pjrt.
#pragma once

#include "pjrt/request_internal.h"

typedef struct rk_late {
    rk_buf name;   // the program's own name
    rk_buf place;  // "file:line" of the user's source, where it was called; empty: not known
    rk_buf cause;  // rk_cause_words; empty: not known
    rk_buf words;  // "input x: tensor<16x8xf32> → tensor<12x8xf32> (train.py:7)"; may be empty
    rk_buf remedy; // what to do about it
    // The program is known to be no version of a function from before the latest rk_late_settle: it
    // is another function, or an operation of the framework.
    bool is_new;
} rk_late;
RK_HIDDEN void rk_late_cleanup(rk_late *late);

// Called after the request was answered with an executable. Keeps a summary of its program, to
// compare later programs with it. Parses the program, so call it in strict mode only. Thread-safe.
RK_HIDDEN void rk_late_remember(const rk_request *r);

// Called when nothing new came for as long as warm-up requires. From then on, the functions of the
// first `programs` programs of the process are not new. Functions that come later stay new until
// the next call. Before the first call, no function that the process has is new. Thread-safe.
RK_HIDDEN void rk_late_settle(uint32_t programs);

// Fills in what is known; never fails. Takes milliseconds (diagnose/diff/quick.h). Thread-safe.
RK_HIDDEN void rk_late_explain(const rk_request *r, rk_late *out_late);
