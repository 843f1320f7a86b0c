// Reads attributes of MLIR text. Internal to mlir/asm/*.c.
#pragma once

#include "program/mlir/asm/reader.h"

// Returns the node of the attribute that comes next. RK_NO_ID and `failed` if it is not understood.
uint32_t rk_asm_attr(rk_asm *p);

// Reads "{name = attribute, …}" onto `p->fields`. `p->at` is behind the "{".
bool rk_asm_named_attrs(rk_asm *p);
// Reads a dictionary that is a value itself, such as the attributes of an argument. `p->at` is
// behind the "{".
uint32_t rk_asm_dictionary(rk_asm *p);
