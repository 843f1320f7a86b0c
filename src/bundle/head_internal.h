// The header of a bundle: JSON; private to src/bundle.
#pragma once

#include "bundle/bundle.h"

// Appends the header's JSON. Sorts the pairs by name. RK_INVALID_ARGUMENT or RK_OUT_OF_RANGE for
// pairs that a reader would refuse.
RK_HIDDEN RK_NODISCARD rk_err *rk_bundle_head_encode(const rk_bundle_head *head, rk_buf *out);

// A header that was read. The spans of `head` borrow from it.
typedef struct rk_bundle_read_head {
    rk_bundle_head head;
    void *json;            // owned: jansson's value
    rk_bundle_pair *pairs; // owned
} rk_bundle_read_head;
RK_HIDDEN void rk_bundle_read_head_cleanup(rk_bundle_read_head *self);

// Parses a header; does not set `created_ns`. `out_head` is owned: rk_bundle_read_head_cleanup,
// also after an error. Errors as in bundle.h.
RK_HIDDEN RK_NODISCARD rk_err *rk_bundle_head_parse(rk_span json, const char *shown,
                                                    rk_bundle_read_head *out_head);

// Returns the pairs sorted by name. RK_INVALID_ARGUMENT if a name occurs twice. `out_sorted` is
// owned: rk_free. NULL if there are none.
RK_HIDDEN RK_NODISCARD rk_err *rk_bundle_pairs_sort(rk_bundle_pairs pairs,
                                                    rk_bundle_pair **out_sorted);
