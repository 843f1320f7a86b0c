// Plans buckets for the sizes along one axis: the sizes to pad to, the padding that they waste, and
// the compilations that they save.
//
// A bucket is a size. Sizes between it and the next smaller bucket are padded to it. For a given
// number of buckets, the plan is optimal: no other choice of buckets pads fewer elements. Each
// bucket is an observed size, rounded up, because any other size would only add padding.
#pragma once

#include <stdint.h>

#include "base/status.h"

enum {
    RK_BUCKETS_MAX = 8,          // largest number of buckets in a plan
    RK_BUCKETS_MAX_SIZES = 4096, // distinct sizes
};

typedef struct rk_bucket_size {
    uint64_t size;       // along the axis
    uint64_t weight;     // number of uses
    uint64_t compile_ns; // time to compile the program for this size
} rk_bucket_size;

typedef struct rk_bucket_plan {
    size_t count; // buckets, each one compilation
    // Sizes to pad to, rising; the last one is at least the largest size.
    uint64_t bounds[RK_BUCKETS_MAX];
    double padded;       // padding elements along the axis, over all uses
    double waste;        // share of padding in all elements after padding: 0 … 1
    uint64_t compile_ns; // of all buckets, estimated by the largest size in each
    uint64_t saved_ns;   // saved against a compilation for each size
} rk_bucket_plan;

// Makes plans with 1, 2, … buckets, until each rounded size has its own bucket or `max_plans` (at
// most RK_BUCKETS_MAX) are made. `sizes` in any order, each size once; bounds are rounded up to
// multiples of `multiple` (at least 1). `out_plans` has at least as many elements as plans. Errors:
// RK_OUT_OF_RANGE (more than RK_BUCKETS_MAX_SIZES, or numbers too large), RK_INVALID_ARGUMENT (no
// sizes, `multiple` or `max_plans` 0), RK_RESOURCE_EXHAUSTED. Time: the square of the number of
// sizes.
RK_NODISCARD rk_err *rk_buckets_plan(const rk_bucket_size *sizes, size_t count, uint64_t multiple,
                                     size_t max_plans, rk_bucket_plan *out_plans,
                                     size_t *out_count);

// Returns the index of the plan with the fewest buckets that wastes at most `max_waste`. If all
// plans waste more, returns the index of the plan that wastes least.
size_t rk_buckets_choose(const rk_bucket_plan *plans, size_t count, double max_waste);
