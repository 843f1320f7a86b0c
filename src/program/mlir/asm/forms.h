// Converts attributes of an operation from the form of StableHLO to that of VHLO: splits
// structures, fills in defaults. Internal to mlir/asm/*.c. Source: openxla/stablehlo
// stablehlo/transforms/StablehloLegalizeToVhlo.cpp
#pragma once

#include "program/mlir/asm/op_table.h"
#include "program/mlir/asm/reader.h"

// Returns the dictionary with all attributes of the operation. `dictionary`: the attributes in the
// text. RK_NO_ID and `failed` if an attribute is missing or not understood.
uint32_t rk_asm_complete_attrs(rk_asm *p, const rk_asm_spec *spec, uint32_t dictionary);
