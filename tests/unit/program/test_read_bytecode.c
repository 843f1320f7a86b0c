// Reading bytecode from JAX: one program in all versions of the encoding, and kernels for TPUs.
// compare_bytecode.py checks the models with jaxlib.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "fixture.h"
#include "program/read.h"

typedef struct program {
    rk_buf code;
    rk_model *model;
} program;

static void program_cleanup(program *p) {
    rk_model_free(p->model);
    rk_buf_cleanup(&p->code);
}

static program read_program(const char *file, unsigned flags) {
    char path[256];
    rk_autofree char *reason = NULL;
    (void)snprintf(path, sizeof path, "versions/%s", file);
    program p = {.code = rk_test_program(path)};
    rk_err *err =
        rk_model_read(rk_buf_span(&p.code), rk_span_text("mlir"), flags, &p.model, &reason);
    if (err || !p.model)
        fail_msg("%s: %s", file, err ? rk_err_message(err) : reason);
    else
        assert_int_equal(p.model->opaque_count, 0);
    return p;
}

static rk_span string_of(const rk_model *model, uint32_t id) {
    return rk_model_string(model, id);
}

static bool same_node(const rk_model *a, uint32_t left, const rk_model *b, uint32_t right) {
    const rk_node *x = &a->nodes.items[left], *y = &b->nodes.items[right];
    if (x->kind != y->kind || x->width != y->width || x->value != y->value ||
        x->field_count != y->field_count || !rk_span_equal(x->bytes, y->bytes) ||
        !rk_span_equal(string_of(a, x->name), string_of(b, y->name)))
        return false;
    for (uint32_t i = 0; i < x->field_count; i++) {
        const rk_field *mine = &a->fields.items[x->first_field + i];
        const rk_field *theirs = &b->fields.items[y->first_field + i];
        if (!rk_span_equal(string_of(a, mine->name), string_of(b, theirs->name)) ||
            !same_node(a, mine->node, b, theirs->node))
            return false;
    }
    return true;
}

static void assert_same_op(const rk_model *a, const rk_op *x, const rk_model *b, const rk_op *y) {
    assert_true(rk_span_equal(string_of(a, x->name), string_of(b, y->name)));
    assert_int_equal(x->end, y->end);
    assert_int_equal(x->operand_count, y->operand_count);
    for (uint32_t i = 0; i < x->operand_count; i++)
        assert_int_equal(a->operands.items[x->first_operand + i],
                         b->operands.items[y->first_operand + i]);
    assert_int_equal(x->result_count, y->result_count);
    for (uint32_t i = 0; i < x->result_count; i++)
        assert_true(same_node(a, a->values.items[x->first_result + i].type, b,
                              b->values.items[y->first_result + i].type));
    assert_int_equal(x->attr_count, y->attr_count);
    for (uint32_t i = 0; i < x->attr_count; i++) {
        const rk_field *mine = &a->fields.items[x->first_attr + i];
        const rk_field *theirs = &b->fields.items[y->first_attr + i];
        assert_true(rk_span_equal(string_of(a, mine->name), string_of(b, theirs->name)));
        assert_true(same_node(a, mine->node, b, theirs->node));
    }
}

static void assert_same(const char *one, const char *other) {
    RK_AUTO(program) a = read_program(one, 0);
    RK_AUTO(program) b = read_program(other, 0);
    assert_int_equal(a.model->ops.count, b.model->ops.count);
    for (uint32_t i = 0; i < a.model->ops.count; i++)
        assert_same_op(a.model, &a.model->ops.items[i], b.model, &b.model->ops.items[i]);
}

static void encodings_agree(void **state) {
    static const char *const others[] = {
        "stablehlo_encoding_0.mlir", "stablehlo_encoding_1.mlir", "stablehlo_encoding_2.mlir",
        "stablehlo_encoding_3.mlir", "stablehlo_encoding_5.mlir",
    };
    (void)state;
    for (size_t i = 0; i < RK_ARRAY_LEN(others); i++)
        assert_same("stablehlo_encoding_6.mlir", others[i]);
}

// Until 1.0 the operations of this program did not change, but the encoding changed from 0 to 6.
static void releases_agree(void **state) {
    (void)state;
    assert_same("vhlo_0.9.0.mlir", "vhlo_0.14.0.mlir");
    assert_same("vhlo_0.9.0.mlir", "vhlo_1.0.0.mlir");
}

