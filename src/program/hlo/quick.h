// A field of an instruction at a time, with no more than it takes to know where it is: for the two
// walks over instructions that every program goes through. Internal to the reader of HLO.
#pragma once

#include "program/hlo/read.h"

typedef struct rk_hlo_step {
    uint32_t number, wire;
    const uint8_t *start; // of the field
    const uint8_t *value; // of a varint; or of the bytes
    size_t len;           // of the bytes
} rk_hlo_step;

// Where the next field begins; NULL where this one is not of the ordinary kind (a varint, or bytes,
// with a short tag) or is damaged: rk_hlo_next has the answer.
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

// A varint that rk_hlo_step_over went over, or one of a packed field; the next one's beginning, or
// NULL if it is damaged.
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

// An instruction of the ordinary kind: what it works on, and what is the same in many, since it
// refers to nothing: fields, as they stand.
typedef struct rk_hlo_plain {
    rk_span operands; // packed ids
    bool has_opcode, has_shape;
    uint32_t same_len;
    uint8_t same[256];
} rk_hlo_plain;

// Its content, by that. A slot holds the latest.
typedef struct rk_hlo_same {
    const uint8_t *data; // kept by the model; NULL where the slot is free
    uint32_t len;
    rk_canon_one content;
} rk_hlo_same;

// False if it is of another kind.
bool rk_hlo_split_plain(rk_span instruction, rk_hlo_plain *out_plain);
// The slot for it; whether it is known.
bool rk_hlo_find_same(rk_hlo_reader *reader, const rk_hlo_plain *plain, rk_hlo_same **out_slot);
// Once it was read.
void rk_hlo_learn_same(rk_hlo_reader *reader, const rk_hlo_plain *plain, rk_hlo_same *slot,
                       const rk_canon_one *content);
