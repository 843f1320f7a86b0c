// Hand-made bytecode in forms that no framework writes or that could do harm.
#include "test_read_bytecode_maker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/alloc.h"

enum { // codes of attributes and types
    ARRAY = 0,
    DICTIONARY = 1,
    STRING = 2,
    UNIT = 7,
    INTEGER = 8,
    NAME_LOC = 14,
    UNKNOWN_LOC = 15,
    DENSE_RESOURCE = 16,
    AFFINE_MAP = 23,
    T_INTEGER = 0,
    T_F32 = 5,
    T_TENSOR = 13,
    VHLO_TENSOR = 15,
    T_VHLO_I64 = 14,
    T_VHLO_TENSOR = 20,
};

typedef struct made {
    rk_buf file;
    rk_model *model;
    char *reason;
} made;

static void made_cleanup(made *m) {
    rk_model_free(m->model);
    rk_buf_cleanup(&m->file);
    rk_free(m->reason);
}

static made finish(maker *m, unsigned ops, unsigned values, unsigned flags) {
    made result = {.file = make_file(m, ops, values)};
    result.model = read_made(&result.file, flags, &result.reason);
    return result;
}

static void assert_refused(const made *m, const char *why) {
    assert_null(m->model);
    if (!m->reason || !strstr(m->reason, why))
        fail_msg("\"%s\" instead of \"%s\"", m->reason ? m->reason : "", why);
}

static void assert_read(const made *m) {
    if (!m->model)
        fail_msg("%s", m->reason);
}

// An operation with the attributes {some text = `value`}. Existing attributes stay.
static void make_op_with(maker *m, unsigned value) {
    unsigned key = make_attr(m, DIALECT_BUILTIN, STRING, STRING_TEXT, END);
    unsigned dictionary = make_attr(m, DIALECT_BUILTIN, DICTIONARY, 1, (int)key, (int)value, END);
    make_op(m, OP_OTHER, ATTRS);
    add_varint(&m->ir, dictionary);
}

// The node of that attribute in the first operation of the module.
static const rk_node *value_of(const made *m) {
    assert_read(m);
    uint32_t id = rk_model_attr(m->model, &m->model->ops.items[1], "some text");
    assert_int_not_equal(id, RK_NO_ID);
    return &m->model->nodes.items[id];
}

static void cycles_are_refused(void **state) {
    (void)state;
    maker m = {0};
    (void)make_attr(&m, DIALECT_BUILTIN, UNKNOWN_LOC, END);
    (void)make_attr(&m, DIALECT_BUILTIN, ARRAY, 1, 2, END);
    (void)make_attr(&m, DIALECT_BUILTIN, ARRAY, 2, 1, 1, END);
    make_op_with(&m, 1);
    RK_AUTO(made) result = finish(&m, 1, 0, 0);
    assert_refused(&result, "contains itself");
}

static made nested_arrays(unsigned depth) {
    maker m = {0};
    (void)make_attr(&m, DIALECT_BUILTIN, UNKNOWN_LOC, END);
    for (unsigned i = 1; i < depth; i++)
        (void)make_attr(&m, DIALECT_BUILTIN, ARRAY, 1, (int)i + 1, END);
    (void)make_attr(&m, DIALECT_BUILTIN, UNIT, END);
    make_op_with(&m, 1);
    return finish(&m, 1, 0, 0);
}

static void depth_of_attributes(void **state) {
    (void)state;
    RK_AUTO(made) deep = nested_arrays(500);
    assert_read(&deep);
    RK_AUTO(made) too_deep = nested_arrays(600);
    assert_refused(&too_deep, "nested too deeply");
}

// Locations may be nested as deeply as the bytes allow, because stacks of Python frames are deep.
static void depth_of_locations(void **state) {
    enum { FRAMES = 20000 };
    (void)state;
    maker m = {0};
    for (int i = 0; i < FRAMES; i++)
        (void)make_attr(&m, DIALECT_BUILTIN, NAME_LOC, FRAMES + 1, i + 1, END);
    (void)make_attr(&m, DIALECT_BUILTIN, UNKNOWN_LOC, END);
    (void)make_attr(&m, DIALECT_BUILTIN, STRING, STRING_TEXT, END);
    make_op(&m, OP_OTHER, 0);
    RK_AUTO(made) result = finish(&m, 1, 0, RK_READ_LOCATIONS);
    assert_read(&result);
    const rk_model *model = result.model;
    const rk_node *node = &model->nodes.items[model->ops.items[1].location];
    unsigned frames = 0;
    for (; node->kind == RK_NODE_LOC_NAME; frames++)
        node = &model->nodes.items[model->fields.items[node->first_field].node];
    assert_int_equal(frames, FRAMES);
}