// The next operation at which StableHLO and VHLO correspond. The conversion moves constants and
// inserts casts between the types of VHLO and Shardy.
static const rk_op *next_common(const rk_model *model, uint32_t *at) {
    while (*at < model->ops.count) {
        const rk_op *op = &model->ops.items[(*at)++];
        rk_span name = string_of(model, op->name);
        if (!rk_span_is(name, "stablehlo.constant") &&
            !rk_span_is(name, "builtin.unrealized_conversion_cast"))
            return op;
    }
    return NULL;
}

static void dialects_agree(void **state) {
    (void)state;
    RK_AUTO(program) a = read_program("stablehlo_encoding_6.mlir", 0);
    RK_AUTO(program) b = read_program("vhlo_1.17.0.mlir", 0);
    uint32_t in_a = 0, in_b = 0, common = 0;
    const rk_op *one, *other;
    while ((one = next_common(a.model, &in_a))) {
        other = next_common(b.model, &in_b);
        assert_non_null(other);
        common++;
        assert_true(rk_span_equal(string_of(a.model, one->name), string_of(b.model, other->name)));
        assert_int_equal(one->operand_count, other->operand_count);
        assert_int_equal(one->region_count, other->region_count);
        assert_int_equal(one->result_count, other->result_count);
        for (uint32_t i = 0; i < one->result_count; i++)
            assert_true(same_node(a.model, a.model->values.items[one->first_result + i].type,
                                  b.model, b.model->values.items[other->first_result + i].type));
    }
    assert_null(next_common(b.model, &in_b));
    assert_true(common > 60);
}

static const rk_op *find_op(const rk_model *model, const char *name) {
    for (uint32_t i = 0; i < model->ops.count; i++)
        if (rk_span_is(string_of(model, model->ops.items[i].name), name))
            return &model->ops.items[i];
    fail_msg("no %s", name);
    return NULL;
}

static const rk_node *attr(const rk_model *model, const rk_op *op, const char *name) {
    uint32_t id = rk_model_attr(model, op, name);
    if (id == RK_NO_ID)
        fail_msg("no attribute %s", name);
    return &model->nodes.items[id];
}

// VHLO's own attribute forms become neutral ones.
static void attributes_are_neutral(void **state) {
    (void)state;
    static const int64_t batch[] = {1};
    RK_AUTO(program) p = read_program("vhlo_1.17.0.mlir", 0);
    const rk_op *dot = find_op(p.model, "stablehlo.dot_general");
    const rk_node *dims = attr(p.model, dot, "lhs_contracting_dimensions");
    assert_int_equal(dims->kind, RK_NODE_INTS);
    assert_true(rk_span_equal(dims->bytes, rk_span_of(batch, sizeof batch)));
    const rk_node *precisions = attr(p.model, dot, "precision_config");
    const rk_node *precision =
        &p.model->nodes.items[p.model->fields.items[precisions->first_field].node];
    assert_int_equal(precision->kind, RK_NODE_ENUM);
    assert_true(rk_span_is(string_of(p.model, precision->name), "precision"));
    assert_true(rk_span_is(precision->bytes, "DEFAULT"));
    const rk_op *call = find_op(p.model, "func.call");
    assert_int_equal(attr(p.model, call, "callee")->kind, RK_NODE_SYMBOL);
    const rk_op *func = find_op(p.model, "func.func");
    const rk_node *name = attr(p.model, func, "sym_name");
    assert_int_equal(name->kind, RK_NODE_STRING);
    assert_true(rk_span_is(name->bytes, "main"));
    const rk_node *type = attr(p.model, func, "function_type");
    assert_int_equal(type->kind, RK_NODE_TYPE);
    assert_true(rk_span_is(string_of(p.model, type->name), "function"));
    assert_int_equal(attr(p.model, find_op(p.model, "sdy.mesh"), "mesh")->kind, RK_NODE_STRUCT);
}

// A constant's bytes point into the program.
static void constants_are_borrowed(void **state) {
    (void)state;
    static const float wanted[] = {1, 2, 3, 4};
    RK_AUTO(program) p = read_program("vhlo_1.17.0.mlir", 0);
    bool found = false;
    for (uint32_t i = 0; i < p.model->ops.count; i++) {
        const rk_op *op = &p.model->ops.items[i];
        if (!rk_span_is(string_of(p.model, op->name), "stablehlo.constant"))
            continue;
        const rk_node *value = attr(p.model, op, "value");
        assert_int_equal(value->kind, RK_NODE_ELEMENTS);
        assert_true(value->bytes.data >= p.code.data &&
                    value->bytes.data + value->bytes.len <= p.code.data + p.code.len);
        found |= rk_span_equal(value->bytes, rk_span_of(wanted, sizeof wanted));
    }
    assert_true(found);
}

