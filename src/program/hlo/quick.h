// Fast reading of common instructions: steps over fields without decoding them. Used by the two
// passes over instructions that every program needs. Internal to hlo/*.c.
#pragma once

#include "program/hlo/read_internal.h"

typedef struct rk_hlo_step {
    uint32_t number, wire;
    const uint8_t *start; // of the field
    const uint8_t *value; // of a varint, or of the content of bytes
    size_t len;           // of the content of bytes
} rk_hlo_step;

// Steps over one field and returns the start of the next. NULL if the field is damaged or not of a
// common kind (a varint, or bytes, with a short tag): then use rk_hlo_next.
static inline const uint8_t *rk_hlo_step_over(const uint8_t *at, const uint8_t *end,
                                              rk_hlo_step *out_step) {
    enum { MOST_BYTES = 10 };
    out_step->start = at;
    out_step->len = 0;
    uint32_t tag = *at++;
    if (tag >= 0x80) {
        if (at == end || *at >= 0x80)
            return NULL;
        tag = (tag & 0x7F) | (uint32_t)*at++ << 7;
    }
    out_step->number = tag >> 3;
    out_step->wire = tag & 7;
    out_step->value = at;
    const uint8_t *first = at;
    while (at < end && *at >= 0x80)
        at++;
    if (RK_UNLIKELY(tag < 8 || at == end || at - first >= MOST_BYTES - 1))
        return NULL;
    at++;
    if (out_step->wire == RK_PROTO_VARINT)
        return at;
    if (RK_UNLIKELY(out_step->wire != RK_PROTO_BYTES || at - first > 2))
        return NULL;
    out_step->len = at - first == 1 ? *first : (*first & 0x7Fu) | (uint32_t)first[1] << 7;
    out_step->value = at;
    return RK_LIKELY(out_step->len <= (size_t)(end - at)) ? at + out_step->len : NULL;
}

// Decodes a varint, alone or in a packed field. Returns the position behind it; NULL if it is
// damaged.
static inline const uint8_t *rk_hlo_take_number(const uint8_t *at, const uint8_t *end,
                                                uint64_t *out_value) {
    enum { MOST_BITS = 63 };
    uint64_t value = 0;
    for (unsigned shift = 0; at < end && shift < MOST_BITS; shift += 7) {
        value |= (uint64_t)(*at & 0x7F) << shift;
        if (*at++ < 0x80) {
            *out_value = value;
            return at;
        }
    }
    return NULL;
}

// A common instruction in two parts: its operands, and `same`: the encoded fields that are equal in
// many instructions, because they refer to nothing else. Name, metadata and id are left out.
typedef struct rk_hlo_plain {
    rk_span operands; // packed ids
    bool has_opcode, has_shape;
    uint32_t same_len;
    uint8_t same[256];
} rk_hlo_plain;

// A cache slot for the content of instructions with the same `rk_hlo_plain.same`. New content
// replaces the old.
typedef struct rk_hlo_same {
    const uint8_t *data; // owned by the model; NULL if the slot is free
    uint32_t len;
    rk_canon_one content;
} rk_hlo_same;

// Splits an instruction. False if it is of another kind.
bool rk_hlo_split_plain(rk_span instruction, rk_hlo_plain *out_plain);
// Finds the slot of the instruction. True if its content is known.
bool rk_hlo_find_same(rk_hlo_reader *reader, const rk_hlo_plain *plain, rk_hlo_same **out_slot);
// Stores the content of an instruction in its slot.
void rk_hlo_learn_same(rk_hlo_reader *reader, const rk_hlo_plain *plain, rk_hlo_same *slot,
                       const rk_canon_one *content);
