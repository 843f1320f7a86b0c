// Numbers runs of bytes by their content, from zero on, in the order in which they are first seen.
// Internal to this room.
#pragma once

#include "base/span.h"

typedef struct rk_interner {
    struct rk_interned *items; // owned
    uint32_t *slots;           // owned; a power of two of them, at most half full
    uint32_t count, slot_count;
    bool failed; // memory was short, or there were too many: all numbers are zero from then on
} rk_interner;

void rk_interner_cleanup(rk_interner *interner); // a zeroed one needs no other beginning

// The number of these bytes, which must stay where they are for as long as the interner lives, or
// be settled.
// `out_is_new`: they were never seen before. Takes time in proportion to them.
uint32_t rk_intern(rk_interner *interner, rk_span bytes, bool *out_is_new);
// They are at another place now.
void rk_interner_settle(rk_interner *interner, uint32_t number, const uint8_t *data);
