// Reads HloComputationProto and HloInstructionProto.
#include "program/hlo/quick.h"
#include "program/payload.h"

// xla/service/hlo.proto
enum { COMPUTATION_INSTRUCTIONS = 2 };
enum {
    INSTRUCTION_OPCODE = 2,
    INSTRUCTION_SHAPE = 3,
    INSTRUCTION_METADATA = 7,
    INSTRUCTION_LITERAL = 8,
    INSTRUCTION_OPERAND_IDS = 36,
    INSTRUCTION_CONTROL_PREDECESSOR_IDS = 37,
    INSTRUCTION_CALLED_COMPUTATION_IDS = 38,
};
enum { SCHEDULE_INSTRUCTION_IDS = 1 };

typedef struct instruction {
    const rk_hlo_computation *computation;
    rk_span message, opcode, shape, metadata, literal;
    unsigned shapes, literals, metadatas; // how many there are
    bool has_control, has_calls;
    uint32_t first_operand;
} instruction;

static bool add_operands(rk_hlo_reader *reader, const instruction *i, const rk_proto_field *field) {
    rk_hlo_numbers numbers = rk_hlo_numbers_of(field);
    uint64_t id;
    while (rk_hlo_next_number(&numbers, &id)) {
        uint32_t ordinal;
        if (!rk_hlo_ordinal(reader, i->computation, (int64_t)id, &ordinal) ||
            rk_model_add_operand(reader->model, reader->first_value + ordinal) == RK_NO_ID)
            return false;
    }
    return !numbers.bad || rk_hlo_fail(reader, "packed numbers are damaged");
}

static bool take_own(rk_hlo_reader *reader, void *context, const rk_proto_field *field) {
    instruction *i = context;
    switch (field->number) {
    case INSTRUCTION_OPCODE:
        i->opcode = field->bytes;
        break;
    case INSTRUCTION_SHAPE:
        i->shape = field->bytes;
        i->shapes++;
        break;
    case INSTRUCTION_METADATA:
        i->metadata = field->bytes;
        i->metadatas++;
        break;
    case INSTRUCTION_LITERAL:
        i->literal = field->bytes;
        i->literals++;
        break;
    case INSTRUCTION_OPERAND_IDS:
        return add_operands(reader, i, field);
    case INSTRUCTION_CONTROL_PREDECESSOR_IDS:
        i->has_control = true;
        break;
    case INSTRUCTION_CALLED_COMPUTATION_IDS:
        i->has_calls = true;
        break;
    default: // the id
        break;
    }
    return true;
}

// Returns the name "hlo.dot" for the opcode "dot". Rejects strings that cannot be opcodes, because
// people will see the name.
static uint32_t op_name(rk_hlo_reader *reader, rk_span opcode) {
    enum { MAX_OPCODE_BYTES = 64 };
    static const char owner;
    rk_hlo_memo *slot;
    if (rk_hlo_find(reader, &owner, opcode, 0, &slot))
        return slot->id;
    bool good = opcode.len && opcode.len <= MAX_OPCODE_BYTES;
    for (size_t i = 0; good && i < opcode.len; i++) {
        uint8_t c = opcode.data[i];
        good = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    }
    if (!good) {
        rk_hlo_fail(reader, "an instruction has no opcode");
        return RK_NO_ID;
    }
    RK_AUTO(rk_buf) name = {0};
    rk_buf_add_text(&name, "hlo.");
    rk_buf_add_span(&name, opcode);
    rk_span kept = rk_hlo_keep_text(reader, &name);
    uint32_t id = kept.len ? rk_model_add_string(reader->model, kept) : RK_NO_ID;
    rk_hlo_remember(slot, &owner, opcode, 0, id);
    return id;
}

// Pushes instruction ids as indices within the computation.
static bool push_ordinals(rk_hlo_reader *reader, const rk_hlo_computation *computation,
                          rk_span message, uint32_t number, rk_hlo_words word) {
    size_t count;
    if (!rk_hlo_collect_ints(reader, message, number, &count))
        return false;
    uint8_t *ids = reader->scratch.items;
    for (size_t i = 0; i < count; i++) {
        uint32_t ordinal;
        if (!rk_hlo_ordinal(reader, computation, (int64_t)rk_load_u64le(ids + 8 * i), &ordinal))
            return false;
        rk_store_u64le(ids + 8 * i, ordinal);
    }
    return rk_hlo_push(reader, rk_hlo_word(reader, word), rk_hlo_add_ints(reader, count));
}

