// Adds a pattern to an explanation: its members and its texts. Inside src/diagnose only.
#pragma once

#include "diagnose/explain/explanation.h"

typedef struct rk_pattern_text {
    rk_buf summary, advice;
} rk_pattern_text;
void rk_pattern_text_cleanup(rk_pattern_text *text);

// Adds a pattern. Copies the members and the texts. `file` may be NULL.
RK_HIDDEN RK_NODISCARD rk_err *rk_pattern_add(rk_explanation *x, rk_pattern_kind kind,
                                              const rk_explained *const *members, size_t count,
                                              rk_pattern_text *text, const char *file,
                                              uint32_t line);

// Growing list of members of a pattern.
typedef struct rk_members {
    const rk_explained **items; // owned
    size_t count, capacity;
} rk_members;
void rk_members_cleanup(rk_members *members);
RK_HIDDEN RK_NODISCARD rk_err *rk_members_add(rk_members *members, const rk_explained *item);

// Returns the advice that most of the members have: the others may differ in more. Borrowed; "" if
// there is none.
RK_HIDDEN const char *rk_members_usual_advice(const rk_members *members);

// The cost of all members together, in nanoseconds.
RK_HIDDEN uint64_t rk_members_cost_ns(const rk_members *members);

// Sorts numbers of lines and appends them: "60", "60 and 62", or, if `others` is "others", "60, 62
// and others". `others`: NULL if there are none.
RK_HIDDEN void rk_add_line_numbers(uint32_t *lines, size_t count, const char *others, rk_buf *out);

// A line of the user's source, and what the programs of this line cost.
typedef struct rk_line_cost {
    const rk_stack_frame *frame; // borrowed
    uint64_t cost_ns;
} rk_line_cost;

// Sorts lines, the costliest first.
RK_HIDDEN void rk_sort_costly_lines(rk_line_cost *lines, size_t count);

// Appends "line 84", "lines 84 and 85" or "lines 86, 84, 85, 88 and 2 more".
RK_HIDDEN void rk_add_costly_lines(const rk_line_cost *lines, size_t count, rk_buf *out);
