#include "program/mlir/asm/reduce.h"

#include "program/mlir/asm/constants.h"
#include "program/mlir/asm/locations.h"
#include "program/mlir/asm/nodes.h"
#include "program/mlir/asm/pretty.h"
#include "program/mlir/asm/region.h"
#include "program/mlir/asm/types.h"

// Operands: first the inputs, then the initial values.
static bool read_operands(rk_asm *p) {
    uint32_t first = p->nodes.count; // the initial values wait here
    do {
        if (!rk_asm_expect(p, '(') || !rk_asm_operand(p) || !rk_asm_expect_word(p, "init") ||
            !rk_asm_expect(p, ':'))
            return false;
        uint32_t value = rk_asm_use(p);
        if (value == RK_NO_ID || !RK_ASM_PUSH(p, p->nodes, value) || !rk_asm_expect(p, ')'))
            return false;
    } while (rk_asm_accept(p, ','));
    for (uint32_t i = first; i < p->nodes.count; i++)
        if (!rk_asm_add_operand(p, p->nodes.items[i]))
            return false;
    p->nodes.count = first;
    return true;
}

static bool read_tail(rk_asm *p, const rk_asm_op *op) {
    if (!rk_asm_expect_word(p, "across") || !rk_asm_expect_word(p, "dimensions") ||
        !rk_asm_expect(p, '=') || !rk_asm_int_list(p) ||
        !rk_asm_add_attr(p, "dimensions", rk_asm_take_vhlo_ints(p)))
        return false;
    return rk_asm_optional_attrs(p) && rk_asm_expect(p, ':') &&
           rk_asm_types_of_function(p, op, rk_asm_type(p));
}

// "(%x: type, %y: type) (%z: type, …)": all first ones are the region's first arguments.
static bool read_reducer(rk_asm *p, const rk_asm_op *op) {
    uint32_t first = p->targets.count, pairs = rk_asm_operand_count(p, op) / 2;
    for (uint32_t i = 0; i < pairs; i++)
        if (!rk_asm_expect(p, '(') || !rk_asm_argument(p) || !rk_asm_expect(p, ',') ||
            !rk_asm_argument(p) || !rk_asm_expect(p, ')'))
            return false;
    for (uint32_t i = 0; i < pairs; i++) // all arguments once more, in order, behind the pairs
        if (!RK_ASM_PUSH(p, p->targets, p->targets.items[first + 2 * i]))
            return false;
    for (uint32_t i = 0; i < pairs; i++)
        if (!RK_ASM_PUSH(p, p->targets, p->targets.items[first + 2 * i + 1]))
            return false;
    if (pairs)
        memmove(p->targets.items + first, p->targets.items + first + 2 * (size_t)pairs,
                2 * (size_t)pairs * sizeof *p->targets.items);
    p->targets.count = first + 2 * pairs;
    return true;
}

// The short form.

static const rk_asm_spec *find_inner(rk_span name) {
    static const char *const commutative[] = {
        "stablehlo.add", "stablehlo.and",      "stablehlo.maximum", "stablehlo.minimum",
        "stablehlo.or",  "stablehlo.multiply", "stablehlo.xor"};
    for (size_t i = 0; i < RK_ARRAY_LEN(commutative); i++)
        if (rk_span_is(name, commutative[i]))
            return rk_asm_find_spec(name);
    return NULL;
}

// Adds an operation of the region: an operation on values from `first` on, with a result of the
// type, or without a result (RK_NO_ID).
static bool add_inner(rk_asm *p, const rk_asm_spec *spec, uint32_t first, uint32_t count,
                      uint32_t type, uint32_t location) {
    rk_asm_op op;
    if (!rk_asm_begin_op(p, spec, RK_ASM_FORM, rk_asm_name(p, rk_span_text(spec->name)),
                         p->targets.count, &op))
        return false;
    op.has_location = true;
    op.location = location;
    for (uint32_t i = 0; i < count; i++)
        if (!rk_asm_add_operand(p, first + i))
            return false;
    return (type == RK_NO_ID || RK_ASM_PUSH(p, p->nodes, type)) &&
           rk_asm_end_op(p, &op, false, NULL);
}

static bool add_region(rk_asm *p, const rk_asm_op *op, const rk_asm_spec *inner) {
    const rk_op *in_model = &p->model->ops.items[op->id];
    rk_asm_region region;
    if (in_model->operand_count != 2)
        return false;
    uint32_t input = p->model->values.items[p->model->operands.items[in_model->first_operand]].type;
    if (!rk_asm_is_tensor(p, input))
        return false;
    uint32_t scalar = rk_asm_tensor_type(p, (rk_span){0}, rk_asm_element_type(p, input));
    if (scalar == RK_NO_ID || !rk_asm_open_region(p, false, true, 0, 0, &region))
        return false;
    uint32_t first = rk_asm_define(p, scalar, op->location);
    if (first == RK_NO_ID || rk_asm_define(p, scalar, op->location) == RK_NO_ID)
        return false;
    p->model->blocks.items[region.block].arg_count = 2;
    const rk_asm_spec *last = rk_asm_find_spec(rk_span_text("stablehlo.return"));
    return add_inner(p, inner, first, 2, scalar, op->location) &&
           add_inner(p, last, first + 2, 1, RK_NO_ID, op->location) &&
           rk_asm_close_region(p, &region);
}

rk_asm_next rk_asm_read_reduce(rk_asm *p, rk_asm_op *op) {
    const rk_asm_spec *inner = NULL;
    if (!read_operands(p))
        return RK_ASM_FAILED;
    bool is_short = rk_asm_accept_word(p, "applies");
    if (is_short)
        inner = find_inner(rk_asm_word(p));
    if (is_short && !inner)
        rk_asm_fail(p, "a reduction by an unknown operation");
    if (p->failed || !read_tail(p, op))
        return RK_ASM_FAILED;
    if (!is_short) {
        bool is_good =
            rk_asm_expect_word(p, "reducer") && read_reducer(p, op) && rk_asm_expect(p, '{');
        return is_good ? RK_ASM_REGION : RK_ASM_FAILED;
    }
    op->has_location = true;
    if (!rk_asm_accept_location(p, &op->location))
        return RK_ASM_FAILED;
    if (add_region(p, op, inner))
        return RK_ASM_END;
    rk_asm_fail(p, "a reduction that is not understood");
    return RK_ASM_FAILED;
}
