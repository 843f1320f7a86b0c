// The advice of `rekindle shapes` for one family: how many sizes to pad to, and what it saves.
#pragma once

#include "cli/shapes_seen.h"
#include "diagnose/shapes/buckets.h"

typedef struct rk_shapes_request {
    uint64_t multiple;
    double max_waste;
    bool all; // text: also what is not worth a change, and all plans
} rk_shapes_request;

typedef struct rk_shapes_advice {
    const rk_family *family; // borrowed, as is `seen`
    const rk_seen_list *seen;
    rk_bucket_size *sizes; // owned; one per member of the family
    rk_bucket_plan plans[RK_BUCKETS_MAX];
    size_t plan_count, chosen;
    uint64_t compile_ns; // of all sizes
    rk_seen_call call;
    bool is_of_several_tensors; // the sizes are no sizes of data
} rk_shapes_advice;

// `*out` is owned, also after an error: rk_shapes_advice_cleanup.
RK_NODISCARD rk_err *rk_shapes_advise(rk_store *store, const rk_seen_list *seen,
                                      const rk_family *family, const rk_shapes_request *request,
                                      rk_shapes_advice *out);
void rk_shapes_advice_cleanup(rk_shapes_advice *advice);

const rk_seen *rk_shapes_member(const rk_shapes_advice *advice, size_t index);

// True if the plan needs fewer programs than the family has sizes, and the sizes are those of data.
bool rk_shapes_is_worth_it(const rk_shapes_advice *advice);

// Appends the parameters of the family's programs, with n for the size of the axis: "f32[n,8]".
// Other sizes that rise with n are "2n", "n+1", or a range: "f32[n,16..40]". `mark` precedes each
// of these; NULL: nothing does.
void rk_shapes_add_parameters(const rk_shapes_advice *advice, const char *mark, rk_buf *out);

// Append the sizes of a plan, a share of padding, and the recommendation as sentences.
void rk_shapes_add_bounds(const rk_bucket_plan *plan, const char *last_word, rk_buf *out);
void rk_shapes_add_percent(double share, rk_buf *out);
void rk_shapes_add_recommendation(const rk_shapes_advice *advice, rk_buf *out);

// Prints the advice of a run for people, the costliest family first. Without `all`: only functions
// that cost at least 1 % of the compile time and get sizes of data, no single operations, and at
// most two screens.
void rk_shapes_print_text(const char *run, const rk_seen_list *seen,
                          const rk_shapes_advice *advices, size_t count,
                          const rk_shapes_request *request);
