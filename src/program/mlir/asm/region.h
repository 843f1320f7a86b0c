// Regions of operations in MLIR text: none or one block. Internal to mlir/asm/*.c.
#pragma once

#include "program/mlir/asm/reader.h"
#include "program/mlir/asm/values.h"

typedef struct rk_asm_region {
    rk_asm_scope scope;
    uint32_t block; // in the model; RK_NO_ID: no block
} rk_asm_region;

// Starts a region. With a block, its arguments are the targets from `first_arg` to `end_arg`.
bool rk_asm_open_region(rk_asm *p, bool is_isolated, bool has_block, uint32_t first_arg,
                        uint32_t end_arg, rk_asm_region *out_region);
// Ends the region: all its operations are complete.
bool rk_asm_close_region(rk_asm *p, const rk_asm_region *region);

// Reads "%x: type", with an optional location, as a target with a type.
bool rk_asm_argument(rk_asm *p);
// Reads arguments separated by commas up to ")"; the "(" is taken.
bool rk_asm_arguments(rk_asm *p);
