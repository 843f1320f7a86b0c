// Two sequences, aligned in order: which item of the one is which of the other. For operations of
// programs, which are long, mostly equal, and full of repetition.
#pragma once

#include "base/status.h"

#include <stdint.h>

#define RK_ALIGN_NONE UINT32_MAX

// Items are equal where their hashes are. `out_match` has `a_len` places, the caller's: for each
// item of `a` its partner's index in `b`, or RK_ALIGN_NONE; partners increase. What is equal at
// both ends is always matched; in between the alignment is longest where it is looked for within
// windows of some hundred items, and between items that are unique in both. Linear memory; time
// linear but for a logarithm, whatever the input. Fails only with RK_RESOURCE_EXHAUSTED.
RK_NODISCARD rk_err *rk_align(const uint64_t *a, size_t a_len, const uint64_t *b, size_t b_len,
                              uint32_t *out_match);
