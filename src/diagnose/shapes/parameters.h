// Reads the types of a program's parameters, and their dimensions separately, to compare programs
// that differ only in dimensions.
#pragma once

#include "program/model.h"

#define RK_PARAMETERS_HOLE '\x01' // marks a dimension in the text of the parameters

typedef struct rk_parameters {
    rk_buf text;   // "f32[*,*],s32[]", RK_PARAMETERS_HOLE for *: equal for equal ranks and types
    int64_t *dims; // owned; dimensions of the holes in order; INT64_MIN: dynamic
    size_t dim_count, dim_capacity;
} rk_parameters;
void rk_parameters_cleanup(rk_parameters *parameters);

// Reads the parameters of the entry function. `out_parameters` must be zeroed. Errors:
// RK_INVALID_ARGUMENT (no entry function), RK_RESOURCE_EXHAUSTED. Time linear in the program.
RK_NODISCARD rk_err *rk_parameters_read(const rk_model *model, rk_parameters *out_parameters);

// A symbol in place of a dimension.
typedef struct rk_parameters_symbol {
    size_t hole; // index of the dimension
    char text[48];
} rk_parameters_symbol;

// Appends the parameters with their dimensions, but symbols in place of some: "f32[8,n]". The holes
// of the symbols rise.
void rk_parameters_print(const rk_parameters *parameters, const rk_parameters_symbol *symbols,
                         size_t count, rk_buf *out);

// Returns a hash of the set of operation names in the program; their order and count do not matter.
// The hash distinguishes programs that have equal parameters and no distinctive names. 0 if memory
// is short.
uint64_t rk_parameters_operations(const rk_model *model);
