#include "program/mlir/asm/forms.h"

#include "program/mlir/asm/constants.h"
#include "program/mlir/asm/nodes.h"
#include "program/mlir/asm/stablehlo_attrs.h"
#include "program/mlir/dialect_ops.h"

static bool fail(rk_asm *p, const char *why) {
    rk_asm_fail(p, why);
    return false;
}

static bool push(rk_asm *p, uint32_t name, uint32_t node) {
    return name != RK_NO_ID && node != RK_NO_ID &&
           RK_ASM_PUSH(p, p->fields, (rk_field){name, node});
}

static bool push_text(rk_asm *p, const char *name, uint32_t node) {
    return push(p, rk_asm_name(p, rk_span_text(name)), node);
}

// Returns the attribute among those from `first` on; RK_NO_ID if there is none.
static uint32_t find(const rk_asm *p, uint32_t first, rk_span name) {
    for (uint32_t i = first; i < p->fields.count; i++)
        if (rk_span_equal(rk_model_string(p->model, p->fields.items[i].name), name))
            return p->fields.items[i].node;
    return RK_NO_ID;
}

static bool is_op(const rk_asm_spec *spec, const char *name) {
    return strcmp(spec->name, name) == 0;
}

// Structures.

static bool push_parts(rk_asm *p, uint32_t node) {
    uint32_t first = p->model->nodes.items[node].first_field;
    for (uint32_t i = 0; i < p->model->nodes.items[node].field_count; i++) {
        rk_field field = p->model->fields.items[first + i];
        if (!push(p, field.name, field.node))
            return false;
    }
    return true;
}

static bool push_channel(rk_asm *p, const rk_asm_spec *spec, uint32_t node) {
    const rk_field *fields = p->model->fields.items + p->model->nodes.items[node].first_field;
    uint32_t handle = fields[0].node, type = fields[1].node;
    bool has_type = is_op(spec, "stablehlo.send") || is_op(spec, "stablehlo.recv");
    return push_text(p, "channel_id", handle) && (!has_type || push_text(p, "channel_type", type));
}

// The structures that VHLO splits into attributes.
static uint32_t split_kind(const rk_asm_spec *spec, rk_span key) {
    bool is_gather = is_op(spec, "stablehlo.gather") || is_op(spec, "stablehlo.dynamic_gather");
    bool is_conv = is_op(spec, "stablehlo.convolution") || is_op(spec, "stablehlo.dynamic_conv");
    if (is_gather && rk_span_is(key, "dimension_numbers"))
        return RK_WORD_gather;
    if (is_conv && rk_span_is(key, "dimension_numbers"))
        return RK_WORD_conv;
    if (is_op(spec, "stablehlo.scatter") && rk_span_is(key, "scatter_dimension_numbers"))
        return RK_WORD_scatter;
    if (is_op(spec, "stablehlo.dot_general") && rk_span_is(key, "dot_dimension_numbers"))
        return RK_WORD_dot;
    if (is_op(spec, "stablehlo.dot_general") && rk_span_is(key, "algorithm"))
        return RK_WORD_dot_algorithm;
    return rk_span_is(key, "channel_handle") ? RK_WORD_channel_handle : RK_WORD_COUNT;
}

static bool is_flag(rk_span key) {
    return rk_span_is(key, "use_global_device_ids") || rk_span_is(key, "has_dynamic_root");
}

static bool push_converted(rk_asm *p, const rk_asm_spec *spec, rk_field field) {
    rk_span key = rk_model_string(p->model, field.name);
    rk_node node = p->model->nodes.items[field.node];
    uint32_t kind = split_kind(spec, key);
    if (kind != RK_WORD_COUNT) {
        if (node.kind != RK_NODE_STRUCT || node.name != kind)
            return fail(p, "an attribute of an unexpected kind");
        return kind == RK_WORD_channel_handle ? push_channel(p, spec, field.node)
                                              : push_parts(p, field.node);
    }
    if (is_flag(key))
        return node.kind == RK_NODE_UNIT ? push(p, field.name, rk_asm_bool(p, true))
                                         : fail(p, "an attribute of an unexpected kind");
    if (is_op(spec, "stablehlo.custom_call") && rk_span_is(key, "api_version"))
        return node.kind == RK_NODE_INT && node.width == 32
                   ? push(p, field.name, rk_asm_api_version(p, node.value))
                   : fail(p, "an attribute of an unexpected kind");
    // Attributes of StableHLO that VHLO has no counterpart for, or only inside others.
    if (node.kind == RK_NODE_STRUCT &&
        (node.name == RK_WORD_dot || node.name == RK_WORD_gather || node.name == RK_WORD_scatter ||
         node.name == RK_WORD_conv || node.name == RK_WORD_channel_handle ||
         node.name == RK_WORD_dot_algorithm))
        return fail(p, "an attribute in an unexpected place");
    return push(p, field.name, field.node);
}