static uint32_t add_symbol(rk_hlo_reader *reader, int64_t computation_id) {
    const rk_hlo_computation *computations = reader->computations.items;
    static const char owner;
    rk_hlo_memo *slot;
    uint32_t index;
    if (!rk_hlo_computation_of(reader, computation_id, &index))
        return RK_NO_ID;
    if (rk_hlo_find(reader, &owner, (rk_span){0}, index, &slot))
        return slot->id;
    rk_node node = {.kind = RK_NODE_SYMBOL, .name = RK_NO_ID, .bytes = computations[index].name};
    uint32_t id = rk_model_add_node(reader->model, node);
    rk_hlo_remember(slot, &owner, (rk_span){0}, index, id);
    return id;
}

static bool push_calls(rk_hlo_reader *reader, rk_span message) {
    uint32_t mark = reader->pending_count;
    rk_proto_field field;
    bool bad;
    while (rk_hlo_next(&message, &field, &bad)) {
        if (field.number != INSTRUCTION_CALLED_COMPUTATION_IDS)
            continue;
        rk_hlo_numbers numbers = rk_hlo_numbers_of(&field);
        uint64_t id;
        while (rk_hlo_next_number(&numbers, &id))
            if (!rk_hlo_push(reader, RK_NO_ID, add_symbol(reader, (int64_t)id)))
                return false;
    }
    if (reader->pending_count == mark)
        return true;
    rk_node node = {.kind = RK_NODE_LIST, .name = RK_NO_ID};
    return rk_hlo_push(reader, rk_hlo_word(reader, RK_HLO_CALLED_COMPUTATIONS),
                       rk_hlo_add_node(reader, node, mark));
}

// Pushes metadata that does more than describe the operation's origin: the compiler may use it.
static bool push_metadata(rk_hlo_reader *reader, const instruction *i) {
    rk_span rest = i->metadata;
    rk_proto_field field;
    const rk_hlo_field *known;
    bool bad = false, only_origin = true;
    while (only_origin && rk_hlo_next(&rest, &field, &bad)) {
        known = rk_hlo_field_of(&rk_hlo_metadata_fields, field.number);
        only_origin = known && known->kind == RK_HLO_DROP;
    }
    if (RK_LIKELY(only_origin && !bad))
        return true;
    known = rk_hlo_field_of(&rk_hlo_instruction_fields, INSTRUCTION_METADATA);
    return rk_hlo_push(reader, rk_hlo_name(reader, known->name_id, known->name),
                       rk_hlo_read_message(reader, &rk_hlo_metadata_fields, i->metadata, 0));
}

// Pushes references to other things than values.
static bool push_references(rk_hlo_reader *reader, const instruction *i) {
    if (i->literals && !rk_hlo_push(reader, rk_hlo_word(reader, RK_HLO_LITERAL),
                                    rk_hlo_read_literal(reader, i->literal, 0)))
        return false;
    if (i->has_control &&
        !push_ordinals(reader, i->computation, i->message, INSTRUCTION_CONTROL_PREDECESSOR_IDS,
                       RK_HLO_CONTROL_PREDECESSORS))
        return false;
    return !i->has_calls || push_calls(reader, i->message);
}

// Replaces payloads among the attributes of a custom call. Attribute names are unique.
static void read_payload(rk_hlo_reader *reader, uint32_t mark) {
    const rk_model *model = reader->model;
    rk_field *attrs = reader->pending.items;
    rk_span target = {0};
    for (uint32_t i = mark; i < reader->pending_count; i++)
        if (rk_span_is(rk_model_string(model, attrs[i].name), "custom_call_target"))
            target = model->nodes.items[attrs[i].node].bytes;
    for (uint32_t i = mark; i < reader->pending_count; i++)
        if (rk_payload_may_be(target, rk_model_string(model, attrs[i].name)))
            attrs[i].node = rk_payload_read_node(reader->model, reader->flags, !reader->canon,
                                                 target, attrs[i].node);
}

