// The fewest paddings for the sizes that one axis took: which sizes to pad up to, what that wastes,
// and which compilations it spares.
//
// A bucket is a size that all smaller ones, down to the next bucket, are padded to. For a given
// number of buckets the plan is optimal, not greedy: no other choice pads fewer elements. (A bucket
// lies at a size that was seen, rounded up: anywhere else it would only pad more.)
#pragma once

#include <stdint.h>

#include "base/status.h"

enum {
    RK_BUCKETS_MAX = 8,          // plans are made for 1 … so many
    RK_BUCKETS_MAX_SIZES = 4096, // distinct ones
};

typedef struct rk_bucket_size {
    uint64_t size;       // along the axis
    uint64_t weight;     // how often it was used
    uint64_t compile_ns; // what compiling the program for it takes
} rk_bucket_size;

typedef struct rk_bucket_plan {
    size_t count;                    // of buckets: so many compilations
    uint64_t bounds[RK_BUCKETS_MAX]; // sizes to pad to, rising; the last one holds the largest size
    double padded;                   // elements along the axis that are padding, over all uses
    double waste;                    // their share of all elements after padding: 0 … 1
    uint64_t compile_ns;             // of its programs, estimated by the largest size in each
    uint64_t saved_ns;               // what compiling a program for each size takes more than that
} rk_bucket_plan;

// Plans with 1, 2, … buckets, until nothing is padded or `max_plans` (at most RK_BUCKETS_MAX) are
// made. `sizes` in any order, each size once; bounds are rounded up to multiples of `multiple`
// (at least 1). Errors: RK_OUT_OF_RANGE (more than RK_BUCKETS_MAX_SIZES, or numbers too large),
// RK_INVALID_ARGUMENT (none), RK_RESOURCE_EXHAUSTED. Time: the square of the number of sizes.
RK_NODISCARD rk_err *rk_buckets_plan(const rk_bucket_size *sizes, size_t count, uint64_t multiple,
                                     size_t max_plans, rk_bucket_plan *out_plans,
                                     size_t *out_count);

// The plan with the fewest buckets that wastes at most `max_waste`; where none does, the one that
// wastes least. An index.
size_t rk_buckets_choose(const rk_bucket_plan *plans, size_t count, double max_waste);
