// Reads sharding rules of Shardy. Internal to mlir/asm/*.c.
#pragma once

#include "program/mlir/asm/reader.h"

// Reads "([i, jk])->([i]) {i=2, j=4, k=8} reduction={k}, custom>"; `p->at` is behind "<". RK_NO_ID
// and `failed` if the rule is not understood.
uint32_t rk_asm_sdy_rule(rk_asm *p);
