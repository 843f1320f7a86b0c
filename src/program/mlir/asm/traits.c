#include "program/mlir/asm/traits.h"

static bool has_custom_call(const rk_model *model) {
    for (uint32_t i = 0; i < model->ops.count; i++)
        if (rk_span_is(rk_model_string(model, model->ops.items[i].name), "stablehlo.custom_call"))
            return true;
    return false;
}

void rk_asm_find_traits(const rk_model *model, rk_traits *traits) {
    // Only a custom call has a configuration: without one, no number can be an address.
    bool has_configs = has_custom_call(model);
    for (uint32_t i = 0; i < model->strings.count; i++)
        rk_traits_see_name(traits, model->strings.items[i]);
    for (uint32_t i = 0; i < model->nodes.count; i++) {
        const rk_node *node = &model->nodes.items[i];
        if (node->kind == RK_NODE_STRING || node->kind == RK_NODE_SYMBOL) {
            rk_traits_see_name(traits, node->bytes);
            if (has_configs)
                rk_traits_see_config(traits, node->bytes);
        } else if (node->kind == RK_NODE_INT && has_configs) {
            rk_traits_see_number(traits, node->value);
        }
    }
}
