// Compares two programs by their sketches. For programs that were not kept.
#pragma once

#include "diagnose/diff/diff.h"
#include "diagnose/diff/sketch.h"

// Attributes of differences that a sketch shows only as a whole.
#define RK_SKETCH_OPERATIONS "operations" // other operations; where is not known
#define RK_SKETCH_CONTENTS   "contents"   // the same operations: a number, size, sharding, …

// True for a difference whose place and number of changes are not known.
bool rk_is_sketchy(const rk_difference *difference);

// Compares two different programs: inputs and results by name and type, operations as a whole. The
// cause is never RK_CAUSE_FIRST, and a cause has at least one difference. If both the inputs and
// the operations differ, the difference of the operations is marked as following from that of the
// inputs, although this is not known. Fails only with RK_RESOURCE_EXHAUSTED. `out_diff` is owned by
// the caller: rk_program_diff_cleanup, also after an error.
RK_NODISCARD rk_err *rk_diff_sketches(const rk_sketch *before, const rk_sketch *after,
                                      rk_program_diff *out_diff);
