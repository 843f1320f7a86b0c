// Finds traits in a model that was read from MLIR text. Internal to mlir/asm/*.c.
#pragma once

#include "program/model.h"
#include "program/traits.h"

// Checks what rk_traits_read_bytecode checks in bytecode: all strings, names and integers, but no
// constants.
void rk_asm_find_traits(const rk_model *model, rk_traits *traits);
