// Reads types of MLIR text. Internal to mlir/asm/*.c.
#pragma once

#include "program/mlir/asm/reader.h"

// Returns the node of the type that comes next. RK_NO_ID and `failed` if it is not understood.
uint32_t rk_asm_type(rk_asm *p);

// True if a type comes next: for attributes, which may be types. A word that is no scalar type is
// no type.
bool rk_asm_is_type(rk_asm *p);

// Reads "(types)" or one type, as after "->", onto `p->nodes`.
bool rk_asm_result_types(rk_asm *p);

// Reads types separated by commas onto `p->nodes`: at least one.
bool rk_asm_type_list(rk_asm *p);

// The attribute or type of an alias ("#map", "!t"), by its text. RK_NO_ID and `failed` if it is not
// defined.
uint32_t rk_asm_alias(rk_asm *p, rk_span text);
// Takes "#name" or "!name" if an alias comes next; else an empty span, and nothing is taken.
rk_span rk_asm_accept_alias(rk_asm *p);

// Return the parts of tensor types. The first is false if the type is no ranked tensor.
bool rk_asm_is_tensor(const rk_asm *p, uint32_t type);
uint32_t rk_asm_element_type(const rk_asm *p, uint32_t tensor);

// Reads "[1, 2]" as numbers, with "?" for INT64_MIN, into `p->ints`.
bool rk_asm_int_list(rk_asm *p);
// Reads an integer that fits into an i64.
bool rk_asm_integer(rk_asm *p, int64_t *out_value);
