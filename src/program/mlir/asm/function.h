// Reads func.func. Internal to mlir/asm/*.c.
#pragma once

#include "program/mlir/asm/op.h"

// Reads "public @name(%x: type {…}, …) -> (type {…}, …) attributes {…} {", or without a body.
rk_asm_next rk_asm_read_function(rk_asm *p, const rk_asm_op *op);
