// A start that compiles operation by operation, as patterns_startup.c finds it. Inside src/diagnose
// only.
#pragma once

#include "diagnose/explain/explain_internal.h"

// An operation of the start, with the path of calls in the user's code that leads to it.
typedef struct rk_startup_origin {
    const rk_explained *item;
    rk_stack stack;       // innermost frame first
    size_t first, length; // frames of the path, counted from the outermost one
} rk_startup_origin;

// Operations whose paths begin with the same `depth` frames.
typedef struct rk_startup_group {
    const rk_startup_origin **items; // owned
    size_t count, depth;
    size_t calls; // if the finding is about several calls outside of all functions: their number;
                  // 0 if it is about one call
    uint64_t cost_ns;
} rk_startup_group;

// What a finding says beside the operations of its group.
typedef struct rk_startup_finding {
    rk_buf name;        // of the called function; empty: unknown; owned
    bool is_object;     // an object is called, maybe by a method that the stack leaves out
    bool can_be_jitted; // jax.jit can take that function
    // The function around it, if the called function may be called for several sizes, such as one
    // layer after the other. NULL: it is not. Borrowed
    const char *caller;
    bool runs_the_steps;         // the function is of the user, and contains the call of the step
    bool library_runs_the_steps; // the function is of a library, and contains that call
    rk_span package; // the package of the function; empty: the user's, or unknown. Borrowed
} rk_startup_finding;

// Returns whether the steps of the run are known, in which the operations came.
RK_HIDDEN bool rk_startup_has_steps(const rk_startup_group *g);

// Appends what to do about the operations of a group.
RK_HIDDEN void rk_startup_advise(const rk_run_model *run, const rk_startup_group *g,
                                 const rk_startup_finding *found, rk_buf *out);
