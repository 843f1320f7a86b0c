// What operations of MLIR bytecode carry: internal to read_bytecode*.c.
#pragma once

#include "program/bytecode.h"

// The name of that number, looked up. NULL and `failed` if there is none.
rk_op_name *rk_read_op_name(rk_bytecode *file, uint64_t index);

// The attributes of an operation, sorted by name: those of its dictionary (an attribute's number;
// UINT64_MAX: none) and its properties (their number; UINT64_MAX: none).
void rk_read_op_attrs(rk_bytecode *file, uint32_t op_name, uint64_t dictionary, uint64_t properties,
                      rk_op *out_op);
