// Families: programs that are the same but for the size of one axis of their parameters.
//
// Programs belong together when their kind is equal (function, options, environment, types and
// ranks of the parameters). Where several dimensions vary among them, those that one of them
// determines, never falling while it rises (a mask beside its batch, a length and the same length
// less one), are one axis; what is left must be equal within a family. A program may be in several
// families: of its batch's axis, and of its length's.
#pragma once

#include <stdint.h>

#include "base/span.h"
#include "base/status.h"

typedef struct rk_family_program {
    const char *kind;    // equal text: may be of one family; borrowed
    const int64_t *dims; // of its parameters; borrowed
    size_t dim_count;    // the same for all of a kind
} rk_family_program;

typedef struct rk_family {
    size_t *members; // owned; indices of programs, by rising size along the axis, each size once
    size_t member_count;
    size_t axis;   // index of the dimension that stands for the axis
    size_t *along; // owned; indices of all that go with it, itself included, rising
    size_t along_count;
} rk_family;

typedef struct rk_families {
    rk_family *items; // owned; by their first programs
    size_t count, capacity;
} rk_families;
void rk_families_cleanup(rk_families *families);

// Programs of equal dimensions count once: the first of them is the member. Families have at least
// two members. `out_families` must be zeroed, and is to be cleaned up after an error too.
// RK_RESOURCE_EXHAUSTED is the only error.
RK_NODISCARD rk_err *rk_families_find(const rk_family_program *programs, size_t count,
                                      rk_families *out_families);
