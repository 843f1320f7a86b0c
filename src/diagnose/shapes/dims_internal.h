// Reads the sizes of tensors from the types in differences. Inside src/diagnose only.
#pragma once

#include "diagnose/explain/explanation.h"

// The sizes in a type: 32 and 8 in "tensor<32x8xf32>", at most 16. rk_parse_dims returns false if
// there are none.
typedef struct rk_dims {
    long long sizes[16];
    size_t count;
} rk_dims;
RK_HIDDEN RK_NODISCARD bool rk_parse_dims(const char *type, rk_dims *out_dims);

// Returns whether a type has dimensions and whole numbers, as indices in PyTorch/XLA:
// "tensor<7xs64>". False for NULL.
RK_HIDDEN bool rk_is_list_type(const char *type);

// Returns by how many the numbers of dimensions of two types differ.
RK_HIDDEN size_t rk_ranks_apart(const char *before, const char *after);

// Returns whether two types have the same number of dimensions.
RK_HIDDEN bool rk_same_rank(const char *before, const char *after);

// True for the type of a tensor with one element: "tensor<s64>", "tensor<1xf32>".
RK_HIDDEN bool rk_is_single_value(const char *type);

// Finds the only axis along which two types differ. False if no axis differs, if several axes
// differ, or if the ranks differ.
RK_HIDDEN RK_NODISCARD bool rk_only_axis(const char *before, const char *after, size_t *out_axis);

// Returns whether the first causes of two items have the same kind and, if they are shapes, differ
// along the same axis. Both items must have a cause in their differences.
RK_HIDDEN RK_NODISCARD bool rk_same_axis(const rk_explained *a, const rk_explained *b);

// Compares two sizes (long long), for qsort and bsearch.
RK_HIDDEN int rk_compare_sizes(const void *a, const void *b);
