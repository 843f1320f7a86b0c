// HLO programs as the neutral model.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "fixture.h"
#include "program/canon/fingerprint.h"
#include "program/read.h"
#include "test_read_hlo_support.h"

static const char *const FIXTURES[] = {
    "hlo_collectives.hlo",
    "hlo_cond.hlo",
    "hlo_cond_compiled.hlo",
    "hlo_convolution_net_compiled.hlo",
    "hlo_custom_call.hlo",
    "hlo_dynamic.hlo",
    "hlo_layouts.hlo",
    "hlo_sharded_matmul_compiled.hlo",
    "hlo_sharded_train_step.hlo",
    "hlo_shardings.hlo",
    "hlo_tuple_constant.hlo",
};

static const rk_op *op_at(const rk_model *model, uint32_t index, const char *name) {
    assert_true(index < model->ops.count);
    const rk_op *op = &model->ops.items[index];
    assert_true(rk_span_is(rk_model_string(model, op->name), name));
    return op;
}

static const rk_node *attr(const rk_model *model, const rk_op *op, const char *name, int kind) {
    uint32_t node = rk_model_attr(model, op, name);
    assert_true(node != RK_NO_ID);
    assert_int_equal(model->nodes.items[node].kind, kind);
    return &model->nodes.items[node];
}

static bool has_attr(const rk_model *model, const rk_op *op, const char *name) {
    return rk_model_attr(model, op, name) != RK_NO_ID;
}

static const rk_node *field_at(const rk_model *model, const rk_node *node, uint32_t at,
                               const char *name) {
    assert_true(at < node->field_count);
    const rk_field *field = &model->fields.items[node->first_field + at];
    if (name)
        assert_true(rk_span_is(rk_model_string(model, field->name), name));
    else
        assert_true(field->name == RK_NO_ID);
    return &model->nodes.items[field->node];
}

