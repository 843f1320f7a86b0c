// Reads stablehlo.reduce. Internal to mlir/asm/*.c.
#pragma once

#include "program/mlir/asm/op.h"

// Reads "(%0 init: %1), … across dimensions = [0] {…} : types reducer(%x: type, %y: type) … {", or
// the short form "… applies stablehlo.add across dimensions = [0] {…} : types", which stands for a
// region with one operation.
rk_asm_next rk_asm_read_reduce(rk_asm *p, rk_asm_op *op);
