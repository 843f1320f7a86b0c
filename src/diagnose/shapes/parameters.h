// The shapes of a program's parameters, so that programs can be told apart that differ in nothing
// but a dimension.
#pragma once

#include "program/model.h"

#define RK_PARAMETERS_HOLE '\x01' // stands for a dimension in the text of the parameters

typedef struct rk_parameters {
    rk_buf text; // "f32[*,*],s32[]" with RK_PARAMETERS_HOLE for *: equal for equal ranks and types
    int64_t *dims; // owned; what belongs into the holes, in order; INT64_MIN: dynamic
    size_t dim_count, dim_capacity;
} rk_parameters;
void rk_parameters_cleanup(rk_parameters *parameters);

// Those of the function that the program is entered through. `out_parameters` must be zeroed.
// Errors: RK_INVALID_ARGUMENT (no such function), RK_RESOURCE_EXHAUSTED. Linear in the program.
RK_NODISCARD rk_err *rk_parameters_read(const rk_model *model, rk_parameters *out_parameters);

// The parameters with their dimensions, `symbol` in place of those whose indices `holes` lists
// (rising; `hole_count` of them): "f32[8,n]".
void rk_parameters_print(const rk_parameters *parameters, const size_t *holes, size_t hole_count,
                         const char *symbol, rk_buf *out);

// A number for the set of operations that the program is made of, wherever and however often they
// stand: programs without telling names are not taken for each other by their parameters alone.
uint64_t rk_parameters_operations(const rk_model *model);