// Defaults.

// Returns the number of spatial or window dimensions; -1 if it is not known.
static int64_t dimensions(const rk_asm *p, uint32_t first) {
    uint32_t node = find(p, first, rk_span_text("input_spatial_dimensions"));
    if (node == RK_NO_ID)
        node = find(p, first, rk_span_text("window_dimensions"));
    if (node == RK_NO_ID || p->model->nodes.items[node].kind != RK_NODE_INTS)
        return -1;
    return (int64_t)(p->model->nodes.items[node].bytes.len / 8);
}

static void fill(rk_asm *p, int64_t count, int64_t value) {
    rk_buf_clear(&p->ints);
    for (int64_t i = 0; i < count; i++)
        rk_asm_add_int(p, value);
}

static uint32_t default_precision(rk_asm *p) {
    uint32_t value = rk_asm_enum(p, RK_WORD_precision, "DEFAULT"), first = p->nodes.count;
    if (value == RK_NO_ID || !RK_ASM_PUSH(p, p->nodes, value) || !RK_ASM_PUSH(p, p->nodes, value))
        return RK_NO_ID;
    return rk_asm_pop_list(p, first);
}

static uint32_t default_accuracy(rk_asm *p) {
    const rk_field fields[] = {
        {RK_WORD_atol, rk_asm_float64(p, 0)},
        {RK_WORD_rtol, rk_asm_float64(p, 0)},
        {RK_WORD_ulps, rk_asm_int64(p, 0)},
        {RK_WORD_mode, rk_asm_enum(p, RK_WORD_result_accuracy_mode, "DEFAULT")}};
    return rk_asm_node(p, (rk_node){.kind = RK_NODE_STRUCT, .name = RK_WORD_result_accuracy},
                       fields, RK_ARRAY_LEN(fields));
}

// A typed FFI call without a configuration: older and newer StableHLO have different defaults.
static uint32_t default_config(rk_asm *p, uint32_t first) {
    uint32_t version = find(p, first, rk_span_text("api_version"));
    if (version != RK_NO_ID &&
        rk_span_is(p->model->nodes.items[version].bytes, "API_VERSION_TYPED_FFI")) {
        rk_asm_fail(p, "a typed custom call without a configuration");
        return RK_NO_ID;
    }
    return rk_asm_bytes_node(p, RK_NODE_STRING, (rk_span){0});
}

static uint32_t default_dims(rk_asm *p, uint32_t first, rk_span code) {
    int64_t count = dimensions(p, first);
    if (count < 0) {
        rk_asm_fail(p, "an operation without its dimensions");
        return RK_NO_ID;
    }
    if (rk_span_is(code, "ones")) {
        fill(p, count, 1);
        return rk_asm_take_vhlo_ints(p);
    }
    fill(p, rk_span_is(code, "padding") ? 2 * count : count, 0);
    return rk_span_is(code, "padding") ? rk_asm_take_matrix(p, count, 2) : rk_asm_take_bools(p);
}

static uint32_t default_of(rk_asm *p, uint32_t first, rk_span code) {
    if (rk_span_is(code, "false") || rk_span_is(code, "true"))
        return rk_asm_bool(p, code.len == 4);
    if (rk_span_is(code, "0") || rk_span_is(code, "-1"))
        return rk_asm_int64(p, code.len == 2 ? -1 : 0);
    if (rk_span_is(code, "list"))
        return rk_asm_pop_list(p, p->nodes.count);
    if (rk_span_is(code, "dictionary"))
        return rk_asm_pop_dict(p, p->fields.count);
    if (rk_span_is(code, "text"))
        return rk_asm_bytes_node(p, RK_NODE_STRING, (rk_span){0});
    if (rk_span_is(code, "none"))
        return rk_asm_scalar_type(p, RK_WORD_none);
    if (rk_span_is(code, "notype"))
        return rk_asm_enum(p, RK_WORD_comparison_type, "NOTYPE");
    if (rk_span_is(code, "original"))
        return rk_asm_api_version(p, 1);
    if (rk_span_is(code, "config"))
        return default_config(p, first);
    if (rk_span_is(code, "precision"))
        return default_precision(p);
    if (rk_span_is(code, "accuracy"))
        return default_accuracy(p);
    if (rk_span_is(code, "ints")) {
        rk_buf_clear(&p->ints);
        return rk_asm_take_ints(p);
    }
    return default_dims(p, first, code);
}

