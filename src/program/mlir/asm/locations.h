// Reads locations of MLIR text. Internal to mlir/asm/*.c.
#pragma once

#include "program/mlir/asm/reader.h"

// Takes "loc(…)" if it comes next. Sets `*out_location` to a node, to rk_asm_late_location of an
// alias that is not defined yet, or to RK_NO_ID. False and `failed` if it has no end.
bool rk_asm_accept_location(rk_asm *p, uint32_t *out_location);

// Reads what follows "#name = " if it is a location, and defines the alias. `number`: of the alias.
bool rk_asm_location_alias(rk_asm *p, uint32_t number);

// Replaces locations of aliases by their nodes, in all operations and values.
void rk_asm_settle_locations(rk_asm *p);
