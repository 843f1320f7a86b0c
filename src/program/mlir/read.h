// What operations of MLIR bytecode carry: internal to read_bytecode*.c.
#pragma once

#include "program/mlir/bytecode.h"

// The name of that number, looked up. NULL and `failed` if there is none.
rk_op_name *rk_read_op_name(rk_bytecode *file, uint64_t index);

// An attribute by its number, as the value of `key` (a string id). RK_NO_ID and `failed` if there
// is none.
uint32_t rk_read_attr(rk_bytecode *file, const rk_op_name *op, uint32_t key, uint64_t index);

// A dictionary by its number; its fields are sorted. NULL and `failed` if it is none. Borrowed
// until the next node is made.
const rk_node *rk_read_dictionary(rk_bytecode *file, const rk_op_name *op, uint64_t index);

// The attributes of an operation, sorted by name: those of its dictionary (an attribute's number;
// UINT64_MAX: none) and its properties (their number; UINT64_MAX: none).
void rk_read_op_attrs(rk_bytecode *file, uint32_t op_name, uint64_t dictionary, uint64_t properties,
                      rk_op *out_op);
