// The end of a sequence that repeats itself. Inside src/diagnose only.
#pragma once

#include <stdint.h>

#include "base/macros.h"

// Of `count` items, the longest end of the sequence that is `times` or more repetitions of at most
// `max_period` items (the last repetition may be cut): its length, or 0. `*out_period`: of how many
// items. `border` is scratch for `count` items. Linear.
RK_HIDDEN uint32_t rk_step_detector_find(const uint32_t *items, uint32_t count, uint32_t max_period,
                                         uint32_t times, uint16_t *border, uint32_t *out_period);