static made nested_ops(unsigned depth) {
    maker m = {0};
    for (unsigned i = 1; i < depth; i++) {
        make_op(&m, OP_OTHER, REGIONS);
        add_flagged(&m.ir, 1, false); // regions
        add_varint(&m.ir, 1);         // blocks
        add_varint(&m.ir, 0);         // values
        add_flagged(&m.ir, 1, false); // operations
    }
    make_op(&m, OP_OTHER, 0);
    return finish(&m, 1, 0, 0);
}

static void depth_of_operations(void **state) {
    (void)state;
    RK_AUTO(made) deep = nested_ops(500);
    assert_read(&deep);
    assert_int_equal(deep.model->ops.count, 501);
    RK_AUTO(made) too_deep = nested_ops(600);
    assert_refused(&too_deep, "nested too deeply");
}

// Two operations with one result each. The first uses value number `operand`.
static made two_ops(unsigned operand, unsigned values) {
    maker m = {0};
    (void)make_type(&m, DIALECT_BUILTIN, T_F32, END);
    make_op(&m, OP_OTHER, RESULTS | OPERANDS);
    add_varint(&m.ir, 1);
    add_varint(&m.ir, 0);
    add_varint(&m.ir, 1);
    add_varint(&m.ir, operand);
    make_op(&m, OP_OTHER, RESULTS);
    add_varint(&m.ir, 1);
    add_varint(&m.ir, 0);
    return finish(&m, 2, values, 0);
}

static void values(void **state) {
    (void)state;
    RK_AUTO(made) forward = two_ops(1, 2);
    assert_read(&forward);
    const rk_model *model = forward.model;
    assert_int_equal(model->operands.items[model->ops.items[1].first_operand],
                     model->ops.items[2].first_result);
    RK_AUTO(made) none = two_ops(2, 2);
    assert_refused(&none, "an undefined operand");
    RK_AUTO(made) more = two_ops(0, 1);
    assert_refused(&more, "more values than declared");
    RK_AUTO(made) fewer = two_ops(0, 3);
    assert_refused(&fewer, "fewer values than declared");
}

static void sections(void **state) {
    (void)state;
    static const uint8_t string_section[] = {0, 3, 1}; // id, length 1, no strings
    maker m = {0};
    rk_autofree char *reason = NULL;
    RK_AUTO(rk_buf) file = make_file(&m, 0, 0);
    rk_buf_add(&file, string_section, sizeof string_section);
    assert_null(read_made(&file, 0, &reason));
    assert_non_null(strstr(reason, "occurs twice"));
    file.data[file.len - sizeof string_section] = 9;
    rk_free(RK_TAKE(reason));
    assert_null(read_made(&file, 0, &reason));
    assert_non_null(strstr(reason, "unknown kind"));
}

static made with_text(unsigned dialect, const char *text, size_t len) {
    maker m = {0};
    (void)make_attr(&m, DIALECT_BUILTIN, UNKNOWN_LOC, END);
    make_op_with(&m, make_attr_bytes(&m, dialect, false, rk_span_of(text, len)));
    return finish(&m, 1, 0, 0);
}

// Text with the same meaning in every program counts as understood.
static void text(void **state) {
    (void)state;
    RK_AUTO(made) faithful = with_text(DIALECT_OTHER, "#other.thing<3>", 16);
    assert_int_equal(value_of(&faithful)->kind, RK_NODE_OPAQUE);
    assert_true(rk_span_is(value_of(&faithful)->bytes, "#other.thing<3>"));
    assert_int_equal(faithful.model->opaque_count, 0);
    RK_AUTO(made) numbered = with_text(DIALECT_OTHER, "distinct[0]<unit>", 18);
    assert_int_equal(value_of(&numbered)->kind, RK_NODE_OPAQUE);
    assert_int_equal(numbered.model->opaque_count, 1);
    RK_AUTO(made) endless = with_text(DIALECT_OTHER, "#other", 6);
    assert_int_equal(value_of(&endless)->kind, RK_NODE_OPAQUE);
    assert_int_equal(endless.model->opaque_count, 1);
}

