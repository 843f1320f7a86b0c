// Decides whether repetitions are the steps of the loop. Inside src/diagnose/steps only.
#pragma once

#include "journal/read.h"

// The valid ranges of a process.
typedef struct rk_step_ranges {
    rk_journal_steps *items; // owned; rising
    size_t count;
} rk_step_ranges;

// The range with the most steps of a pattern, borrowed; NULL if the pattern has few steps.
RK_HIDDEN const rk_journal_steps *rk_steps_find_usual(const rk_step_ranges *list, uint32_t pattern);

// Finds whether the repetitions of a pattern may not be the steps of the loop: a tenth of them
// carries most of the work, much work belongs to none of them, or other loops run operation by
// operation. RK_RESOURCE_EXHAUSTED is the only error.
RK_HIDDEN RK_NODISCARD rk_err *rk_steps_are_doubtful(const rk_step_ranges *list, uint32_t pattern,
                                                     bool *out_doubtful);