static bool keep_instruction(rk_hlo_reader *reader, rk_op *op, uint32_t mark, uint32_t type) {
    rk_value value = {.type = type, .location = RK_NO_ID};
    op->first_attr = rk_hlo_take_attrs(reader, mark, &op->attr_count);
    return op->first_attr != RK_NO_ID && rk_model_add_value(reader->model, value) != RK_NO_ID &&
           rk_model_add_op(reader->model, *op) != RK_NO_ID;
}

// Hashes the instruction. Its operands leave the model again.
static bool hash_instruction(rk_hlo_reader *reader, const rk_op *op, const rk_canon_one *content) {
    rk_canon_put_one(reader->canon, content, op);
    reader->model->operands.count = op->first_operand;
    return !reader->canon->failed;
}

static rk_op describe(rk_hlo_reader *reader, uint32_t name, uint32_t first_operand) {
    const rk_model *model = reader->model;
    return (rk_op){
        .name = name,
        .location = RK_NO_ID,
        .first_operand = first_operand,
        .operand_count = model->operands.count - first_operand,
        .first_result = reader->next_value++,
        .result_count = 1,
        .end = model->ops.count + 1,
    };
}

// Hashes a common instruction with known content: reads only its operands.
static bool hash_plain(rk_hlo_reader *reader, const rk_hlo_computation *computation,
                       const rk_hlo_plain *plain, const rk_canon_one *content) {
    uint32_t first = reader->model->operands.count, ordinal;
    const uint8_t *at = plain->operands.data;
    const uint8_t *end = plain->operands.len ? at + plain->operands.len : at;
    uint64_t id;
    while (at < end) {
        at = rk_hlo_take_number(at, end, &id);
        if (!at)
            return rk_hlo_fail(reader, "packed numbers are damaged");
        if (!rk_hlo_ordinal(reader, computation, (int64_t)id, &ordinal) ||
            rk_model_add_operand(reader->model, reader->first_value + ordinal) == RK_NO_ID)
            return false;
    }
    rk_op op = describe(reader, RK_NO_ID, first);
    return hash_instruction(reader, &op, content);
}

// Reads an instruction of any kind. `plain`: the same instruction if it is of the common kind, else
// NULL.
static bool read_any(rk_hlo_reader *reader, const rk_hlo_computation *computation, rk_span message,
                     const rk_hlo_plain *plain, rk_hlo_same *slot) {
    uint32_t mark = reader->pending_count;
    instruction i = {.computation = computation,
                     .message = message,
                     .first_operand = reader->model->operands.count};
    if (!rk_hlo_read_fields(reader, &rk_hlo_instruction_fields, message, 0, take_own, &i))
        return false;
    if (i.shapes != 1 || i.literals > 1 || i.metadatas > 1)
        return rk_hlo_fail(reader, "an instruction has no shape, or a singular field twice");
    if (!push_references(reader, &i) || !push_metadata(reader, &i))
        return false;
    if (rk_span_is(i.opcode, "custom-call"))
        read_payload(reader, mark);
    uint32_t name = op_name(reader, i.opcode);
    uint32_t location = rk_hlo_read_location(reader, i.metadata);
    uint32_t type = rk_hlo_read_shape(reader, i.shape, 0);
    if (name == RK_NO_ID || type == RK_NO_ID)
        return false;
    rk_op op = describe(reader, name, i.first_operand);
    op.location = location;
    if (!reader->canon)
        return keep_instruction(reader, &op, mark, type);
    rk_canon_one content = {.name = rk_canon_name_of(reader->canon, name),
                            .type = rk_canon_type_of(reader->canon, type)};
    if (!rk_hlo_take_content(reader, mark, &content.attrs))
        return false;
    if (plain)
        rk_hlo_learn_same(reader, plain, slot, &content);
    return hash_instruction(reader, &op, &content);
}