static bool push_defaults(rk_asm *p, const rk_asm_spec *spec, uint32_t first) {
    const char *at = spec->defaults;
    while (*at) {
        size_t len = strcspn(at, " "), name = strcspn(at, "=");
        rk_span key = rk_span_of(at, name), code = rk_span_of(at + name + 1, len - name - 1);
        if (find(p, first, key) == RK_NO_ID &&
            !push(p, rk_asm_name(p, key), default_of(p, first, code)))
            return false;
        at += len + (at[len] == ' ');
    }
    return true;
}

// All attributes that the operation must have are there: a check of the reader itself, and of the
// text.
static bool has_required(rk_asm *p, const char *properties, uint32_t first) {
    const char *at = properties;
    while (*at) {
        size_t len = strcspn(at, " "), name = strcspn(at, "? 0123456789");
        bool is_required = *at != '@' && at[name] != '?';
        if (is_required && find(p, first, rk_span_of(at, name)) == RK_NO_ID)
            return fail(p, "an operation without one of its attributes");
        at += len + (at[len] == ' ');
    }
    return true;
}

// StableHLO ignores an attribute whose name only VHLO gives to a property. VHLO would read it as
// the property, and the two programs would have one key.
static bool has_stablehlo_names(rk_asm *p, const rk_asm_spec *spec, const char *properties,
                                uint32_t dictionary) {
    const rk_op_spec *op = rk_dialect_find_op(spec->name);
    const rk_node *node = &p->model->nodes.items[dictionary];
    for (uint32_t i = 0; op && i < node->field_count; i++) {
        rk_field field = p->model->fields.items[node->first_field + i];
        rk_span name = rk_model_string(p->model, field.name);
        if (rk_dialect_has_property(properties, name) &&
            !rk_dialect_has_property(op->properties, name))
            return fail(p, "an attribute with the name of a VHLO property");
    }
    return true;
}

static uint32_t complete(rk_asm *p, const rk_asm_spec *spec, uint32_t dictionary) {
    const char *properties = rk_asm_spec_properties(spec);
    uint32_t first = p->fields.count, from = p->model->nodes.items[dictionary].first_field;
    uint32_t count = p->model->nodes.items[dictionary].field_count;
    bool is_vhlo = rk_asm_is_vhlo(spec);
    bool is_good = properties ? has_stablehlo_names(p, spec, properties, dictionary)
                              : fail(p, "an unknown operation");
    for (uint32_t i = 0; i < count && is_good; i++) {
        rk_field field = p->model->fields.items[from + i];
        is_good = is_vhlo ? push_converted(p, spec, field) : push(p, field.name, field.node);
    }
    if (!is_good || !push_defaults(p, spec, first) || !has_required(p, properties, first))
        return RK_NO_ID;
    return rk_asm_pop_dict(p, first);
}

// Completes the same attributes of the same operation once.
uint32_t rk_asm_complete_attrs(rk_asm *p, const rk_asm_spec *spec, uint32_t dictionary) {
    struct {
        const rk_asm_spec *spec;
        uint64_t dictionary;
    } key = {spec, dictionary};
    bool is_new;
    if (dictionary == RK_NO_ID)
        return RK_NO_ID;
    uint32_t number = rk_intern(&p->attr_lists, rk_span_of(&key, sizeof key), &is_new);
    if (p->attr_lists.failed) {
        rk_asm_out_of_memory(p);
        return RK_NO_ID;
    }
    if (RK_LIKELY(!is_new))
        return p->attr_nodes.items[number];
    rk_span kept = rk_model_keep(p->model, rk_span_of(&key, sizeof key));
    rk_interner_settle(&p->attr_lists, number, kept.data);
    uint32_t node = complete(p, spec, dictionary);
    if (!kept.data || !RK_ASM_PUSH(p, p->attr_nodes, node)) {
        rk_asm_out_of_memory(p);
        return RK_NO_ID;
    }
    return node;
}
