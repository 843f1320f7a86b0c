// The generic form: "name"(operands) <{properties}> ({regions}) {attributes} : types.
#include "program/mlir/asm/attrs.h"
#include "program/mlir/asm/pretty.h"
#include "program/mlir/asm/types.h"

static rk_asm_next read_tail(rk_asm *p, const rk_asm_op *op) {
    bool is_good = rk_asm_optional_attrs(p) && rk_asm_expect(p, ':') &&
                   rk_asm_types_of_function(p, op, rk_asm_type(p));
    return is_good ? RK_ASM_END : RK_ASM_FAILED;
}

rk_asm_next rk_asm_read_generic(rk_asm *p, rk_asm_op *op) {
    if (!rk_asm_expect(p, '(') || !rk_asm_operands(p) || !rk_asm_expect(p, ')'))
        return RK_ASM_FAILED;
    if (rk_asm_accept(p, '<') &&
        (!rk_asm_expect(p, '{') || !rk_asm_named_attrs(p) || !rk_asm_expect(p, '>')))
        return RK_ASM_FAILED;
    if (rk_asm_accept(p, '('))
        return rk_asm_expect(p, '{') ? RK_ASM_REGION : RK_ASM_FAILED;
    return read_tail(p, op);
}

rk_asm_next rk_asm_continue_generic(rk_asm *p, const rk_asm_op *op) {
    if (rk_asm_accept(p, ','))
        return rk_asm_expect(p, '{') ? RK_ASM_REGION : RK_ASM_FAILED;
    return rk_asm_expect(p, ')') ? read_tail(p, op) : RK_ASM_FAILED;
}
