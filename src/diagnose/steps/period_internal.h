// Finds the repetition at the end of a sequence. Inside src/diagnose only.
#pragma once

#include <stdint.h>

#include "base/macros.h"

// Finds the longest suffix of `items` that consists of at least `times` repetitions of at most
// `max_period` items each; a further, partial repetition may precede them. Returns the length of
// the suffix, and sets `*out_period` to the length of one repetition. Returns 0, and does not set
// `*out_period`, if there is no repetition. `border` is scratch space for `count` elements. Linear
// time.
RK_HIDDEN uint32_t rk_step_detector_find(const uint32_t *items, uint32_t count, uint32_t max_period,
                                         uint32_t times, uint16_t *border, uint32_t *out_period);
