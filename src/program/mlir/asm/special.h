// Operations with a form of their own that the table cannot describe: module, func.func, while,
// reduce, constant, manual computations. Internal to mlir/asm/*.c.
#pragma once

#include "program/mlir/asm/op.h"

// Reads what follows the name of the operation.
rk_asm_next rk_asm_read_special(rk_asm *p, rk_asm_op *op);
// Reads what follows a region. `region_count`: regions read so far.
rk_asm_next rk_asm_continue_special(rk_asm *p, const rk_asm_op *op, uint32_t region_count);
