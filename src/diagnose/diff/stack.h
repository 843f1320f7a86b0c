// The call stack that a place in the user's source was reached by, frameworks' frames and all.
#pragma once

#include "diagnose/diff/source.h"

typedef struct rk_stack_frame {
    char *file, *function; // owned; the function is NULL where it is not known
    uint32_t line;
} rk_stack_frame;

typedef struct rk_stack {
    rk_stack_frame *frames; // owned; the innermost first
    size_t count;
} rk_stack;

// Empty where the place is not known. Fails only with RK_RESOURCE_EXHAUSTED. Owned:
// rk_stack_cleanup, also after an error.
RK_NODISCARD rk_err *rk_stack_take(const rk_source *place, rk_stack *out_stack);
void rk_stack_cleanup(rk_stack *stack);