// An unknown encoding is kept as bytes and counted.
static void unknown_encodings(void **state) {
    (void)state;
    maker m = {0};
    (void)make_attr(&m, DIALECT_BUILTIN, UNKNOWN_LOC, END);
    make_op_with(&m, make_attr(&m, DIALECT_VHLO, 60, 5, END)); // an unknown code
    RK_AUTO(made) code = finish(&m, 1, 0, 0);
    assert_int_equal(value_of(&code)->kind, RK_NODE_OPAQUE);
    assert_int_equal(value_of(&code)->bytes.len, 2);
    assert_int_equal(code.model->opaque_count, 1);
    (void)make_attr(&m, DIALECT_BUILTIN, UNKNOWN_LOC, END);
    make_op_with(&m, make_attr(&m, DIALECT_OTHER, 1, 2, 3, END));
    RK_AUTO(made) dialect = finish(&m, 1, 0, 0);
    assert_true(rk_span_is(rk_model_string(dialect.model, value_of(&dialect)->name), "other"));
    assert_int_equal(dialect.model->opaque_count, 1);
    (void)make_attr(&m, DIALECT_BUILTIN, UNKNOWN_LOC, END);
    make_op_with(&m, make_attr(&m, DIALECT_BUILTIN, STRING, STRING_TEXT, 1, END)); // too long
    RK_AUTO(made) longer = finish(&m, 1, 0, 0);
    assert_int_equal(value_of(&longer)->kind, RK_NODE_OPAQUE);
    assert_int_equal(longer.model->opaque_count, 1);
}

static made with_resource(unsigned handle) {
    maker m = {0};
    rk_buf *offsets = &m.resource_offsets;
    (void)make_attr(&m, DIALECT_BUILTIN, UNKNOWN_LOC, END);
    (void)make_type(&m, DIALECT_BUILTIN, T_F32, END);
    (void)make_type(&m, DIALECT_BUILTIN, T_TENSOR, 0, 0, END);
    add_varint(offsets, 0); // external resources
    add_varint(offsets, DIALECT_BUILTIN);
    add_varint(offsets, 1);
    add_varint(offsets, STRING_TEXT);
    add_varint(offsets, 6);
    rk_buf_add_byte(offsets, 0); // a blob
    add_varint(&m.resources, 1); // its alignment
    add_varint(&m.resources, 4);
    rk_buf_add(&m.resources, "\1\2\3\4", 4);
    make_op_with(&m, make_attr(&m, DIALECT_BUILTIN, DENSE_RESOURCE, 1, (int)handle, END));
    return finish(&m, 1, 0, 0);
}

static void resources(void **state) {
    (void)state;
    RK_AUTO(made) there = with_resource(0);
    assert_int_equal(value_of(&there)->kind, RK_NODE_ELEMENTS);
    assert_true(rk_span_is(value_of(&there)->bytes, "\1\2\3\4"));
    assert_int_equal(there.model->opaque_count, 0);
    RK_AUTO(made) missing = with_resource(1);
    assert_int_equal(value_of(&missing)->kind, RK_NODE_OPAQUE);
    assert_int_equal(missing.model->opaque_count, 1);
}

// The order of uses in memory does not belong to the program.
static void use_lists(void **state) {
    (void)state;
    maker m = {0};
    (void)make_type(&m, DIALECT_BUILTIN, T_F32, END);
    make_op(&m, OP_OTHER, RESULTS | USE_LISTS);
    add_varint(&m.ir, 2);
    add_varint(&m.ir, 0);
    add_varint(&m.ir, 0);
    add_varint(&m.ir, 1); // one list, for value 1, with the numbers 1 and 0
    add_varint(&m.ir, 1);
    add_flagged(&m.ir, 2, false);
    add_varint(&m.ir, 1);
    add_varint(&m.ir, 0);
    make_op(&m, OP_OTHER, OPERANDS);
    add_varint(&m.ir, 1);
    add_varint(&m.ir, 1);
    RK_AUTO(made) result = finish(&m, 2, 2, 0);
    assert_read(&result);
    assert_int_equal(result.model->ops.count, 3);
    assert_int_equal(result.model->operands.count, 1);
}

