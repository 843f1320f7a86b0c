#include "program/mlir/asm/special.h"

#include "program/mlir/asm/attrs.h"
#include "program/mlir/asm/function.h"
#include "program/mlir/asm/nodes.h"
#include "program/mlir/asm/pretty.h"
#include "program/mlir/asm/reduce.h"
#include "program/mlir/asm/region.h"
#include "program/mlir/asm/sdy_attrs.h"
#include "program/mlir/asm/types.h"

static bool is_op(const rk_asm_op *op, const char *name) {
    return strcmp(op->spec->name, name) == 0;
}

// "attributes {…}", or nothing.
static bool read_attributes(rk_asm *p) {
    return !rk_asm_accept_word(p, "attributes") || (rk_asm_expect(p, '{') && rk_asm_named_attrs(p));
}

// module @name attributes {…} {…}
static rk_asm_next read_module(rk_asm *p) {
    rk_span name;
    if (rk_asm_peek(p) == '@' &&
        (!rk_asm_symbol(p, &name) ||
         !rk_asm_add_attr(p, "sym_name", rk_asm_bytes_node(p, RK_NODE_STRING, name))))
        return RK_ASM_FAILED;
    return read_attributes(p) && rk_asm_expect(p, '{') ? RK_ASM_REGION : RK_ASM_FAILED;
}

// constant {…} dense<…> : type
static rk_asm_next read_constant(rk_asm *p) {
    if (!rk_asm_optional_attrs(p))
        return RK_ASM_FAILED;
    uint32_t value = rk_asm_attr(p);
    if (value == RK_NO_ID)
        return RK_ASM_FAILED;
    const rk_node *node = &p->model->nodes.items[value];
    if (node->kind != RK_NODE_ELEMENTS) {
        rk_asm_fail(p, "a constant that is not understood");
        return RK_ASM_FAILED;
    }
    uint32_t type = p->model->fields.items[node->first_field].node;
    return rk_asm_add_attr(p, "value", value) && RK_ASM_PUSH(p, p->nodes, type) ? RK_ASM_END
                                                                                : RK_ASM_FAILED;
}

// while(%x = %0, …) : types attributes {…} cond {…} do {…}. Both regions have the same arguments.
static rk_asm_next read_while(rk_asm *p, const rk_asm_op *op) {
    rk_asm_target target;
    uint32_t first_type = p->nodes.count;
    if (!rk_asm_expect(p, '('))
        return RK_ASM_FAILED;
    if (!rk_asm_accept(p, ')')) {
        do {
            if (!rk_asm_target_name(p, false, &target) || !RK_ASM_PUSH(p, p->targets, target) ||
                !rk_asm_expect(p, '=') || !rk_asm_operand(p))
                return RK_ASM_FAILED;
        } while (rk_asm_accept(p, ','));
        if (!rk_asm_expect(p, ')') || !rk_asm_expect(p, ':') || !rk_asm_type_list(p) ||
            !rk_asm_check_operands(p, op, first_type))
            return RK_ASM_FAILED;
    }
    for (uint32_t i = op->first_arg; i < p->targets.count; i++)
        p->targets.items[i].type = p->nodes.items[first_type + (i - op->first_arg)];
    bool is_good = read_attributes(p) && rk_asm_expect_word(p, "cond") && rk_asm_expect(p, '{');
    return is_good ? RK_ASM_REGION : RK_ASM_FAILED;
}

// manual_computation(%0) in_shardings=[…] out_shardings=[…] manual_axes={…} (%x: type) {…} : types
static rk_asm_next read_manual(rk_asm *p) {
    static const struct {
        const char *name;
        uint32_t (*read)(rk_asm *);
    } parts[] = {{"in_shardings", rk_asm_sdy_sharding_per_value},
                 {"out_shardings", rk_asm_sdy_sharding_per_value},
                 {"manual_axes", rk_asm_sdy_manual_axes}};
    if (!rk_asm_expect(p, '(') || !rk_asm_operands(p) || !rk_asm_expect(p, ')'))
        return RK_ASM_FAILED;
    for (size_t i = 0; i < RK_ARRAY_LEN(parts); i++)
        if (!rk_asm_expect_word(p, parts[i].name) || !rk_asm_expect(p, '=') ||
            !rk_asm_add_attr(p, parts[i].name, parts[i].read(p)))
            return RK_ASM_FAILED;
    bool is_good = rk_asm_expect(p, '(') && rk_asm_arguments(p) && rk_asm_expect(p, '{');
    return is_good ? RK_ASM_REGION : RK_ASM_FAILED;
}

rk_asm_next rk_asm_read_special(rk_asm *p, rk_asm_op *op) {
    if (is_op(op, "stablehlo.constant"))
        return read_constant(p);
    if (is_op(op, "stablehlo.while"))
        return read_while(p, op);
    if (is_op(op, "stablehlo.reduce"))
        return rk_asm_read_reduce(p, op);
    if (is_op(op, "func.func"))
        return rk_asm_read_function(p, op);
    return is_op(op, "builtin.module") ? read_module(p) : read_manual(p);
}

rk_asm_next rk_asm_continue_special(rk_asm *p, const rk_asm_op *op, uint32_t region_count) {
    if (is_op(op, "stablehlo.while") && region_count == 1)
        return rk_asm_expect_word(p, "do") && rk_asm_expect(p, '{') ? RK_ASM_REGION : RK_ASM_FAILED;
    if (is_op(op, "sdy.manual_computation")) {
        bool is_good = rk_asm_optional_attrs(p) && rk_asm_expect(p, ':') &&
                       rk_asm_types_of_function(p, op, rk_asm_type(p));
        return is_good ? RK_ASM_END : RK_ASM_FAILED;
    }
    return RK_ASM_END;
}
