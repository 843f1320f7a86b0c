// Splits common instructions, as almost all are, and caches their content by the bytes that many of
// them share. So these bytes are decoded only once.
#include "program/hlo/quick.h"

#include "program/quick_hash.h"

// xla/service/hlo.proto: HloInstructionProto
enum {
    NAME = 1,
    OPCODE = 2,
    SHAPE = 3,
    METADATA = 7,
    LITERAL = 8,
    ID = 35,
    OPERAND_IDS = 36,
    CONTROL_PREDECESSOR_IDS = 37,
    CALLED_COMPUTATION_IDS = 38,
};

static bool take_field(rk_hlo_plain *plain, const rk_hlo_step *step, const uint8_t *end) {
    bool is_bytes = step->wire == RK_PROTO_BYTES, is_second = false;
    switch (step->number) {
    case NAME:
    case METADATA:
        return is_bytes;
    case ID:
        return step->wire == RK_PROTO_VARINT;
    case OPERAND_IDS:
        is_second = plain->operands.data != NULL;
        plain->operands = rk_span_of(step->value, step->len);
        return is_bytes && !is_second;
    case LITERAL:
    case CONTROL_PREDECESSOR_IDS:
    case CALLED_COMPUTATION_IDS:
        return false;
    case OPCODE:
        is_second = plain->has_opcode;
        plain->has_opcode = is_bytes;
        break;
    case SHAPE:
        is_second = plain->has_shape;
        plain->has_shape = is_bytes;
        break;
    default:
        break;
    }
    size_t len = (size_t)(end - step->start);
    if (is_second || len > sizeof plain->same - plain->same_len)
        return false;
    memcpy(plain->same + plain->same_len, step->start, len);
    plain->same_len += (uint32_t)len;
    return true;
}

bool rk_hlo_split_plain(rk_span instruction, rk_hlo_plain *out_plain) {
    const uint8_t *at = instruction.data, *end = at + instruction.len;
    uint32_t previous = 0;
    rk_hlo_step step;
    out_plain->operands = (rk_span){0};
    out_plain->has_opcode = out_plain->has_shape = false;
    out_plain->same_len = 0;
    while (at < end) {
        at = rk_hlo_step_over(at, end, &step);
        if (RK_UNLIKELY(!at || step.number < previous || !take_field(out_plain, &step, at)))
            return false;
        previous = step.number;
    }
    return out_plain->has_opcode && out_plain->has_shape;
}

bool rk_hlo_find_same(rk_hlo_reader *reader, const rk_hlo_plain *plain, rk_hlo_same **out_slot) {
    rk_span same = rk_span_of(plain->same, plain->same_len);
    rk_hlo_same *slots = reader->same.items;
    // The hash needs no secret: a collision only makes the reader decode something again.
    rk_hlo_same *slot = &slots[rk_quick_hash(0, same) & reader->memo_mask];
    *out_slot = slot;
    return slot->data && rk_span_equal(rk_span_of(slot->data, slot->len), same);
}

void rk_hlo_learn_same(rk_hlo_reader *reader, const rk_hlo_plain *plain, rk_hlo_same *slot,
                       const rk_canon_one *content) {
    rk_span kept = rk_model_keep(reader->model, rk_span_of(plain->same, plain->same_len));
    if (kept.data)
        *slot = (rk_hlo_same){kept.data, plain->same_len, *content};
}
