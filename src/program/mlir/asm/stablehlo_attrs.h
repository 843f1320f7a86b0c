// Reads attributes of StableHLO and CHLO. Internal to mlir/asm/*.c.
#pragma once

#include "program/mlir/asm/reader.h"

// Read "#stablehlo.name<…>" and "#stablehlo<name value>"; `p->at` is behind "#stablehlo" or
// "#chlo". RK_NO_ID and `failed` if the attribute is not understood.
uint32_t rk_asm_stablehlo_attr(rk_asm *p);

// Reads the value of an enumeration ("DEFAULT") of this name ("precision").
uint32_t rk_asm_enum_value(rk_asm *p, uint32_t word);
// Returns the value with that number, as in the attribute api_version.
uint32_t rk_asm_api_version(rk_asm *p, uint64_t number);

// Read the parts of attributes that operations write without their name: the text behind "<" up to
// and including ">", and the dimensions of a convolution ("[b, 0, f]x[0, i, o]->[b, 0, f]").
uint32_t rk_asm_dot_algorithm(rk_asm *p);
uint32_t rk_asm_conv_dimensions(rk_asm *p);
