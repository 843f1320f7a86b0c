#include "test_read_hlo_support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "program/read.h"
#include "program/text.h"

// Checks of the guarantees in model.h.

static void check_fields(const rk_model *model, uint32_t first, uint32_t count, uint32_t below) {
    assert_true(first <= model->fields.count && count <= model->fields.count - first);
    for (uint32_t i = first; i < first + count; i++) {
        assert_true(model->fields.items[i].node < below);
        assert_true(model->fields.items[i].name == RK_NO_ID ||
                    model->fields.items[i].name < model->strings.count);
    }
}

// Reads every byte, for the sanitizer.
static void read_all(rk_span bytes) {
    static volatile uint8_t sink;
    for (size_t i = 0; i < bytes.len; i++)
        sink = bytes.data[i];
    (void)sink;
}

static void check_nodes(const rk_model *model) {
    for (uint32_t i = 0; i < model->nodes.count; i++) {
        const rk_node *node = &model->nodes.items[i];
        assert_true(node->kind <= RK_NODE_LOC_FUSED);
        assert_true(node->name == RK_NO_ID || node->name < model->strings.count);
        if (node->field_count)
            check_fields(model, node->first_field, node->field_count, i);
        if (node->kind == RK_NODE_INTS || node->kind == RK_NODE_TYPE)
            assert_int_equal(node->bytes.len % 8, 0);
        if (node->kind == RK_NODE_ENUM || node->kind == RK_NODE_STRUCT)
            assert_true(node->name != RK_NO_ID);
        if (node->kind == RK_NODE_INT || node->kind == RK_NODE_ELEMENTS)
            assert_true(node->field_count >= 1);
        read_all(node->bytes);
    }
}

static void check_attrs(const rk_model *model, const rk_op *op) {
    check_fields(model, op->first_attr, op->attr_count, model->nodes.count);
    for (uint32_t i = op->first_attr + 1; i < op->first_attr + op->attr_count; i++)
        assert_true(rk_span_compare(rk_model_string(model, model->fields.items[i - 1].name),
                                    rk_model_string(model, model->fields.items[i].name)) < 0);
}

static void check_ops(const rk_model *model) {
    assert_true(model->ops.count > 0);
    assert_int_equal(model->ops.items[0].end, model->ops.count);
    for (uint32_t i = 0; i < model->ops.count; i++) {
        const rk_op *op = &model->ops.items[i];
        assert_true(op->name < model->strings.count);
        assert_true(op->end > i && op->end <= model->ops.count);
        assert_true(op->location == RK_NO_ID || op->location < model->nodes.count);
        check_attrs(model, op);
        assert_true(op->first_operand + op->operand_count <= model->operands.count);
        for (uint32_t o = 0; o < op->operand_count; o++)
            assert_true(model->operands.items[op->first_operand + o] < model->values.count);
        for (uint32_t v = 0; v < op->result_count; v++)
            assert_true(model->values.items[op->first_result + v].type < model->nodes.count);
        for (uint32_t r = 0; r < op->region_count; r++) {
            rk_region region = model->regions.items[op->first_region + r];
            assert_int_equal(region.block_count, 1);
            rk_block block = model->blocks.items[region.first_block];
            assert_int_equal(block.first_op, i + 1);
            assert_int_equal(block.end_op, op->end);
        }
    }
}

void rk_test_check_model(const rk_model *model) {
    check_nodes(model);
    check_ops(model);
    assert_int_equal(model->opaque_count != 0, model->opaque_reason != NULL);
}

rk_model *rk_test_read_hlo(rk_span code, const char *format, unsigned flags) {
    rk_model *model = NULL;
    char *reason = NULL;
    assert_null(rk_model_read(code, rk_span_text(format), flags, &model, &reason));
    if (!model)
        fail_msg("not read: %s", reason);
    rk_test_check_model(model);
    return model;
}

char *rk_test_refusal(rk_span code) {
    rk_model *model = NULL;
    char *reason = NULL;
    assert_null(rk_model_read(code, rk_span_text("hlo"), 0, &model, &reason));
    assert_null(model);
    assert_non_null(reason);
    return reason;
}

rk_buf rk_test_text(const rk_model *model) {
    rk_text_options options = {.locations = true, .elements_max = SIZE_MAX};
    rk_buf out = {0};
    assert_null(rk_program_print(model, &options, &out));
    return out;
}

rk_buf rk_test_text_of(rk_span code) {
    rk_model *model = rk_test_read_hlo(code, "hlo", RK_READ_LOCATIONS);
    rk_buf text = rk_test_text(model);
    rk_model_free(model);
    return text;
}

// Rewriting.

enum { MODULE_COMPUTATIONS = 3, COMPUTATION_INSTRUCTIONS = 2, INSTRUCTION_SHAPE = 3 };
enum { SHAPE_DIMENSIONS = 3, SHAPE_DYNAMIC = 6, INSTRUCTION_ID_LISTS = 36, LAST_ID_LIST = 38 };

// The message type of a field that the reader handles itself.
static const rk_hlo_message *message_of(const rk_hlo_message *owner, const rk_hlo_field *field) {
    if (owner == &rk_hlo_module_fields && field->number == MODULE_COMPUTATIONS)
        return &rk_hlo_computation_fields;
    if (owner == &rk_hlo_computation_fields && field->number == COMPUTATION_INSTRUCTIONS)
        return &rk_hlo_instruction_fields;
    if (field->kind == RK_HLO_SHAPE ||
        (owner == &rk_hlo_instruction_fields && field->number == INSTRUCTION_SHAPE))
        return &rk_hlo_shape_fields;
    return field->kind == RK_HLO_MESSAGE || field->kind == RK_HLO_ATTRIBUTES ? field->message
                                                                             : NULL;
}

