// Instructions of the ordinary kind, which almost all are: told apart from what is the same in many
// of them by their bytes, so that this is read once.
#include "program/read_hlo_quick.h"

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

static bool take_bytes(const rk_hlo_step *step, rk_span *out_bytes) {
    if (step->wire != RK_PROTO_BYTES || out_bytes->data)
        return false;
    *out_bytes = rk_span_of(step->value, step->len);
    return true;
}

static bool take_field(rk_hlo_plain *plain, const rk_hlo_step *step, const uint8_t *end) {
    switch (step->number) {
    case NAME:
    case METADATA:
        return step->wire == RK_PROTO_BYTES;
    case OPCODE:
        return take_bytes(step, &plain->opcode);
    case SHAPE:
        return take_bytes(step, &plain->shape);
    case ID:
        return step->wire == RK_PROTO_VARINT;
    case OPERAND_IDS:
        return take_bytes(step, &plain->operands);
    case LITERAL:
    case CONTROL_PREDECESSOR_IDS:
    case CALLED_COMPUTATION_IDS:
        return false;
    default:
        break;
    }
    size_t len = (size_t)(end - step->start);
    if (len > sizeof plain->rest - plain->rest_len)
        return false;
    memcpy(plain->rest + plain->rest_len, step->start, len);
    plain->rest_len += (uint32_t)len;
    return true;
}

bool rk_hlo_split_plain(rk_span instruction, rk_hlo_plain *out_plain) {
    const uint8_t *at = instruction.data, *end = at + instruction.len;
    uint32_t previous = 0;
    rk_hlo_step step;
    out_plain->opcode = out_plain->shape = out_plain->operands = (rk_span){0};
    out_plain->rest_len = 0;
    while (at < end) {
        at = rk_hlo_step_over(at, end, &step);
        if (RK_UNLIKELY(!at || step.number < previous || !take_field(out_plain, &step, at)))
            return false;
        previous = step.number;
    }
    return out_plain->opcode.data && out_plain->shape.data;
}

// Needs no secret: a collision only makes the reader read something once more.
static uint64_t hash(const uint8_t *data, size_t len) {
    const uint64_t odd = 0x9E3779B97F4A7C15u;
    uint64_t sum = len * odd, word = 0;
    size_t at = 0;
    for (; at + 8 <= len; at += 8) {
        memcpy(&word, data + at, sizeof word);
        sum = (sum ^ (sum >> 29) ^ word) * odd;
    }
    for (word = 0; at < len; at++)
        word = word << 8 | data[at];
    sum = (sum ^ (sum >> 29) ^ word) * odd;
    return sum ^ (sum >> 32);
}

bool rk_hlo_find_rest(rk_hlo_reader *reader, const rk_hlo_plain *plain, rk_hlo_rest **out_slot) {
    rk_hlo_rest *slots = reader->rests.items;
    rk_hlo_rest *slot = &slots[hash(plain->rest, plain->rest_len) & reader->memo_mask];
    *out_slot = slot;
    return slot->data && rk_span_equal(rk_span_of(slot->data, slot->len),
                                       rk_span_of(plain->rest, plain->rest_len));
}

void rk_hlo_learn_rest(rk_hlo_reader *reader, const rk_hlo_plain *plain, rk_hlo_rest *slot,
                       uint32_t content) {
    rk_span kept = rk_model_keep(reader->model, rk_span_of(plain->rest, plain->rest_len));
    if (kept.data)
        *slot = (rk_hlo_rest){kept.data, plain->rest_len, content};
}
