#include "fuzz.h"

#include <stdlib.h>

#include "base/digest.h"

static void check_range(uint32_t first, uint32_t count, uint32_t end) {
    FUZZ_REQUIRE(count <= end);
    FUZZ_REQUIRE(!count || first <= end - count);
}

// Reads the first and the last byte: the sanitizer reports a missing one.
static void check_span(rk_span span) {
    const volatile uint8_t *data = span.data;
    if (span.len) {
        (void)data[0];
        (void)data[span.len - 1];
    }
}

static void check_name(const rk_model *m, uint32_t id) {
    FUZZ_REQUIRE(id < m->strings.count || id == RK_NO_ID);
}

static void check_sorted(const rk_model *m, uint32_t first, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t name = m->fields.items[first + i].name;
        FUZZ_REQUIRE(name < m->strings.count);
        FUZZ_REQUIRE(!i || rk_span_compare(rk_model_string(m, m->fields.items[first + i - 1].name),
                                           rk_model_string(m, name)) <= 0);
    }
}

static bool is_location(const rk_model *m, uint32_t node) {
    return m->nodes.items[node].kind >= RK_NODE_LOC_UNKNOWN;
}

static bool is_type(const rk_model *m, uint32_t node) {
    uint8_t kind = m->nodes.items[node].kind;
    return kind == RK_NODE_TYPE || kind == RK_NODE_OPAQUE;
}

// Checks the rules for the node's kind.
static void check_kind(const rk_model *m, const rk_node *node) {
    const rk_field *fields = m->fields.items + node->first_field;
    switch ((rk_node_kind)node->kind) {
    case RK_NODE_BOOL:
        FUZZ_REQUIRE(node->value <= 1);
        break;
    case RK_NODE_INT:
    case RK_NODE_FLOAT:
        FUZZ_REQUIRE(node->field_count <= 1);
        FUZZ_REQUIRE(!node->field_count || is_type(m, fields[0].node));
        FUZZ_REQUIRE(node->width == 0 || node->width >= 64 || node->value >> node->width == 0);
        break;
    case RK_NODE_LIST:
        for (uint32_t i = 0; i < node->field_count; i++)
            FUZZ_REQUIRE(fields[i].name == RK_NO_ID);
        break;
    case RK_NODE_DICT:
        check_sorted(m, node->first_field, node->field_count);
        break;
    case RK_NODE_INTS:
        FUZZ_REQUIRE(node->bytes.len % sizeof(int64_t) == 0 && !node->field_count);
        break;
    case RK_NODE_ELEMENTS:
        FUZZ_REQUIRE(node->field_count >= 1);
        break;
    case RK_NODE_TYPE:
        FUZZ_REQUIRE(node->name != RK_NO_ID && node->bytes.len % sizeof(int64_t) == 0);
        break;
    case RK_NODE_ENUM:
    case RK_NODE_STRUCT:
        FUZZ_REQUIRE(node->name != RK_NO_ID);
        break;
    case RK_NODE_LOC_FILE:
        FUZZ_REQUIRE(!node->field_count);
        break;
    case RK_NODE_LOC_NAME:
        FUZZ_REQUIRE(node->field_count <= 1);
        break;
    case RK_NODE_LOC_CALL:
        FUZZ_REQUIRE(node->field_count == 2);
        break;
    case RK_NODE_PROGRAM:
        FUZZ_REQUIRE(node->value < m->payloads.count || node->value == RK_NO_ID);
        FUZZ_REQUIRE(node->bytes.len == RK_DIGEST_BYTES && !node->field_count);
        break;
    case RK_NODE_UNIT:
    case RK_NODE_STRING:
    case RK_NODE_SYMBOL:
    case RK_NODE_OPAQUE:
    case RK_NODE_LOC_UNKNOWN:
    case RK_NODE_LOC_FUSED:
        break;
    }
}

static void check_nodes(const rk_model *m) {
    for (uint32_t i = 0; i < m->nodes.count; i++) {
        const rk_node *node = &m->nodes.items[i];
        FUZZ_REQUIRE(node->kind <= RK_NODE_LOC_FUSED);
        check_name(m, node->name);
        check_span(node->bytes);
        check_range(node->first_field, node->field_count, m->fields.count);
        for (uint32_t f = 0; f < node->field_count; f++) {
            const rk_field *field = &m->fields.items[node->first_field + f];
            check_name(m, field->name);
            FUZZ_REQUIRE(field->node < i);
        }
        check_kind(m, node);
    }
}

static void check_location(const rk_model *m, uint32_t location, unsigned read_flags) {
    if (!(read_flags & RK_READ_LOCATIONS))
        FUZZ_REQUIRE(location == RK_NO_ID);
    FUZZ_REQUIRE(location == RK_NO_ID || location < m->nodes.count);
    FUZZ_REQUIRE(location == RK_NO_ID || is_location(m, location) ||
                 m->nodes.items[location].kind == RK_NODE_OPAQUE);
}

