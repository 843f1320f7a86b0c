// Numbers byte strings by content, from zero on, in the order of first use. Internal to this
// module.
#pragma once

#include "base/span.h"

typedef struct rk_interner {
    struct rk_interned *items; // owned
    uint32_t *slots;           // owned; a power of two of them, at most half full
    uint32_t count, slot_count;
    bool failed; // out of memory, or too many strings: all later numbers are zero
} rk_interner;

void rk_interner_cleanup(rk_interner *interner); // a zeroed interner needs no other initialization

// Returns the number of the bytes. The interner borrows new bytes: keep them in place, or move them
// with rk_interner_settle. `out_is_new`: the bytes were not known before. Takes time proportional
// to their length.
uint32_t rk_intern(rk_interner *interner, rk_span bytes, bool *out_is_new);
// Records that the bytes of `number` have moved to `data`. NULL sets `failed`.
void rk_interner_settle(rk_interner *interner, uint32_t number, const uint8_t *data);

// Returns the number of the bytes, or UINT32_MAX if they are not known.
uint32_t rk_interner_find(const rk_interner *interner, rk_span bytes);
