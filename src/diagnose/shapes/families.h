// Finds families: programs that differ only in the size of one axis of their parameters.
//
// The programs of a family have the same kind (function, options, environment, types and ranks of
// the parameters). An axis may consist of several dimensions: one dimension that determines the
// others, where the others never fall while it rises. Examples: a batch and the mask for it, or a
// length and the same length minus one. All other dimensions are equal within a family. A program
// may be in several families: one for its batch axis, one for its length axis.
#pragma once

#include <stdint.h>

#include "base/span.h"
#include "base/status.h"

typedef struct rk_family_program {
    const char *kind;    // equal text: may be in one family; borrowed
    const int64_t *dims; // of the parameters; borrowed
    size_t dim_count;    // the same for all programs of a kind
} rk_family_program;

typedef struct rk_family {
    size_t *members; // owned; indices of programs, by rising size along the axis, each size once
    size_t member_count;
    size_t axis;   // index of the dimension that represents the axis
    size_t *along; // owned; indices of all dimensions of the axis, `axis` included, rising
    size_t along_count;
} rk_family;

typedef struct rk_families {
    rk_family *items; // owned; sorted by first member
    size_t count, capacity;
} rk_families;
void rk_families_cleanup(rk_families *families);

// Finds all families. Of programs with equal dimensions, only the first is a member. A family has
// at least two members. `out_families` must be zeroed; clean it up also after an error.
// RK_RESOURCE_EXHAUSTED is the only error.
RK_NODISCARD rk_err *rk_families_find(const rk_family_program *programs, size_t count,
                                      rk_families *out_families);