static void expect_ints(const rk_node *node, const int64_t *values, size_t count) {
    assert_int_equal(node->bytes.len, 8 * count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal((int64_t)rk_load_u64le(node->bytes.data + 8 * i), values[i]);
}
#define EXPECT_INTS(node, ...)                                                                     \
    expect_ints(node, (const int64_t[]){__VA_ARGS__},                                              \
                RK_ARRAY_LEN(((const int64_t[]){__VA_ARGS__})))

static void expect_refused(rk_buf *code, const char *reason) {
    char *given = rk_test_refusal(rk_buf_span(code));
    assert_string_equal(given, reason);
    rk_free(given);
    rk_buf_cleanup(code);
}

// Reads a module whose only instruction, made by rk_test_module_with, is ops[2].
static rk_model *read_with(rk_buf *more_fields, rk_buf *out_code) {
    *out_code = rk_test_module_with(more_fields);
    rk_buf_cleanup(more_fields);
    return rk_test_read_hlo(rk_buf_span(out_code), "hlo", 0);
}

static void instructions_have_operands_types_and_attributes(void **state) {
    (void)state;
    RK_AUTO(rk_buf) module = {0};
    rk_buf computation = {0}, x = rk_test_instruction("parameter", 70);
    rk_buf sum = rk_test_instruction("add", 71), dot = rk_test_instruction("dot", 72);
    RK_AUTO(rk_buf) dims = {0};
    rk_proto_add_varint_field(&dims, 1, 1);
    rk_proto_add_varint_field(&dims, 2, 0);
    rk_test_add_message(&dot, 30, &dims);
    rk_test_add_instruction(&computation, &x, 0, 0);
    rk_test_add_instruction(&computation, &sum, 70, 70);
    rk_test_add_instruction(&computation, &dot, 71, 70);
    rk_test_add_computation(&module, &computation, "main.7", 3, 72);
    rk_test_add_text(&module, 1, "jit_f");
    rk_proto_add_varint_field(&module, 6, 3);
    rk_model *model = rk_test_read_hlo(rk_buf_span(&module), "hlo", 0);
    assert_int_equal(model->ops.count, 5);
    assert_int_equal(op_at(model, 0, "hlo.module")->region_count, 1);
    const rk_op *main = op_at(model, 1, "hlo.computation");
    assert_true(rk_span_is(attr(model, main, "sym_name", RK_NODE_STRING)->bytes, "main.7"));
    assert_int_equal(attr(model, main, "root", RK_NODE_INT)->value, 2);
    (void)attr(model, main, "entry", RK_NODE_UNIT);
    const rk_op *add = op_at(model, 3, "hlo.add");
    assert_int_equal(add->operand_count, 2);
    assert_int_equal(model->operands.items[add->first_operand],
                     op_at(model, 2, "hlo.parameter")->first_result);
    const rk_op *product = op_at(model, 4, "hlo.dot");
    assert_int_equal(model->operands.items[product->first_operand], add->first_result);
    const rk_node *type = &model->nodes.items[model->values.items[product->first_result].type];
    assert_int_equal(type->kind, RK_NODE_TYPE);
    assert_true(rk_span_is(rk_model_string(model, type->name), "tensor"));
    EXPECT_INTS(type, 4);
    assert_true(rk_span_is(rk_model_string(model, field_at(model, type, 0, NULL)->name), "f32"));
    const rk_node *numbers = attr(model, product, "dot_dimension_numbers", RK_NODE_STRUCT);
    assert_true(rk_span_is(rk_model_string(model, numbers->name), "DotDimensionNumbers"));
    EXPECT_INTS(field_at(model, numbers, 0, "lhs_contracting_dimensions"), 1);
    EXPECT_INTS(field_at(model, numbers, 1, "rhs_contracting_dimensions"), 0);
    rk_model_free(model);
}

static void fixtures_are_read_in_full(void **state) {
    (void)state;
    for (size_t i = 0; i < RK_ARRAY_LEN(FIXTURES); i++) {
        RK_AUTO(rk_buf) code = rk_test_program(FIXTURES[i]);
        rk_model *model = rk_test_read_hlo(rk_buf_span(&code), "hlo", RK_READ_LOCATIONS);
        assert_int_equal(model->opaque_count, 0);
        assert_true(model->ops.count >= 3);
        rk_model_free(model);
    }
}

static void order_and_packing_do_not_matter(void **state) {
    (void)state;
    static const rk_test_rewriting HOW[] = {
        {0, true, false}, {1, false, false}, {0, false, true}, {7, true, true}, {1234, true, true},
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(FIXTURES); i++) {
        RK_AUTO(rk_buf) code = rk_test_program(FIXTURES[i]);
        RK_AUTO(rk_buf) text = rk_test_text_of(rk_buf_span(&code));
        for (size_t h = 0; h < RK_ARRAY_LEN(HOW); h++) {
            RK_AUTO(rk_buf) other = rk_test_rewrite(rk_buf_span(&code), &HOW[h]);
            RK_AUTO(rk_buf) other_text = rk_test_text_of(rk_buf_span(&other));
            assert_string_equal(rk_buf_text(&text), rk_buf_text(&other_text));
        }
    }
}

// A module with two called computations and one uncalled, in an unusual order.
static rk_buf module_of_four(const char *first, const char *second) {
    rk_buf module = {0}, computation = {0}, leaf = rk_test_instruction("parameter", 1);
    rk_test_add_instruction(&computation, &leaf, 0, 0);
    rk_test_add_computation(&module, &computation, "unreachable", 9, 1);
    rk_buf entry = {0}, x = rk_test_instruction("parameter", 1),
           call = rk_test_instruction("call", 2);
    rk_proto_add_varint_field(&call, 38, 5);
    rk_proto_add_varint_field(&call, 38, 6);
    rk_test_add_instruction(&entry, &x, 0, 0);
    rk_test_add_instruction(&entry, &call, 1, 0);
    rk_test_add_computation(&module, &entry, "entry", 4, 2);
    rk_buf outer = {0}, map = rk_test_instruction("map", 1);
    rk_proto_add_varint_field(&map, 38, 6);
    rk_test_add_instruction(&outer, &map, 0, 0);
    rk_test_add_computation(&module, &outer, first, 5, 1);
    rk_buf inner = {0};
    leaf = rk_test_instruction("parameter", 1);
    rk_test_add_instruction(&inner, &leaf, 0, 0);
    rk_test_add_computation(&module, &inner, second, 6, 1);
    rk_proto_add_varint_field(&module, 6, 4);
    return module;
}

static void computations_stand_after_those_they_call(void **state) {
    (void)state;
    static const char *const ORDER[] = {"inner", "outer", "entry", "unreachable"};
    RK_AUTO(rk_buf) module = module_of_four("outer", "inner");
    rk_model *model = rk_test_read_hlo(rk_buf_span(&module), "hlo", 0);
    uint32_t at = 1;
    for (size_t i = 0; i < RK_ARRAY_LEN(ORDER); i++) {
        const rk_op *op = op_at(model, at, "hlo.computation");
        assert_true(rk_span_is(attr(model, op, "sym_name", RK_NODE_STRING)->bytes, ORDER[i]));
        assert_int_equal(has_attr(model, op, "entry"), i == 2);
        at = op->end;
    }
    const rk_op *call = op_at(model, 7, "hlo.call");
    const rk_node *called = attr(model, call, "called_computations", RK_NODE_LIST);
    assert_int_equal(called->field_count, 2);
    assert_int_equal(field_at(model, called, 0, NULL)->kind, RK_NODE_SYMBOL);
    assert_true(rk_span_is(field_at(model, called, 0, NULL)->bytes, "outer"));
    assert_true(rk_span_is(field_at(model, called, 1, NULL)->bytes, "inner"));
    rk_model_free(model);
}

static void names_of_computations_must_differ(void **state) {
    (void)state;
    rk_buf module = module_of_four("same", "same");
    expect_refused(&module, "two computations have the same name");
}

static void names_are_not_part_of_the_meaning(void **state) {
    (void)state;
    RK_AUTO(rk_buf) code = rk_test_program("hlo_cond.hlo");
    RK_AUTO(rk_buf) renamed = {0};
    rk_digest before, after;
    rk_model *model = rk_test_read_hlo(rk_buf_span(&code), "hlo", 0);
    assert_null(rk_fingerprint(model, &before));
    rk_model_free(model);
    // A later field replaces an earlier one with the same number.
    rk_buf_add_span(&renamed, rk_buf_span(&code));
    rk_test_add_text(&renamed, 1, "another name");
    rk_proto_add_varint_field(&renamed, 5, 4711); // id
    rk_proto_add_varint_field(&renamed, 23, 42);  // pjrt_id
    model = rk_test_read_hlo(rk_buf_span(&renamed), "hlo", 0);
    assert_null(rk_fingerprint(model, &after));
    rk_model_free(model);
    assert_memory_equal(&before, &after, sizeof before);
}

// Literals.

static rk_model *read_literal(uint64_t type, uint64_t rows, uint64_t columns, rk_buf *data,
                              rk_buf *out_code) {
    rk_buf more = {0};
    RK_AUTO(rk_buf) literal = {0};
    rk_test_add_shape(&literal, 1, type, rows, columns);
    rk_buf_add_span(&literal, rk_buf_span(data));
    rk_buf_cleanup(data);
    rk_test_add_message(&more, 8, &literal);
    return read_with(&more, out_code);
}

static void expect_elements(rk_model *model, const void *bytes, size_t len) {
    const rk_node *literal = attr(model, &model->ops.items[2], "literal", RK_NODE_ELEMENTS);
    assert_int_equal(literal->bytes.len, len);
    assert_memory_equal(literal->bytes.data, bytes, len);
    assert_int_equal(field_at(model, literal, 0, NULL)->kind, RK_NODE_TYPE);
    rk_model_free(model);
}

static void literals_are_little_endian_bytes(void **state) {
    (void)state;
    static const uint8_t MINUS_TWO_AND_300[] = {0xFE, 0xFF, 0xFF, 0xFF, 0x2C, 0x01, 0, 0};
    static const uint8_t FLOATS[] = {0, 0, 0x80, 0x3F, 0, 0, 0, 0xC0};
    static const uint8_t WORDS[] = {1, 2, 3, 4, 5, 6, 7, 8};
    static const uint8_t BOOLS[] = {1, 0, 1};
    RK_AUTO(rk_buf) code = {0};
    rk_buf data = {0}, packed = {0};
    rk_proto_add_varint(&packed, (uint64_t)-2);
    rk_proto_add_varint(&packed, 300);
    rk_test_add_message(&data, 4, &packed);
    expect_elements(read_literal(4, 2, 0, &data, &code), MINUS_TWO_AND_300, 8);
    rk_buf_cleanup(&code);
    rk_proto_add_varint_field(&data, 4, (uint64_t)-2);
    rk_proto_add_varint_field(&data, 4, 300);
    expect_elements(read_literal(4, 2, 0, &data, &code), MINUS_TWO_AND_300, 8);
    rk_buf_cleanup(&code);
    rk_proto_add_bytes_field(&data, 8, rk_span_of(FLOATS, 8));
    expect_elements(read_literal(11, 2, 0, &data, &code), FLOATS, 8);
    rk_buf_cleanup(&code);
    for (size_t i = 0; i < 2; i++) {
        rk_proto_add_tag(&data, 8, RK_PROTO_FIXED32);
        rk_buf_add(&data, FLOATS + 4 * i, 4);
    }
    expect_elements(read_literal(11, 2, 0, &data, &code), FLOATS, 8);
    rk_buf_cleanup(&code);
    rk_proto_add_bytes_field(&data, 13, rk_span_of(WORDS, 8)); // bf16
    expect_elements(read_literal(16, 2, 2, &data, &code), WORDS, 8);
    rk_buf_cleanup(&code);
    rk_proto_add_bytes_field(&data, 2, rk_span_of(BOOLS, 3));
    expect_elements(read_literal(1, 3, 0, &data, &code), BOOLS, 3);
    rk_buf_cleanup(&code);
    rk_proto_add_bytes_field(&data, 2, rk_span_of("\x80\x01\x00\x05", 4)); // nonzero bytes are true
    expect_elements(read_literal(1, 3, 0, &data, &code), BOOLS, 3);
    rk_buf_cleanup(&packed);
}

static void fixed_width_literals_are_not_copied(void **state) {
    (void)state;
    static const uint8_t FLOATS[8];
    RK_AUTO(rk_buf) code = {0};
    rk_buf data = {0};
    rk_proto_add_bytes_field(&data, 8, rk_span_of(FLOATS, 8));
    rk_model *model = read_literal(11, 2, 0, &data, &code);
    const uint8_t *bytes =
        attr(model, &model->ops.items[2], "literal", RK_NODE_ELEMENTS)->bytes.data;
    assert_true(bytes > code.data && bytes < code.data + code.len);
    rk_model_free(model);
}

static void expect_bad_literal(uint64_t type, uint32_t field, rk_span data, const char *reason) {
    RK_AUTO(rk_buf) more = {0};
    RK_AUTO(rk_buf) literal = {0};
    rk_test_add_shape(&literal, 1, type, 2, 0);
    rk_proto_add_bytes_field(&literal, field, data);
    rk_test_add_message(&more, 8, &literal);
    rk_buf code = rk_test_module_with(&more);
    expect_refused(&code, reason);
}

static void literals_fit_their_shapes(void **state) {
    (void)state;
    static const char MISFIT[] = "a literal does not fit its shape";
    expect_bad_literal(11, 8, rk_span_of("\0\0\0\0\0\0\0\0\0\0\0\0", 12), MISFIT);
    expect_bad_literal(11, 8, rk_span_of("\0\0\0", 3), MISFIT);
    expect_bad_literal(4, 4, rk_span_of("\1\2\3", 3), MISFIT);
    expect_bad_literal(4, 4, rk_span_of("\1", 1), MISFIT);
    expect_bad_literal(4, 4, rk_span_of("\1\x80", 2), MISFIT);
    expect_bad_literal(16, 13, rk_span_of("\1\1\1\1\1", 5), MISFIT);
    expect_bad_literal(4, 6, rk_span_of("\1\2", 2),
                       "a literal has elements of another type than its shape");
}

static void tuple_literals_are_lists(void **state) {
    (void)state;
    static const uint8_t PREDS[] = {1, 0, 1};
    RK_AUTO(rk_buf) code = rk_test_program("hlo_tuple_constant.hlo");
    rk_model *model = rk_test_read_hlo(rk_buf_span(&code), "hlo", 0);
    const rk_node *tuple = attr(model, op_at(model, 2, "hlo.constant"), "literal", RK_NODE_LIST);
    assert_int_equal(tuple->field_count, 2);
    assert_int_equal(field_at(model, tuple, 0, NULL)->kind, RK_NODE_ELEMENTS);
    const rk_node *inner = field_at(model, tuple, 1, NULL);
    assert_int_equal(inner->kind, RK_NODE_LIST);
    const rk_node *preds = field_at(model, inner, 1, NULL);
    assert_int_equal(preds->bytes.len, 3);
    assert_memory_equal(preds->bytes.data, PREDS, 3);
    rk_model_free(model);
}

// Empty and unknown fields.

static void a_replicated_sharding_is_a_sharding(void **state) {
    (void)state;
    RK_AUTO(rk_buf) code = {0};
    RK_AUTO(rk_buf) empty = {0};
    rk_buf more = {0};
    rk_test_add_message(&more, 40, &empty); // sharding: type REPLICATED is 0
    rk_test_add_message(&more, 68, &empty); // frontend_attributes
    rk_proto_add_varint_field(&more, 13, 0);
    rk_model *model = read_with(&more, &code);
    const rk_op *op = &model->ops.items[2];
    assert_int_equal(op->attr_count, 1);
    assert_int_equal(attr(model, op, "sharding", RK_NODE_STRUCT)->field_count, 0);
    rk_model_free(model);
}

static void explicit_presence_is_kept(void **state) {
    (void)state;
    RK_AUTO(rk_buf) code = {0};
    rk_buf more = {0};
    rk_proto_add_varint_field(&more, 80, 0); // optional cross_program_prefetch_index
    rk_model *model = read_with(&more, &code);
    const rk_op *op = &model->ops.items[2];
    assert_int_equal(attr(model, op, "cross_program_prefetch_index", RK_NODE_INT)->value, 0);
    rk_model_free(model);
}

static void frontend_attributes_are_a_dictionary(void **state) {
    (void)state;
    static const char *const ENTRIES[][2] = {{"b", "old"}, {"a", "1"}, {"b", "2"}};
    RK_AUTO(rk_buf) code = {0};
    RK_AUTO(rk_buf) attributes = {0};
    rk_buf more = {0};
    for (size_t i = 0; i < RK_ARRAY_LEN(ENTRIES); i++) {
        RK_AUTO(rk_buf) entry = {0};
        rk_test_add_text(&entry, 2, ENTRIES[i][1]);
        rk_test_add_text(&entry, 1, ENTRIES[i][0]);
        rk_test_add_message(&attributes, 1, &entry);
    }
    rk_test_add_message(&more, 68, &attributes);
    rk_model *model = read_with(&more, &code);
    const rk_node *map = attr(model, &model->ops.items[2], "frontend_attributes", RK_NODE_DICT);
    assert_int_equal(map->field_count, 2);
    assert_true(rk_span_is(field_at(model, map, 0, "a")->bytes, "1"));
    assert_true(rk_span_is(field_at(model, map, 1, "b")->bytes, "2")); // the last value counts
    rk_model_free(model);
}

static void unknown_things_are_kept_and_counted(void **state) {
    (void)state;
    RK_AUTO(rk_buf) code = {0};
    rk_buf more = {0};
    rk_proto_add_varint_field(&more, 31, 99); // fft_type
    rk_test_add_text(&more, 4000, "new");
    rk_test_add_text(&more, 4000, "newer");
    rk_model *model = read_with(&more, &code);
    assert_int_equal(model->opaque_count, 2);
    const rk_op *op = &model->ops.items[2];
    assert_true(rk_span_is(attr(model, op, "fft_type", RK_NODE_ENUM)->bytes, "99"));
    const rk_node *unknown = attr(model, op, "unknown_4000", RK_NODE_OPAQUE);
    assert_int_equal(unknown->bytes.len, (3 + 1 + 3) + (3 + 1 + 5));
    rk_model_free(model);
}

static rk_model *read_with_metadata(const rk_buf *metadata, rk_buf *out_code) {
    rk_buf more = {0};
    rk_test_add_message(&more, 7, metadata);
    rk_test_add_text(&more, 82, "\xFF\xFF"); // statistics_viz: not even protobuf
    return read_with(&more, out_code);
}

static void where_an_instruction_comes_from_is_no_attribute(void **state) {
    (void)state;
    static const uint32_t TEXTS[] = {1, 2, 3, 12}, NUMBERS[] = {4, 15, 17, 18, 19};
    RK_AUTO(rk_buf) code = {0};
    RK_AUTO(rk_buf) metadata = {0};
    for (size_t i = 0; i < RK_ARRAY_LEN(TEXTS); i++)
        rk_test_add_text(&metadata, TEXTS[i], "somewhere");
    for (size_t i = 0; i < RK_ARRAY_LEN(NUMBERS); i++)
        rk_proto_add_varint_field(&metadata, NUMBERS[i], 5);
    rk_model *model = read_with_metadata(&metadata, &code);
    assert_int_equal(model->opaque_count, 0);
    assert_int_equal(model->ops.items[2].attr_count, 0);
    rk_model_free(model);
}

// Profile fields may affect the compiler. A field number without a definition may mean anything: 13
// was once "preserve_layout", which changed code.
static void other_metadata_is_kept(void **state) {
    (void)state;
    RK_AUTO(rk_buf) code = {0};
    RK_AUTO(rk_buf) metadata = {0};
    rk_test_add_text(&metadata, 2, "jit(f)/add");
    rk_proto_add_varint_field(&metadata, 5, 1); // profile_type
    rk_model *model = read_with_metadata(&metadata, &code);
    assert_int_equal(model->opaque_count, 0);
    const rk_node *kept = attr(model, &model->ops.items[2], "metadata", RK_NODE_STRUCT);
    assert_int_equal(kept->field_count, 1);
    rk_model_free(model);
    rk_buf_cleanup(&code);
    rk_proto_add_varint_field(&metadata, 13, 1);
    model = read_with_metadata(&metadata, &code);
    assert_int_equal(model->opaque_count, 1);
    kept = attr(model, &model->ops.items[2], "metadata", RK_NODE_STRUCT);
    assert_int_equal(kept->field_count, 2);
    rk_model_free(model);
}

static void wrong_encodings_are_refused(void **state) {
    (void)state;
    RK_AUTO(rk_buf) more = {0};
    rk_test_add_text(&more, 9, "x"); // parameter_number
    rk_buf code = rk_test_module_with(&more);
    expect_refused(&code, "a field is not encoded as its definition says");
    rk_buf_clear(&more);
    rk_proto_add_varint_field(&more, 2, 5); // opcode
    code = rk_test_module_with(&more);
    expect_refused(&code, "a field is not encoded as its definition says");
    rk_buf_clear(&more);
    rk_test_add_text(&more, 15, ""); // window
    rk_test_add_text(&more, 15, "");
    code = rk_test_module_with(&more);
    expect_refused(&code, "a singular message field occurs twice");
    rk_buf_clear(&more);
    rk_test_add_text(&more, 7, ""); // metadata
    rk_test_add_text(&more, 7, "");
    code = rk_test_module_with(&more);
    expect_refused(&code, "an instruction has no shape, or a singular field twice");
    rk_buf_clear(&more);
    rk_test_add_text(&more, 14, "\x80");
    code = rk_test_module_with(&more);
    expect_refused(&code, "packed numbers are damaged");
}

// Ids.

static rk_buf module_of_two(uint64_t first_id, uint64_t second_id, uint64_t operand,
                            uint64_t root) {
    rk_buf module = {0}, computation = {0};
    rk_buf first = rk_test_instruction("negate", first_id);
    rk_buf second = rk_test_instruction("parameter", second_id);
    rk_test_add_instruction(&computation, &first, operand, 0);
    rk_test_add_instruction(&computation, &second, 0, 0);
    rk_test_add_computation(&module, &computation, "main", 1, root);
    rk_proto_add_varint_field(&module, 6, 1);
    return module;
}

static void ids_are_any_numbers(void **state) {
    (void)state;
    static const uint64_t IDS[][2] = {
        {1, 2},
        {2, 1},
        {UINT64_MAX, 5},
        {5, UINT64_MAX},
        {(uint64_t)INT64_MAX, 1ull << 63},
        {1ull << 63, (uint64_t)INT64_MAX},
        {7ull << 32, 7ull << 32 | 1000000},
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(IDS); i++) {
        // The operand comes after the instruction that uses it.
        RK_AUTO(rk_buf) code = module_of_two(IDS[i][0], IDS[i][1], IDS[i][1], IDS[i][0]);
        rk_model *model = rk_test_read_hlo(rk_buf_span(&code), "hlo", 0);
        const rk_op *op = op_at(model, 2, "hlo.negate");
        assert_int_equal(model->operands.items[op->first_operand], op->first_result + 1);
        assert_int_equal(attr(model, &model->ops.items[1], "root", RK_NODE_INT)->value, 0);
        rk_model_free(model);
    }
}

static void ids_must_lead_somewhere(void **state) {
    (void)state;
    static const char NOWHERE[] = "a reference to an instruction outside its computation";
    static const char TWICE[] = "two instructions of one computation have the same id";
    rk_buf code = module_of_two(1, 2, 3, 1);
    expect_refused(&code, NOWHERE);
    code = module_of_two(1, 1ull << 40, 3, 1);
    expect_refused(&code, NOWHERE);
    code = module_of_two(1, 2, 2, 9);
    expect_refused(&code, NOWHERE);
    code = module_of_two(4, 4, 4, 4);
    expect_refused(&code, TWICE);
    code = module_of_two(1, 2, 2, 1);
    rk_proto_add_varint_field(&code, 6, 77);
    expect_refused(&code, "a reference to an unknown computation");
    RK_AUTO(rk_buf) more = {0};
    rk_proto_add_varint_field(&more, 38, 77);
    code = rk_test_module_with(&more);
    expect_refused(&code, "a reference to an unknown computation");
}

static void schedules_belong_to_computations(void **state) {
    (void)state;
    RK_AUTO(rk_buf) code = module_of_two(11, 12, 12, 11);
    RK_AUTO(rk_buf) schedule = {0};
    RK_AUTO(rk_buf) entry = {0};
    RK_AUTO(rk_buf) sequence = {0};
    rk_proto_add_varint_field(&sequence, 1, 12);
    rk_proto_add_varint_field(&sequence, 1, 11);
    rk_proto_add_varint_field(&entry, 1, 1);
    rk_test_add_message(&entry, 2, &sequence);
    rk_test_add_message(&schedule, 1, &entry);
    rk_test_add_message(&code, 7, &schedule);
    rk_model *model = rk_test_read_hlo(rk_buf_span(&code), "hlo", 0);
    (void)attr(model, &model->ops.items[0], "schedule", RK_NODE_UNIT);
    EXPECT_INTS(attr(model, &model->ops.items[1], "schedule", RK_NODE_INTS), 1, 0);
    rk_model_free(model);
}

static void control_predecessors_are_ordinals(void **state) {
    (void)state;
    RK_AUTO(rk_buf) code = rk_test_program("hlo_custom_call.hlo");
    rk_model *model = rk_test_read_hlo(rk_buf_span(&code), "hlo", 0);
    const rk_op *copy = op_at(model, model->ops.count - 1, "hlo.copy");
    EXPECT_INTS(attr(model, copy, "control_predecessors", RK_NODE_INTS), 1);
    rk_model_free(model);
}

static void dynamic_dimensions_keep_their_bounds(void **state) {
    (void)state;
    RK_AUTO(rk_buf) code = rk_test_program("hlo_dynamic.hlo");
    rk_model *model = rk_test_read_hlo(rk_buf_span(&code), "hlo", 0);
    const rk_op *op = op_at(model, 4, "hlo.set-dimension-size");
    const rk_node *type = &model->nodes.items[model->values.items[op->first_result].type];
    EXPECT_INTS(type, 8, 4);
    EXPECT_INTS(field_at(model, type, type->field_count - 1, "dynamic_dimensions"), 0);
    rk_model_free(model);
}

static void configurations_are_read_too(void **state) {
    (void)state;
    RK_AUTO(rk_buf) empty = {0};
    RK_AUTO(rk_buf) module = rk_test_module_with(&empty);
    RK_AUTO(rk_buf) pair = {0};
    RK_AUTO(rk_buf) config = {0};
    RK_AUTO(rk_buf) debug_options = {0};
    rk_proto_add_varint_field(&debug_options, 122, 0); // optional xla_allow_excess_precision
    rk_proto_add_varint_field(&config, 4, 2);
    rk_test_add_message(&config, 14, &debug_options);
    rk_test_add_message(&pair, 2, &config);
    char *reason = NULL;
    rk_model *model = NULL;
    assert_null(
        rk_model_read(rk_buf_span(&pair), rk_span_text("hlo_with_config"), 0, &model, &reason));
    assert_null(model);
    assert_string_equal(reason, "expected exactly one module and at most one configuration");
    rk_free(reason);
    rk_test_add_message(&pair, 1, &module);
    model = rk_test_read_hlo(rk_buf_span(&pair), "hlo_with_config", 0);
    const rk_node *read = attr(model, &model->ops.items[0], "config", RK_NODE_STRUCT);
    assert_int_equal(field_at(model, read, 0, "replica_count")->value, 2);
    const rk_node *options = field_at(model, read, 1, "debug_options");
    assert_int_equal(field_at(model, options, 0, "xla_allow_excess_precision")->value, 0);
    rk_model_free(model);
}

// Locations.

static void add_frame(rk_buf *index, uint64_t place, uint64_t parent) {
    RK_AUTO(rk_buf) frame = {0};
    rk_proto_add_varint_field(&frame, 1, place);
    rk_proto_add_varint_field(&frame, 2, parent);
    rk_test_add_message(index, 4, &frame);
}

static void add_place(rk_buf *index, uint64_t function, uint64_t line) {
    RK_AUTO(rk_buf) place = {0};
    rk_proto_add_varint_field(&place, 1, 1);
    rk_proto_add_varint_field(&place, 2, function);
    rk_proto_add_varint_field(&place, 3, line);
    rk_proto_add_varint_field(&place, 4, 5);
    rk_test_add_message(index, 3, &place);
}

// A module whose instruction has stack frame `frame_id`. Frames 3 and 4 are each other's parents.
static rk_buf module_at(uint64_t frame_id) {
    RK_AUTO(rk_buf) metadata = {0};
    RK_AUTO(rk_buf) more = {0};
    RK_AUTO(rk_buf) index = {0};
    rk_test_add_text(&metadata, 2, "jit(f)/add");
    rk_proto_add_varint_field(&metadata, 15, frame_id);
    rk_test_add_message(&more, 7, &metadata);
    rk_buf module = rk_test_module_with(&more);
    rk_test_add_text(&index, 1, "train.py");
    rk_test_add_text(&index, 2, "main");
    rk_test_add_text(&index, 2, "step");
    add_place(&index, 1, 10);
    add_place(&index, 2, 20);
    add_frame(&index, 1, 0);
    add_frame(&index, 2, 1);
    add_frame(&index, 1, 4);
    add_frame(&index, 2, 3);
    rk_test_add_message(&module, 17, &index);
    return module;
}

static void locations_are_stack_frames(void **state) {
    (void)state;
    RK_AUTO(rk_buf) code = module_at(2);
    rk_model *model = rk_test_read_hlo(rk_buf_span(&code), "hlo", 0);
    assert_true(model->ops.items[2].location == RK_NO_ID);
    rk_model_free(model);
    model = rk_test_read_hlo(rk_buf_span(&code), "hlo", RK_READ_LOCATIONS);
    const rk_node *op_name = &model->nodes.items[model->ops.items[2].location];
    assert_int_equal(op_name->kind, RK_NODE_LOC_NAME);
    assert_true(rk_span_is(op_name->bytes, "jit(f)/add"));
    const rk_node *call = field_at(model, op_name, 0, NULL);
    assert_int_equal(call->kind, RK_NODE_LOC_CALL);
    const rk_node *callee = field_at(model, call, 0, NULL);
    assert_true(rk_span_is(callee->bytes, "step"));
    const rk_node *file = field_at(model, callee, 0, NULL);
    assert_int_equal(file->kind, RK_NODE_LOC_FILE);
    assert_true(rk_span_is(file->bytes, "train.py"));
    assert_int_equal(file->value, (uint64_t)20 << 32 | 5);
    assert_true(rk_span_is(field_at(model, call, 1, NULL)->bytes, "main"));
    rk_model_free(model);
}

static void damaged_locations_do_no_harm(void **state) {
    (void)state;
    static const uint64_t FRAMES[] = {0, 3, 4, 5, UINT64_MAX};
    for (size_t i = 0; i < RK_ARRAY_LEN(FRAMES); i++) {
        RK_AUTO(rk_buf) code = module_at(FRAMES[i]);
        rk_model *model = rk_test_read_hlo(rk_buf_span(&code), "hlo", RK_READ_LOCATIONS);
        assert_int_equal(model->opaque_count, 0);
        rk_model_free(model);
    }
}

static void older_locations_are_in_the_instruction(void **state) {
    (void)state;
    RK_AUTO(rk_buf) metadata = {0};
    RK_AUTO(rk_buf) more = {0};
    rk_test_add_text(&metadata, 3, "model.py");
    rk_proto_add_varint_field(&metadata, 4, 12);
    rk_test_add_message(&more, 7, &metadata);
    RK_AUTO(rk_buf) code = rk_test_module_with(&more);
    rk_model *model = rk_test_read_hlo(rk_buf_span(&code), "hlo", RK_READ_LOCATIONS);
    const rk_node *file = &model->nodes.items[model->ops.items[2].location];
    assert_int_equal(file->kind, RK_NODE_LOC_FILE);
    assert_int_equal(file->value, (uint64_t)12 << 32);
    rk_model_free(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instructions_have_operands_types_and_attributes),
        cmocka_unit_test(fixtures_are_read_in_full),
        cmocka_unit_test(order_and_packing_do_not_matter),
        cmocka_unit_test(computations_stand_after_those_they_call),
        cmocka_unit_test(names_of_computations_must_differ),
        cmocka_unit_test(names_are_not_part_of_the_meaning),
        cmocka_unit_test(literals_are_little_endian_bytes),
        cmocka_unit_test(fixed_width_literals_are_not_copied),
        cmocka_unit_test(literals_fit_their_shapes),
        cmocka_unit_test(tuple_literals_are_lists),
        cmocka_unit_test(a_replicated_sharding_is_a_sharding),
        cmocka_unit_test(explicit_presence_is_kept),
        cmocka_unit_test(frontend_attributes_are_a_dictionary),
        cmocka_unit_test(unknown_things_are_kept_and_counted),
        cmocka_unit_test(where_an_instruction_comes_from_is_no_attribute),
        cmocka_unit_test(other_metadata_is_kept),
        cmocka_unit_test(wrong_encodings_are_refused),
        cmocka_unit_test(ids_are_any_numbers),
        cmocka_unit_test(ids_must_lead_somewhere),
        cmocka_unit_test(schedules_belong_to_computations),
        cmocka_unit_test(control_predecessors_are_ordinals),
        cmocka_unit_test(dynamic_dimensions_keep_their_bounds),
        cmocka_unit_test(configurations_are_read_too),
        cmocka_unit_test(locations_are_stack_frames),
        cmocka_unit_test(damaged_locations_do_no_harm),
        cmocka_unit_test(older_locations_are_in_the_instruction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
