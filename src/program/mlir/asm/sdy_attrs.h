// Reads attributes of Shardy. Internal to mlir/asm/*.c.
#pragma once

#include "program/mlir/asm/reader.h"

// Reads "#sdy.name<…>" and "#sdy<name{…}>"; `p->at` is behind "#sdy". RK_NO_ID and `failed` if the
// attribute is not understood.
uint32_t rk_asm_sdy_attr(rk_asm *p);

// Read the parts that operations write without their name.
uint32_t rk_asm_sdy_mesh(rk_asm *p);               // "<[…]>"
uint32_t rk_asm_sdy_sharding(rk_asm *p);           // "<@mesh, […]>"
uint32_t rk_asm_sdy_sharding_per_value(rk_asm *p); // "[<@mesh, […]>, …]"
uint32_t rk_asm_sdy_manual_axes(rk_asm *p);        // "{"x", …}"