// Every value is defined once, by an operation or by a block.
static void define_values(const rk_model *m, uint32_t first, uint32_t count, uint8_t *defined) {
    check_range(first, count, m->values.count);
    for (uint32_t i = 0; i < count; i++) {
        FUZZ_REQUIRE(!defined[first + i]);
        defined[first + i] = 1;
    }
}

static void check_op(const rk_model *m, const rk_op *op, unsigned read_flags, uint8_t *defined) {
    FUZZ_REQUIRE(op->name < m->strings.count);
    check_location(m, op->location, read_flags);
    check_range(op->first_attr, op->attr_count, m->fields.count);
    check_sorted(m, op->first_attr, op->attr_count);
    for (uint32_t i = 0; i < op->attr_count; i++)
        FUZZ_REQUIRE(m->fields.items[op->first_attr + i].node < m->nodes.count);
    check_range(op->first_operand, op->operand_count, m->operands.count);
    define_values(m, op->first_result, op->result_count, defined);
    check_range(op->first_region, op->region_count, m->regions.count);
    check_range(op->first_successor, op->successor_count, m->successors.count);
}

// Checks the operations of one block, from `first_op` on: each ends within the block, the last one
// at the block's end. Their successors are blocks of the same region.
static void check_block_ops(const rk_model *m, const rk_block *block, uint32_t sibling_blocks) {
    uint32_t i = block->first_op;
    while (i < block->end_op) {
        const rk_op *op = &m->ops.items[i];
        FUZZ_REQUIRE(op->end > i && op->end <= block->end_op);
        for (uint32_t s = 0; s < op->successor_count; s++)
            FUZZ_REQUIRE(m->successors.items[op->first_successor + s] < sibling_blocks);
        i = op->end;
    }
    FUZZ_REQUIRE(i == block->end_op);
}

// The blocks of an operation's regions hold, in order, all operations between this one and its end.
static void check_regions(const rk_model *m, uint32_t id, uint8_t *defined) {
    const rk_op *op = &m->ops.items[id];
    uint32_t at = id + 1;
    for (uint32_t r = 0; r < op->region_count; r++) {
        const rk_region *region = &m->regions.items[op->first_region + r];
        check_range(region->first_block, region->block_count, m->blocks.count);
        for (uint32_t b = 0; b < region->block_count; b++) {
            const rk_block *block = &m->blocks.items[region->first_block + b];
            define_values(m, block->first_arg, block->arg_count, defined);
            FUZZ_REQUIRE(block->first_op == at);
            FUZZ_REQUIRE(block->end_op >= at && block->end_op <= op->end);
            check_block_ops(m, block, region->block_count);
            at = block->end_op;
        }
    }
    FUZZ_REQUIRE(at == op->end);
}

static void check_values(const rk_model *m, unsigned read_flags, const uint8_t *defined) {
    for (uint32_t i = 0; i < m->values.count; i++) {
        FUZZ_REQUIRE(m->values.items[i].type < m->nodes.count);
        check_location(m, m->values.items[i].location, read_flags);
    }
    for (uint32_t i = 0; i < m->ops.count; i++) {
        const rk_op *op = &m->ops.items[i];
        for (uint32_t o = 0; o < op->operand_count; o++) {
            uint32_t operand = m->operands.items[op->first_operand + o];
            FUZZ_REQUIRE(operand < m->values.count);
            FUZZ_REQUIRE(defined[operand]);
        }
    }
}

void fuzz_check_model(const rk_model *model, unsigned read_flags) {
    const rk_model *m = model;
    uint8_t *defined = calloc((size_t)m->values.count + 1, 1);
    FUZZ_REQUIRE(defined);
    for (uint32_t i = 0; i < m->strings.count; i++)
        check_span(m->strings.items[i]);
    check_nodes(m);
    FUZZ_REQUIRE(m->ops.count && m->ops.items[0].end == m->ops.count);
    FUZZ_REQUIRE(!m->opaque_count == !m->opaque_reason);
    for (uint32_t i = 0; i < m->ops.count; i++) {
        FUZZ_REQUIRE(m->ops.items[i].end > i && m->ops.items[i].end <= m->ops.count);
        check_op(m, &m->ops.items[i], read_flags, defined);
    }
    for (uint32_t i = 0; i < m->ops.count; i++)
        check_regions(m, i, defined);
    check_values(m, read_flags, defined);
    free(defined);
    for (uint32_t i = 0; i < m->payloads.count; i++) {
        FUZZ_REQUIRE(!m->payloads.items[i]->payloads.count);
        FUZZ_REQUIRE(!m->payloads.items[i]->opaque_count);
        fuzz_check_model(m->payloads.items[i], read_flags);
    }
}
