#include "program/canon/cosmetics.h"

#include "base/macros.h"

bool rk_is_debug_name(rk_span name) {
    // The pytree path of a result; the names of arguments (jax/_src/interpreters/mlir.py).
    static const char *const names[] = {"jax.result_info", "jax.arg_info"};
    if (name.len < 4 || memcmp(name.data, "jax.", 4) != 0)
        return false;
    for (size_t i = 0; i < RK_ARRAY_LEN(names); i++)
        if (rk_span_is(name, names[i]))
            return true;
    return false;
}

bool rk_is_meaningful_symbol(rk_span name) {
    // XLA recognizes the bodies of Shardy's manual computations by function name
    // (xla/service/spmd/shardy/constants.h: xla.sdy.manual_computation_body and similar names).
    static const char prefix[] = "xla.";
    return name.len && memmem(name.data, name.len, prefix, sizeof prefix - 1) != NULL;
}

static bool is_empty(const rk_node *node) {
    return (node->kind == RK_NODE_LIST || node->kind == RK_NODE_INTS) && node->field_count == 0 &&
           node->bytes.len == 0;
}

static bool is_false(const rk_node *node) {
    return node->kind == RK_NODE_BOOL && node->value == 0;
}

// ResultAccuracyAttr with zero tolerances and the mode DEFAULT. In HLO the tolerances are a message
// of their own, which is never the default.
static bool is_default_accuracy(const rk_model *model, const rk_node *node) {
    for (uint32_t i = 0; i < node->field_count; i++) {
        const rk_node *part = &model->nodes.items[model->fields.items[node->first_field + i].node];
        bool is_number = part->kind == RK_NODE_INT || part->kind == RK_NODE_FLOAT;
        if (is_number ? part->value != 0
                      : part->kind != RK_NODE_ENUM || !rk_span_is(part->bytes, "DEFAULT"))
            return false;
    }
    return node->kind == RK_NODE_STRUCT;
}

// Added to VHLO after 0.9.0; upgrades insert them (stablehlo/transforms/VhloToVersion.cpp).
static const char *const empty_by_default[] = {
    "operand_batching_dims",         "start_indices_batching_dims", "input_batching_dims",
    "scatter_indices_batching_dims", "source_target_pairs",         "result_tilings",
};

// The parts of the algorithm of a dot product: none, if the program names no algorithm. Added to
// VHLO with dot_general_v2.
static bool is_of_algorithm(rk_span name) {
    static const char *const names[] = {
        "lhs_precision_type",           "rhs_precision_type",  "accumulation_type",
        "lhs_component_count",          "rhs_component_count", "num_primitive_operations",
        "allow_imprecise_accumulation",
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(names); i++)
        if (rk_span_is(name, names[i]))
            return true;
    return false;
}

static bool is_none(const rk_model *model, const rk_node *node) {
    return node->kind == RK_NODE_TYPE && rk_span_is(rk_model_string(model, node->name), "none");
}

static bool is_empty_by_default(rk_span name) {
    for (size_t i = 0; i < RK_ARRAY_LEN(empty_by_default); i++)
        if (rk_span_is(name, empty_by_default[i]))
            return true;
    return false;
}

// A function without such attributes has no list, an empty list, or empty dictionaries.
bool rk_is_of_values(rk_span name) {
    return rk_span_is(name, "arg_attrs") || rk_span_is(name, "res_attrs");
}

static bool has_only_debug_names(const rk_model *model, const rk_node *dictionary) {
    for (uint32_t i = 0; i < dictionary->field_count; i++)
        if (!rk_is_debug_name(
                rk_model_string(model, model->fields.items[dictionary->first_field + i].name)))
            return false;
    return dictionary->kind == RK_NODE_DICT;
}

static bool are_without_attributes(const rk_model *model, const rk_node *list) {
    for (uint32_t i = 0; i < list->field_count; i++)
        if (!has_only_debug_names(
                model, &model->nodes.items[model->fields.items[list->first_field + i].node]))
            return false;
    return list->kind == RK_NODE_LIST;
}

bool rk_may_be_default(rk_span name) {
    return rk_span_is(name, "result_accuracy") || rk_span_is(name, "has_dynamic_root") ||
           rk_is_of_values(name) || is_of_algorithm(name) || is_empty_by_default(name);
}

bool rk_is_default_attr(const rk_model *model, const rk_field *attr) {
    rk_span name = rk_model_string(model, attr->name);
    const rk_node *node = &model->nodes.items[attr->node];
    if (rk_span_is(name, "result_accuracy"))
        return is_default_accuracy(model, node);
    if (rk_span_is(name, "has_dynamic_root"))
        return is_false(node);
    if (rk_is_of_values(name))
        return are_without_attributes(model, node);
    if (is_of_algorithm(name))
        return is_none(model, node);
    return is_empty(node) && is_empty_by_default(name);
}
