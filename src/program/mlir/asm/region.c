#include "program/mlir/asm/region.h"

#include "program/mlir/asm/locations.h"
#include "program/mlir/asm/types.h"

bool rk_asm_open_region(rk_asm *p, bool is_isolated, bool has_block, uint32_t first_arg,
                        uint32_t end_arg, rk_asm_region *out_region) {
    out_region->block = RK_NO_ID;
    if (!rk_asm_open_scope(p, is_isolated, &out_region->scope))
        return false;
    if (!has_block)
        return true;
    out_region->block = rk_model_add_blocks(p->model, 1);
    if (out_region->block == RK_NO_ID) {
        rk_asm_out_of_memory(p);
        return false;
    }
    // The first argument's number is known at the end (rk_asm_settle_values).
    p->model->blocks.items[out_region->block] = (rk_block){
        .first_arg = p->region,
        .arg_count = end_arg - first_arg,
        .first_op = p->model->ops.count,
    };
    for (uint32_t i = first_arg; i < end_arg; i++) {
        rk_asm_target target = p->targets.items[i];
        uint32_t value = rk_asm_define(p, target.type, target.location);
        if (value == RK_NO_ID || !rk_asm_bind(p, &target, value))
            return false;
    }
    return true;
}

bool rk_asm_close_region(rk_asm *p, const rk_asm_region *region) {
    rk_region closed = {region->block, 1};
    if (region->block == RK_NO_ID)
        closed = (rk_region){0, 0};
    else
        p->model->blocks.items[region->block].end_op = p->model->ops.count;
    rk_asm_close_scope(p, &region->scope);
    return RK_ASM_PUSH(p, p->regions, closed);
}

bool rk_asm_argument(rk_asm *p) {
    rk_asm_target target;
    if (!rk_asm_target_name(p, false, &target) || !rk_asm_expect(p, ':'))
        return false;
    target.type = rk_asm_type(p);
    return target.type != RK_NO_ID && rk_asm_accept_location(p, &target.location) &&
           RK_ASM_PUSH(p, p->targets, target);
}

bool rk_asm_arguments(rk_asm *p) {
    if (rk_asm_accept(p, ')'))
        return true;
    do {
        if (!rk_asm_argument(p))
            return false;
    } while (rk_asm_accept(p, ','));
    return rk_asm_expect(p, ')');
}
