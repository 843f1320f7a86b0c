// Aligns two sequences: finds pairs of equal items, one from each sequence, in the same order in
// both. Made for the operations of programs: long sequences, mostly equal, with many repetitions.
#pragma once

#include "base/status.h"

#include <stdint.h>

#define RK_ALIGN_NONE UINT32_MAX

// Items are equal if their hashes are equal. `out_match` is the caller's array of `a_len` elements.
// It receives, for each item of `a`, the index of its partner in `b`, or RK_ALIGN_NONE; the indices
// increase. A common prefix and a common suffix are always matched. In between, the result is a
// longest common subsequence only within windows of some hundred items and between anchors (short
// runs that are unique in both sequences). Memory O(n), time O(n log n) for any input. Fails only
// with RK_RESOURCE_EXHAUSTED.
RK_NODISCARD rk_err *rk_align(const uint64_t *a, size_t a_len, const uint64_t *b, size_t b_len,
                              uint32_t *out_match);
