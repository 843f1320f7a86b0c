// Reads constants of MLIR text: dense<…>, dense_resource<…>, array<…>. Internal to mlir/asm/*.c.
#pragma once

#include "program/mlir/asm/reader.h"

// Read the constant; `p->at` is behind "dense<" and so on. RK_NO_ID and `failed` if it is not
// understood. The result is RK_NODE_ELEMENTS, or RK_NODE_INTS for a list of i64 that is an
// operation's attribute in the form of VHLO.
uint32_t rk_asm_dense(rk_asm *p);
uint32_t rk_asm_resource_constant(rk_asm *p);
uint32_t rk_asm_array(rk_asm *p);

// Returns the numbers in `p->ints` as a list, as VHLO writes the lists of an operation.
uint32_t rk_asm_take_vhlo_ints(rk_asm *p);
// Returns the numbers in `p->ints` as a constant of type tensor<ROWSxCOLUMNSxi64>.
uint32_t rk_asm_take_matrix(rk_asm *p, int64_t rows, int64_t columns);
// Returns the numbers in `p->ints`, each 0 or not, as a constant of type tensor<COUNTxi1>.
uint32_t rk_asm_take_bools(rk_asm *p);

// Sets the bytes of constants that were read before their resource. False and `failed` if one has
// no resource.
bool rk_asm_settle_resources(rk_asm *p);
