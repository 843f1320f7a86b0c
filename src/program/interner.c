#include "program/interner.h"

#include "base/alloc.h"
#include "program/quick_hash.h"

enum { FIRST_SLOTS = 256, MOST_SLOTS = 1 << 30 };

typedef struct rk_interned {
    rk_span bytes;
    uint64_t hash;
} interned;

void rk_interner_cleanup(rk_interner *interner) {
    rk_free(interner->items);
    rk_free(interner->slots);
    *interner = (rk_interner){0};
}

// Seeds the hash with an address, which differs between processes. So an attacker cannot prepare a
// program whose parts collide.
static uint64_t hash(const rk_interner *interner, rk_span bytes) {
    return rk_quick_hash((uintptr_t)interner, bytes);
}

static void place(rk_interner *interner, uint32_t number) {
    uint32_t mask = interner->slot_count - 1;
    uint32_t slot = (uint32_t)interner->items[number].hash & mask;
    while (interner->slots[slot])
        slot = (slot + 1) & mask;
    interner->slots[slot] = number + 1;
}

static bool reserve_slot(rk_interner *interner) {
    if (interner->count < interner->slot_count / 2)
        return true;
    uint32_t wanted = interner->slot_count ? interner->slot_count * 2 : FIRST_SLOTS;
    interned *items = NULL;
    uint32_t *slots = NULL;
    if (wanted <= MOST_SLOTS) {
        items = rk_realloc(interner->items, (size_t)wanted / 2 * sizeof *items);
        slots = items ? rk_calloc(wanted, sizeof *slots) : NULL;
    }
    if (items)
        interner->items = items;
    if (!slots) {
        interner->failed = true;
        return false;
    }
    rk_free(interner->slots);
    interner->slots = slots;
    interner->slot_count = wanted;
    for (uint32_t i = 0; i < interner->count; i++)
        place(interner, i);
    return true;
}

// Returns UINT32_MAX if the bytes are not known. There must be slots.
static uint32_t find(const rk_interner *interner, rk_span bytes, uint64_t wanted) {
    uint32_t mask = interner->slot_count - 1;
    for (uint32_t slot = (uint32_t)wanted & mask; interner->slots[slot]; slot = (slot + 1) & mask) {
        uint32_t number = interner->slots[slot] - 1;
        const interned *item = &interner->items[number];
        if (item->hash == wanted && rk_span_equal(item->bytes, bytes))
            return number;
    }
    return UINT32_MAX;
}

uint32_t rk_intern(rk_interner *interner, rk_span bytes, bool *out_is_new) {
    *out_is_new = false;
    if (interner->failed || !reserve_slot(interner))
        return 0;
    uint64_t wanted = hash(interner, bytes);
    uint32_t number = find(interner, bytes, wanted);
    if (number != UINT32_MAX)
        return number;
    *out_is_new = true;
    interner->items[interner->count] = (interned){bytes, wanted};
    place(interner, interner->count);
    return interner->count++;
}

void rk_interner_settle(rk_interner *interner, uint32_t number, const uint8_t *data) {
    if (!data)
        interner->failed = true;
    else
        interner->items[number].bytes.data = data;
}

uint32_t rk_interner_find(const rk_interner *interner, rk_span bytes) {
    return interner->slot_count ? find(interner, bytes, hash(interner, bytes)) : UINT32_MAX;
}
