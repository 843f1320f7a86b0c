// Reads operations in the forms of the table (op_table.c), and in the generic form. Internal to
// mlir/asm/*.c.
#pragma once

#include "program/mlir/asm/op.h"

// Read what follows the name of the operation. rk_asm_continue_generic: what follows a region.
bool rk_asm_read_form(rk_asm *p, const rk_asm_op *op);
rk_asm_next rk_asm_read_generic(rk_asm *p, rk_asm_op *op);
rk_asm_next rk_asm_continue_generic(rk_asm *p, const rk_asm_op *op);

// Reads "{attributes}" if it comes next.
bool rk_asm_optional_attrs(rk_asm *p);
// Appends an attribute to those of the operation. False and `failed` if memory is short or there is
// no node.
bool rk_asm_add_attr(rk_asm *p, const char *name, uint32_t node);
