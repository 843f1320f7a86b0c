// Call stack of a position in the user's source, including the frames of frameworks.
#pragma once

#include "diagnose/diff/source.h"

typedef struct rk_stack_frame {
    char *file, *function; // owned; the function is NULL if unknown
    uint32_t line;
} rk_stack_frame;

typedef struct rk_stack {
    rk_stack_frame *frames; // owned; the innermost first
    size_t count;
} rk_stack;

// Copies the call stack of a place; empty if the place is unknown. Fails only with
// RK_RESOURCE_EXHAUSTED. Owned by the caller: rk_stack_cleanup, also after an error.
RK_NODISCARD rk_err *rk_stack_take(const rk_source *place, rk_stack *out_stack);
void rk_stack_cleanup(rk_stack *stack);

// Returns whether a frame is in a file of the user, not of a library.
bool rk_is_user_frame(const rk_stack_frame *frame);

// Return whether two frames are at one line, and in one function. False if a function is unknown.
bool rk_is_same_line(const rk_stack_frame *a, const rk_stack_frame *b);
bool rk_is_same_function(const rk_stack_frame *a, const rk_stack_frame *b);
