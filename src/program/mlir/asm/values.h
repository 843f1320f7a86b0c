// Names and numbers of values in MLIR text. Internal to mlir/asm/*.c.
//
// Names are visible in the region where they are defined and in the regions inside it, up to an
// operation that is isolated (a function). Values get their final numbers at the end of the text,
// as the bytecode reader gives them: a region's values follow each other, and a region comes before
// the regions inside it.
#pragma once

#include "program/mlir/asm/reader.h"

// The state to restore at the end of a region.
typedef struct rk_asm_scope {
    uint32_t region, undo_count, floor;
} rk_asm_scope;

// Starts a region inside the current one. `is_isolated`: names of outer regions are not visible.
bool rk_asm_open_scope(rk_asm *p, bool is_isolated, rk_asm_scope *out_scope);
void rk_asm_close_scope(rk_asm *p, const rk_asm_scope *scope);

// Reads the name of a value ("%x") as a target: a name that is about to be bound. `with_count`: it
// may be followed by ":2".
bool rk_asm_target_name(rk_asm *p, bool with_count, rk_asm_target *out_target);

// Reads a use of a value ("%x", "%x#1") and returns the value. RK_NO_ID and `failed` if it is not
// defined.
uint32_t rk_asm_use(rk_asm *p);

// Defines a value in the current region, without a name. Returns it; RK_NO_ID and `failed` if
// memory is short.
uint32_t rk_asm_define(rk_asm *p, uint32_t type, uint32_t location);
// Binds a target to values that are defined, from `value` on.
bool rk_asm_bind(rk_asm *p, const rk_asm_target *target, uint32_t value);

// Returns how many values the current region has so far.
static inline uint32_t rk_asm_region_values(const rk_asm *p) {
    return p->region == RK_NO_ID ? 0 : p->counts.items[p->region];
}

// Gives all values their final numbers, in all operations and blocks. False and `failed` if memory
// is short.
bool rk_asm_settle_values(rk_asm *p);