// VHLO has one name for the return of a function and of a region.
static void returns_have_their_names(void **state) {
    (void)state;
    RK_AUTO(program) p = read_program("vhlo_1.17.0.mlir", 0);
    const rk_model *model = p.model;
    for (uint32_t i = 0; i < model->ops.count; i++) {
        const rk_op *op = &model->ops.items[i];
        bool is_func = rk_span_is(string_of(model, op->name), "func.func");
        for (uint32_t r = 0; r < op->region_count; r++) {
            const rk_region *region = &model->regions.items[op->first_region + r];
            const rk_block *block = &model->blocks.items[region->first_block];
            uint32_t last = block->first_op;
            for (uint32_t at = last; at < block->end_op; at = model->ops.items[at].end)
                last = at;
            rk_span name = string_of(model, model->ops.items[last].name);
            if (is_func)
                assert_true(rk_span_is(name, "func.return"));
            else if (i > 0)
                assert_true(rk_span_is(name, "stablehlo.return"));
        }
    }
}

static void locations_on_demand(void **state) {
    (void)state;
    RK_AUTO(program) without = read_program("vhlo_1.17.0.mlir", 0);
    RK_AUTO(program) with = read_program("vhlo_1.17.0.mlir", RK_READ_LOCATIONS);
    size_t files = 0, named_args = 0;
    for (uint32_t i = 0; i < without.model->ops.count; i++)
        assert_int_equal(without.model->ops.items[i].location, RK_NO_ID);
    for (uint32_t i = 0; i < without.model->nodes.count; i++)
        assert_true(without.model->nodes.items[i].kind < RK_NODE_LOC_UNKNOWN);
    for (uint32_t i = 0; i < with.model->ops.count; i++)
        assert_true(with.model->ops.items[i].location != RK_NO_ID);
    for (uint32_t i = 0; i < with.model->nodes.count; i++) {
        const rk_node *node = &with.model->nodes.items[i];
        if (node->kind == RK_NODE_LOC_FILE &&
            memmem(node->bytes.data, node->bytes.len, "make.py", 7))
            files += node->value >> 32 > 0;
    }
    for (uint32_t i = 0; i < with.model->values.count; i++) {
        uint32_t location = with.model->values.items[i].location;
        if (location != RK_NO_ID && with.model->nodes.items[location].kind == RK_NODE_LOC_NAME)
            named_args += rk_span_is(with.model->nodes.items[location].bytes, "w");
    }
    assert_true(files > 0);
    assert_true(named_args > 0);
}

// Bytecode of Pallas kernels: dialects without a reader, encoding 0, and an affine map that newer
// MLIR encodes and older MLIR writes as text.
static void kernels(void **state) {
    static const char *const files[] = {"mosaic_softmax-0.10.2.mlir",
                                        "mosaic_softmax-0.12.0.1.mlir"};
    (void)state;
    for (size_t i = 0; i < RK_ARRAY_LEN(files); i++) {
        RK_AUTO(program) p = read_program(files[i], 0);
        const rk_op *load = find_op(p.model, "stable_mosaic.vector.load");
        uint32_t type = p.model->values.items[p.model->operands.items[load->first_operand]].type;
        const rk_node *memref = &p.model->nodes.items[type];
        assert_true(rk_span_is(string_of(p.model, memref->name), "memref"));
        const rk_node *layout =
            &p.model->nodes.items[p.model->fields.items[memref->first_field + 1].node];
        assert_int_equal(layout->kind, RK_NODE_OPAQUE);
        assert_true(rk_span_is(layout->bytes, "affine_map<(d0, d1) -> (d0, d1)>"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encodings_agree),        cmocka_unit_test(releases_agree),
        cmocka_unit_test(dialects_agree),         cmocka_unit_test(attributes_are_neutral),
        cmocka_unit_test(constants_are_borrowed), cmocka_unit_test(returns_have_their_names),
        cmocka_unit_test(locations_on_demand),    cmocka_unit_test(kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
