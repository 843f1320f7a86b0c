// Operations that are compiled one by one after the first step, as patterns_late.c finds them.
// Inside src/diagnose only.
#pragma once

#include "diagnose/explain/explain_internal.h"
#include "diagnose/explain/pattern_internal.h"

// A late operation. Its place is where its call stack leaves that of the step.
typedef struct rk_late {
    const rk_explained *item;
    rk_stack stack;   // innermost frame first
    size_t depth;     // of the place; the stack has no such frame if the place is unknown
    bool is_reported; // in a finding, or never to be reported
} rk_late;

// Whether a group has one line or one function as its place.
typedef enum rk_late_scope { RK_LATE_LINE, RK_LATE_FUNCTION } rk_late_scope;

enum { RK_LATE_LINES_MAX = 256 };

// The frame at a depth; 0 is the outermost one. NULL if the stack is not so deep.
RK_HIDDEN const rk_stack_frame *rk_late_frame(const rk_stack *stack, size_t depth);

RK_HIDDEN const rk_stack_frame *rk_late_place(const rk_late *one);

// The line of a function of the user, `calls` calls below the place; NULL if there is none.
RK_HIDDEN const rk_stack_frame *rk_late_called_by(const rk_late *one, size_t calls);

// False if one of the two is NULL.
RK_HIDDEN bool rk_late_is_same(const rk_stack_frame *a, const rk_stack_frame *b, rk_late_scope in);

// Returns whether a line calls a program that is executed again and again.
RK_HIDDEN bool rk_late_runs_steps(const rk_explainer *e, size_t process,
                                  const rk_stack_frame *place);

// The number of operations that the user's function below the place runs.
RK_HIDDEN size_t rk_late_count_inside(rk_late *const *group, size_t count);

// The function of the user that the places call for these operations, if jax.jit may take it as it
// is: not a method, because methods may keep state. Less than half of the operations may be on the
// line of the call itself, such as the arguments. NULL if there is no such function.
RK_HIDDEN const rk_stack_frame *rk_late_find_called(rk_late *const *group, size_t count);

// Returns whether operations of the line have another size each time: then the line cannot be one
// program.
RK_HIDDEN bool rk_late_changes_size(const rk_explanation *x, size_t process,
                                    const rk_stack_frame *place);

// Takes the lines of a group so many calls below its places, the costliest first.
RK_HIDDEN size_t rk_late_take_lines(rk_late *const *group, size_t group_count, size_t below,
                                    rk_line_cost out_lines[static RK_LATE_LINES_MAX]);

// Writes the text of a finding about a group.
RK_HIDDEN void rk_late_describe(const rk_explainer *e, rk_late *const *group, size_t count,
                                rk_late_scope in, rk_pattern_text *text);