static bool read_instruction(rk_hlo_reader *reader, const rk_hlo_computation *computation,
                             rk_span message) {
    rk_hlo_plain plain;
    rk_hlo_same *slot;
    if (!reader->canon || !rk_hlo_split_plain(message, &plain))
        return read_any(reader, computation, message, NULL, NULL);
    if (rk_hlo_find_same(reader, &plain, &slot))
        return hash_plain(reader, computation, &plain, &slot->content);
    return read_any(reader, computation, message, &plain, slot);
}

static bool read_instructions(rk_hlo_reader *reader, const rk_hlo_computation *computation) {
    rk_span rest = computation->message;
    rk_proto_field field;
    bool bad;
    while (rk_hlo_next(&rest, &field, &bad))
        if (field.number == COMPUTATION_INSTRUCTIONS &&
            !read_instruction(reader, computation, field.bytes))
            return false;
    return true;
}

static bool push_attrs(rk_hlo_reader *reader, const rk_hlo_computation *computation,
                       bool is_entry) {
    uint32_t root;
    rk_node unit = {.kind = RK_NODE_UNIT, .name = RK_NO_ID};
    if (!rk_hlo_read_fields(reader, &rk_hlo_computation_fields, computation->message, 0, NULL,
                            NULL) ||
        !rk_hlo_ordinal(reader, computation, computation->root_id, &root) ||
        !rk_hlo_push(reader, rk_hlo_word(reader, RK_HLO_SYM_NAME),
                     rk_hlo_add_string(reader, computation->name)) ||
        !rk_hlo_push(reader, rk_hlo_word(reader, RK_HLO_ROOT),
                     rk_hlo_add_int(reader, true, 64, root)))
        return false;
    if (computation->is_scheduled && !push_ordinals(reader, computation, computation->schedule,
                                                    SCHEDULE_INSTRUCTION_IDS, RK_HLO_SCHEDULE))
        return false;
    return !is_entry || rk_hlo_push(reader, rk_hlo_word(reader, RK_HLO_ENTRY),
                                    rk_model_add_node(reader->model, unit));
}

static bool keep_computation(rk_hlo_reader *reader, const rk_hlo_computation *computation,
                             rk_op op) {
    rk_model *model = reader->model;
    op.first_region = rk_model_add_regions(model, 1);
    uint32_t block = rk_model_add_blocks(model, 1), at = rk_model_add_op(model, op);
    if (op.first_region == RK_NO_ID || block == RK_NO_ID || at == RK_NO_ID)
        return false;
    model->ops.items[at].first_region = op.first_region;
    if (!read_instructions(reader, computation))
        return false;
    model->regions.items[op.first_region] = (rk_region){block, 1};
    model->blocks.items[block].first_op = at + 1;
    model->blocks.items[block].end_op = model->ops.count;
    model->ops.items[at].end = model->ops.count;
    return true;
}

static bool hash_computation(rk_hlo_reader *reader, const rk_hlo_computation *computation,
                             const rk_op *op) {
    rk_canon_begin_block(reader->canon, op);
    if (!read_instructions(reader, computation))
        return false;
    rk_canon_end_block(reader->canon);
    return true;
}

bool rk_hlo_read_computation(rk_hlo_reader *reader, uint32_t index, bool is_entry) {
    const rk_hlo_computation *computation =
        (const rk_hlo_computation *)reader->computations.items + index;
    if (!computation->instruction_count)
        return rk_hlo_fail(reader, "a computation has no instructions");
    uint32_t mark = reader->pending_count;
    reader->first_value = reader->next_value = reader->model->values.count;
    if (!rk_hlo_enter_computation(reader, computation) ||
        !push_attrs(reader, computation, is_entry))
        return false;
    rk_op op = {.name = rk_hlo_word(reader, RK_HLO_COMPUTATION),
                .location = RK_NO_ID,
                .first_result = reader->next_value,
                .region_count = 1};
    op.first_attr = rk_hlo_take_attrs(reader, mark, &op.attr_count);
    if (op.first_attr == RK_NO_ID || op.name == RK_NO_ID)
        return false;
    return reader->canon ? hash_computation(reader, computation, &op)
                         : keep_computation(reader, computation, op);
}