static bool is_packable(const rk_hlo_message *owner, const rk_hlo_field *field) {
    if (owner == &rk_hlo_shape_fields)
        return field->number == SHAPE_DIMENSIONS || field->number == SHAPE_DYNAMIC;
    if (owner == &rk_hlo_instruction_fields && field->number >= INSTRUCTION_ID_LISTS &&
        field->number <= LAST_ID_LIST)
        return true;
    return field->repeated && field->kind <= RK_HLO_ENUM;
}

typedef struct part {
    uint64_t order;
    size_t place;
    rk_buf bytes;
} part;

static int compare_parts(const void *a, const void *b) {
    const part *left = a, *right = b;
    if (left->order != right->order)
        return left->order < right->order ? -1 : 1;
    return left->place < right->place ? -1 : left->place > right->place;
}

static rk_buf rewrite(const rk_hlo_message *message, rk_span bytes, const rk_test_rewriting *how);

static void rewrite_field(const rk_hlo_message *message, const rk_proto_field *field,
                          const rk_test_rewriting *how, rk_buf *out) {
    const rk_hlo_field *known = rk_hlo_field_of(message, field->number);
    const rk_hlo_message *inner = known ? message_of(message, known) : NULL;
    if (inner) {
        rk_buf content = rewrite(inner, field->bytes, how);
        rk_test_add_message(out, field->number, &content);
        rk_buf_cleanup(&content);
    } else if (known && how->unpack && field->wire == RK_PROTO_BYTES &&
               is_packable(message, known)) {
        rk_span packed = field->bytes;
        uint64_t value;
        while (packed.len) {
            assert_true(rk_proto_take_varint(&packed, &value));
            rk_proto_add_varint_field(out, field->number, value);
        }
    } else {
        rk_buf_add_span(out, field->whole);
    }
}

static rk_buf rewrite(const rk_hlo_message *message, rk_span bytes, const rk_test_rewriting *how) {
    enum { MOST_PARTS = 4096 };
    part *parts = calloc(MOST_PARTS, sizeof *parts);
    rk_buf out = {0};
    rk_proto_field field;
    size_t count = 0;
    bool bad;
    while (rk_proto_next(&bytes, &field, &bad)) {
        assert_true(count < MOST_PARTS);
        part *one = &parts[count];
        const rk_hlo_field *known = rk_hlo_field_of(message, field.number);
        bool is_map = known && known->kind == RK_HLO_MAP;
        uint64_t mixed = (field.number + how->seed) * 0x9E3779B97F4A7C15u;
        one->order = how->seed ? mixed ^ mixed >> 29 : 0;
        one->place = is_map && how->reverse_maps ? MOST_PARTS - count : count;
        rewrite_field(message, &field, how, &one->bytes);
        count++;
    }
    assert_false(bad);
    if (how->seed || how->reverse_maps)
        qsort(parts, count, sizeof *parts, compare_parts);
    for (size_t i = 0; i < count; i++) {
        rk_buf_add_span(&out, rk_buf_span(&parts[i].bytes));
        rk_buf_cleanup(&parts[i].bytes);
    }
    free(parts);
    return out;
}

rk_buf rk_test_rewrite(rk_span module, const rk_test_rewriting *how) {
    return rewrite(&rk_hlo_module_fields, module, how);
}

// Writing.

void rk_test_add_shape(rk_buf *out, uint32_t number, uint64_t type, uint64_t rows,
                       uint64_t columns) {
    RK_AUTO(rk_buf) shape = {0};
    rk_proto_add_varint_field(&shape, 2, type);
    if (rows)
        rk_proto_add_varint_field(&shape, 3, rows);
    if (columns)
        rk_proto_add_varint_field(&shape, 3, columns);
    rk_test_add_message(out, number, &shape);
}

rk_buf rk_test_instruction(const char *opcode, uint64_t id) {
    rk_buf out = {0};
    rk_test_add_text(&out, 2, opcode);
    rk_test_add_shape(&out, 3, 11, 4, 0);
    rk_proto_add_varint_field(&out, 35, id);
    return out;
}

void rk_test_add_instruction(rk_buf *computation, rk_buf *instruction, uint64_t left,
                             uint64_t right) {
    if (left)
        rk_proto_add_varint_field(instruction, 36, left);
    if (right)
        rk_proto_add_varint_field(instruction, 36, right);
    rk_test_add_message(computation, 2, instruction);
    rk_buf_cleanup(instruction);
}

void rk_test_add_computation(rk_buf *module, rk_buf *computation, const char *name, uint64_t id,
                             uint64_t root_id) {
    rk_test_add_text(computation, 1, name);
    rk_proto_add_varint_field(computation, 5, id);
    rk_proto_add_varint_field(computation, 6, root_id);
    rk_test_add_message(module, 3, computation);
    rk_buf_cleanup(computation);
}

rk_buf rk_test_module_with(const rk_buf *more_fields) {
    rk_buf module = {0}, computation = {0}, instruction = rk_test_instruction("parameter", 1);
    rk_buf_add_span(&instruction, rk_buf_span(more_fields));
    rk_test_add_instruction(&computation, &instruction, 0, 0);
    rk_test_add_computation(&module, &computation, "main", 1, 1);
    rk_proto_add_varint_field(&module, 6, 1);
    return module;
}