// A VHLO constant, <`count` x i64>, all 7: as the value of a constant, and three times as a list of
// dimensions. With `extra`, the operation has one property too many.
static made with_dimensions(int count, int extra) {
    maker m = {0};
    RK_AUTO(rk_buf) bytes = {0};
    (void)make_attr(&m, DIALECT_BUILTIN, UNKNOWN_LOC, END);
    (void)make_type(&m, DIALECT_VHLO, T_VHLO_I64, END);
    (void)make_type(&m, DIALECT_VHLO, T_VHLO_TENSOR, 1, 2 * count, 0, END);
    add_varint(&bytes, VHLO_TENSOR);
    add_varint(&bytes, 1);
    add_varint(&bytes, 8);
    rk_buf_add_u64le(&bytes, 7);
    int tensor = (int)make_attr_bytes(&m, DIALECT_VHLO, true, rk_buf_span(&bytes));
    unsigned value = make_properties(&m, tensor, END);
    unsigned pad = extra ? make_properties(&m, tensor, tensor, tensor, tensor, END)
                         : make_properties(&m, tensor, tensor, tensor, END);
    make_op(&m, OP_CONSTANT, PROPERTIES);
    add_varint(&m.ir, value);
    make_op(&m, OP_PAD, PROPERTIES);
    add_varint(&m.ir, pad);
    return finish(&m, 2, 0, 0);
}

static const rk_node *attr_of(const made *m, uint32_t op, const char *name) {
    uint32_t id = rk_model_attr(m->model, &m->model->ops.items[op], name);
    return id == RK_NO_ID ? NULL : &m->model->nodes.items[id];
}

static void dimensions(void **state) {
    (void)state;
    static const int64_t sevens[] = {7, 7, 7};
    RK_AUTO(made) three = with_dimensions(3, 0);
    assert_read(&three);
    assert_int_equal(attr_of(&three, 1, "value")->kind, RK_NODE_ELEMENTS);
    assert_int_equal(attr_of(&three, 1, "value")->bytes.len, 8);
    const rk_node *low = attr_of(&three, 2, "edge_padding_low");
    assert_int_equal(low->kind, RK_NODE_INTS);
    assert_true(rk_span_equal(low->bytes, rk_span_of(sevens, sizeof sevens)));
    assert_ptr_equal(low, attr_of(&three, 2, "interior_padding")); // made once
    assert_int_equal(three.model->opaque_count, 0);
    // A list of a length that no program has is not converted.
    RK_AUTO(made) million = with_dimensions(1000000, 0);
    assert_read(&million);
    assert_int_equal(attr_of(&million, 2, "edge_padding_low")->kind, RK_NODE_ELEMENTS);
    RK_AUTO(made) extra = with_dimensions(3, 1);
    assert_read(&extra);
    assert_null(attr_of(&extra, 2, "edge_padding_low"));
    assert_int_equal(attr_of(&extra, 2, "properties")->kind, RK_NODE_OPAQUE);
    assert_int_equal(extra.model->opaque_count, 1);
}

// Operations that were unregistered at their writer store their properties in a dictionary.
static void unregistered(void **state) {
    (void)state;
    maker m = {0};
    (void)make_attr(&m, DIALECT_BUILTIN, UNKNOWN_LOC, END);
    int key = (int)make_attr(&m, DIALECT_BUILTIN, STRING, STRING_TEXT, END);
    int unit = (int)make_attr(&m, DIALECT_BUILTIN, UNIT, END);
    int dictionary = (int)make_attr(&m, DIALECT_BUILTIN, DICTIONARY, 1, key, unit, END);
    make_op(&m, OP_OTHER, PROPERTIES);
    add_varint(&m.ir, make_properties(&m, dictionary, END));
    RK_AUTO(made) result = finish(&m, 1, 0, 0);
    assert_int_equal(value_of(&result)->kind, RK_NODE_UNIT);
    assert_true(
        rk_span_is(rk_model_string(result.model, result.model->ops.items[1].name), "other.op"));
    make_op(&m, OP_OTHER, PROPERTIES);
    add_varint(&m.ir, make_properties(&m, 0, END)); // a location
    RK_AUTO(made) no_dictionary = finish(&m, 1, 0, 0);
    assert_refused(&no_dictionary, "not a dictionary");
}

// Many operations share one long dictionary. It is not copied or scanned per operation.
static void shared_dictionary(void **state) {
    enum { ENTRIES = 5000, OPS = 5000 };
    (void)state;
    maker m = {0};
    RK_AUTO(rk_buf) bytes = {0};
    (void)make_attr(&m, DIALECT_BUILTIN, UNKNOWN_LOC, END);
    unsigned key = make_attr(&m, DIALECT_BUILTIN, STRING, STRING_TEXT, END);
    unsigned unit = make_attr(&m, DIALECT_BUILTIN, UNIT, END);
    add_varint(&bytes, DICTIONARY);
    add_varint(&bytes, ENTRIES);
    for (int i = 0; i < ENTRIES; i++) {
        add_varint(&bytes, key);
        add_varint(&bytes, unit);
    }
    unsigned dictionary = make_attr_bytes(&m, DIALECT_BUILTIN, true, rk_buf_span(&bytes));
    unsigned properties = make_properties(&m, (int)unit, END);
    for (int i = 0; i < OPS; i++) {
        make_op(&m, OP_CONSTANT, ATTRS | PROPERTIES);
        add_varint(&m.ir, dictionary);
        add_varint(&m.ir, properties);
    }
    RK_AUTO(made) result = finish(&m, OPS, 0, 0);
    assert_read(&result);
    assert_int_equal(result.model->ops.items[OPS].attr_count, ENTRIES + 1);
    assert_in_range(result.model->fields.count, 2 * ENTRIES, 3 * ENTRIES);
}

static void affine_maps(void **state) {
    enum { GENERAL = 2 << 2 | 3, DIM = 0, SYMBOL = 1, NUMBER = 2, ADD = 3, MUL = 4 };
    (void)state;
    maker m = {0};
    (void)make_attr(&m, DIALECT_BUILTIN, UNKNOWN_LOC, END);
    make_op_with(&m, make_attr(&m, DIALECT_BUILTIN, AFFINE_MAP, GENERAL, 1, 2, ADD, MUL, DIM, 0,
                               NUMBER, 8, SYMBOL, 0, DIM, 1, END));
    RK_AUTO(made) good = finish(&m, 1, 0, 0);
    assert_true(
        rk_span_is(value_of(&good)->bytes, "affine_map<(d0, d1)[s0] -> (((d0 * 4) + s0), d1)>"));
    assert_int_equal(good.model->opaque_count, 0);
    RK_AUTO(rk_buf) deep = {0};
    add_varint(&deep, AFFINE_MAP);
    add_varint(&deep, GENERAL);
    add_varint(&deep, 0);
    add_varint(&deep, 1);
    for (int i = 0; i < 1000; i++)
        add_varint(&deep, ADD);
    (void)make_attr(&m, DIALECT_BUILTIN, UNKNOWN_LOC, END);
    make_op_with(&m, make_attr_bytes(&m, DIALECT_BUILTIN, true, rk_buf_span(&deep)));
    RK_AUTO(made) bad = finish(&m, 1, 0, 0);
    assert_int_equal(value_of(&bad)->kind, RK_NODE_OPAQUE);
    assert_int_equal(bad.model->opaque_count, 1);
}

static void integers(void **state) {
    (void)state;
    maker m = {0};
    (void)make_attr(&m, DIALECT_BUILTIN, UNKNOWN_LOC, END);
    (void)make_type(&m, DIALECT_BUILTIN, T_INTEGER, 128 << 2, END);
    make_op_with(&m, make_attr(&m, DIALECT_BUILTIN, INTEGER, 0, 2, 6, 1, END)); // words 3 and -1
    RK_AUTO(made) wide = finish(&m, 1, 0, 0);
    const rk_node *node = value_of(&wide);
    assert_int_equal(node->kind, RK_NODE_INT);
    assert_int_equal(node->width, 128);
    assert_int_equal(node->bytes.len, 16);
    assert_int_equal(node->bytes.data[0], 3);
    assert_int_equal(node->bytes.data[15], 0xFF);
    (void)make_attr(&m, DIALECT_BUILTIN, UNKNOWN_LOC, END);
    (void)make_type(&m, DIALECT_BUILTIN, T_INTEGER, 24 << 2, END);
    make_op_with(&m, make_attr(&m, DIALECT_BUILTIN, INTEGER, 0, 1, END)); // -1 in 24 bits
    RK_AUTO(made) narrow = finish(&m, 1, 0, 0);
    assert_int_equal(value_of(&narrow)->value, 0xFFFFFF);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cycles_are_refused),
        cmocka_unit_test(depth_of_attributes),
        cmocka_unit_test(depth_of_locations),
        cmocka_unit_test(depth_of_operations),
        cmocka_unit_test(values),
        cmocka_unit_test(sections),
        cmocka_unit_test(text),
        cmocka_unit_test(unknown_encodings),
        cmocka_unit_test(resources),
        cmocka_unit_test(use_lists),
        cmocka_unit_test(dimensions),
        cmocka_unit_test(unregistered),
        cmocka_unit_test(shared_dictionary),
        cmocka_unit_test(affine_maps),
        cmocka_unit_test(integers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
