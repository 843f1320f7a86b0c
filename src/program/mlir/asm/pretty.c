#include "program/mlir/asm/pretty.h"

#include "program/mlir/asm/attrs.h"
#include "program/mlir/asm/constants.h"
#include "program/mlir/asm/nodes.h"
#include "program/mlir/asm/numbers.h"
#include "program/mlir/asm/sdy_attrs.h"
#include "program/mlir/asm/stablehlo_attrs.h"
#include "program/mlir/asm/types.h"

bool rk_asm_add_attr(rk_asm *p, const char *name, uint32_t node) {
    rk_field field = {rk_asm_name(p, rk_span_text(name)), node};
    return field.name != RK_NO_ID && node != RK_NO_ID && RK_ASM_PUSH(p, p->fields, field);
}

bool rk_asm_optional_attrs(rk_asm *p) {
    return !rk_asm_accept(p, '{') || rk_asm_named_attrs(p);
}

static bool add(rk_asm *p, rk_span name, uint32_t node) {
    rk_field field = {rk_asm_name(p, name), node};
    return field.name != RK_NO_ID && node != RK_NO_ID && RK_ASM_PUSH(p, p->fields, field);
}

// Attributes with a form of their own.

static uint32_t read_dims(rk_asm *p) {
    return rk_asm_int_list(p) ? rk_asm_take_vhlo_ints(p) : RK_NO_ID;
}

static uint32_t read_i64(rk_asm *p) {
    int64_t value;
    return rk_asm_integer(p, &value) ? rk_asm_int64(p, value) : RK_NO_ID;
}

static uint32_t make_i32(rk_asm *p, uint64_t value) {
    rk_field type = {RK_NO_ID, rk_asm_scalar_type(p, RK_WORD_i32)};
    rk_node node = {.kind = RK_NODE_INT, .width = 32, .name = RK_NO_ID, .value = value};
    return rk_asm_node(p, node, &type, 1);
}

static uint32_t read_i32(rk_asm *p) {
    int64_t value;
    if (!rk_asm_integer(p, &value))
        return RK_NO_ID;
    if (value < 0 || value > INT32_MAX) {
        rk_asm_fail(p, "a number that does not fit its type");
        return RK_NO_ID;
    }
    return make_i32(p, (uint64_t)value);
}

static uint32_t read_text(rk_asm *p) {
    rk_span text;
    return rk_asm_string(p, &text) ? rk_asm_bytes_node(p, RK_NODE_STRING, text) : RK_NO_ID;
}

static uint32_t read_target(rk_asm *p) {
    rk_span name;
    return rk_asm_symbol(p, &name) ? rk_asm_bytes_node(p, RK_NODE_STRING, name) : RK_NO_ID;
}

static uint32_t read_callee(rk_asm *p) {
    rk_span name;
    return rk_asm_symbol(p, &name) ? rk_asm_bytes_node(p, RK_NODE_SYMBOL, name) : RK_NO_ID;
}

static uint32_t read_enum(rk_asm *p, rk_span name) {
    return rk_asm_enum_value(p, rk_interner_find(&p->names, name));
}

// ", SIGNED", or nothing.
static bool read_compare_type(rk_asm *p) {
    return !rk_asm_accept(p, ',') ||
           rk_asm_add_attr(p, "compare_type", rk_asm_enum_value(p, RK_WORD_comparison_type));
}

// ", lower = true", or nothing.
static bool read_flag(rk_asm *p, const char *name) {
    if (!rk_asm_accept(p, ','))
        return true;
    if (!rk_asm_expect_word(p, name) || !rk_asm_expect(p, '='))
        return false;
    bool value = rk_asm_accept_word(p, "true");
    return (value || rk_asm_expect_word(p, "false")) &&
           rk_asm_add_attr(p, name, rk_asm_bool(p, value));
}

static bool read_lower(rk_asm *p) {
    return read_flag(p, "lower");
}

static bool read_stable(rk_asm *p) {
    return read_flag(p, "is_stable");
}

// ", precision = [DEFAULT, DEFAULT], algorithm = <…>", or a part of it.
static bool read_precision(rk_asm *p) {
    bool has_precision = false;
    while (rk_asm_accept(p, ',')) {
        uint32_t first = p->nodes.count;
        if (rk_asm_accept_word(p, "algorithm"))
            return rk_asm_expect(p, '=') &&
                   rk_asm_add_attr(p, "algorithm", rk_asm_dot_algorithm(p));
        if (has_precision || !rk_asm_expect_word(p, "precision") || !rk_asm_expect(p, '=') ||
            !rk_asm_expect(p, '['))
            return false;
        has_precision = true;
        bool is_empty = rk_asm_accept(p, ']');
        while (!is_empty) {
            uint32_t value = rk_asm_enum_value(p, RK_WORD_precision);
            if (value == RK_NO_ID || !RK_ASM_PUSH(p, p->nodes, value))
                return false;
            if (!rk_asm_accept(p, ','))
                break;
        }
        if ((!is_empty && !rk_asm_expect(p, ']')) ||
            !rk_asm_add_attr(p, "precision_config", rk_asm_pop_list(p, first)))
            return false;
    }
    return true;
}

// "[0] x [1]"
static bool read_dims_pair(rk_asm *p, uint32_t *out_left, uint32_t *out_right) {
    *out_left = read_dims(p);
    if (p->failed || !rk_asm_expect(p, 'x'))
        return false;
    *out_right = read_dims(p);
    return !p->failed;
}

// "batching_dims = [0] x [0], contracting_dims = [2] x [1]"
static uint32_t read_dot(rk_asm *p) {
    rk_field fields[4] = {{RK_WORD_lhs_batching_dimensions, RK_NO_ID},
                          {RK_WORD_rhs_batching_dimensions, RK_NO_ID},
                          {RK_WORD_lhs_contracting_dimensions, RK_NO_ID},
                          {RK_WORD_rhs_contracting_dimensions, RK_NO_ID}};
    if (rk_asm_accept_word(p, "batching_dims")) {
        if (!rk_asm_expect(p, '=') || !read_dims_pair(p, &fields[0].node, &fields[1].node) ||
            !rk_asm_expect(p, ','))
            return RK_NO_ID;
    } else {
        rk_buf_clear(&p->ints);
        fields[0].node = fields[1].node = rk_asm_take_ints(p);
    }
    if (!rk_asm_expect_word(p, "contracting_dims") || !rk_asm_expect(p, '=') ||
        !read_dims_pair(p, &fields[2].node, &fields[3].node))
        return RK_NO_ID;
    return rk_asm_node(p, (rk_node){.kind = RK_NODE_STRUCT, .name = RK_WORD_dot}, fields, 4);
}

// "[0:4, 2:8:2]"
static bool read_ranges(rk_asm *p) {
    static const char *const names[] = {"start_indices", "limit_indices", "strides"};
    uint32_t nodes[3];
    if (!rk_asm_expect(p, '['))
        return false;
    const uint8_t *start = p->at;
    for (size_t part = 0; part < 3; part++) { // reads the text once for each list
        int64_t range[3];
        p->at = start;
        rk_buf_clear(&p->ints);
        bool is_empty = rk_asm_accept(p, ']');
        while (!is_empty) {
            range[2] = 1;
            if (!rk_asm_integer(p, &range[0]) || !rk_asm_expect(p, ':') ||
                !rk_asm_integer(p, &range[1]) ||
                (rk_asm_accept(p, ':') && !rk_asm_integer(p, &range[2])))
                return false;
            rk_asm_add_int(p, range[part]);
            if (!rk_asm_accept(p, ','))
                break;
        }
        if (!is_empty && !rk_asm_expect(p, ']'))
            return false;
        nodes[part] = rk_asm_take_vhlo_ints(p);
    }
    return rk_asm_add_attr(p, names[0], nodes[0]) && rk_asm_add_attr(p, names[1], nodes[1]) &&
           rk_asm_add_attr(p, names[2], nodes[2]);
}

// "e5m10"
static bool read_bits(rk_asm *p) {
    rk_span word = rk_asm_word(p);
    uint64_t bits[2] = {0, 0};
    const char letters[] = "em";
    size_t at = 0;
    for (size_t i = 0; i < 2; i++) {
        size_t digits = 0;
        bool is_letter = at < word.len && word.data[at++] == (uint8_t)letters[i];
        for (; at < word.len && rk_asm_is_digit(word.data[at]) && digits < 9; digits++)
            bits[i] = bits[i] * 10 + (uint64_t)(word.data[at++] - '0');
        if (!is_letter || !digits)
            at = SIZE_MAX / 2;
    }
    if (at != word.len) {
        rk_asm_fail(p, "a precision that is not understood");
        return false;
    }
    return rk_asm_add_attr(p, "exponent_bits", make_i32(p, bits[0])) &&
           rk_asm_add_attr(p, "mantissa_bits", make_i32(p, bits[1]));
}

// "[[0, 1], [2, 3]]": two numbers for each dimension.
static uint32_t read_padding(rk_asm *p) {
    int64_t value, rows = 0;
    rk_buf_clear(&p->ints);
    if (!rk_asm_expect(p, '['))
        return RK_NO_ID;
    if (!rk_asm_accept(p, ']')) {
        do {
            for (int i = 0; i < 2; i++, rk_asm_add_int(p, value))
                if (!rk_asm_expect(p, i ? ',' : '[') || !rk_asm_integer(p, &value))
                    return RK_NO_ID;
            rows++;
            if (!rk_asm_expect(p, ']'))
                return RK_NO_ID;
        } while (rk_asm_accept(p, ','));
        if (!rk_asm_expect(p, ']'))
            return RK_NO_ID;
    }
    return rk_asm_take_matrix(p, rows, 2);
}

static uint32_t read_reversal(rk_asm *p) {
    rk_buf_clear(&p->ints);
    if (!rk_asm_expect(p, '['))
        return RK_NO_ID;
    if (!rk_asm_accept(p, ']')) {
        do {
            bool value = rk_asm_accept_word(p, "true");
            int64_t number = value;
            if (!value && !rk_asm_accept_word(p, "false") && !rk_asm_integer(p, &number))
                return RK_NO_ID;
            rk_asm_add_int(p, number);
        } while (rk_asm_accept(p, ','));
        if (!rk_asm_expect(p, ']'))
            return RK_NO_ID;
    }
    return rk_asm_take_bools(p);
}

// "stride = [1, 1], pad = [[0, 0], [0, 0]], …"; the "}" is not taken.
static bool read_window(rk_asm *p) {
    static const struct {
        const char *word, *name;
        uint32_t (*read)(rk_asm *);
    } parts[] = {{"stride", "window_strides", read_dims},
                 {"pad", "padding", read_padding},
                 {"lhs_dilate", "lhs_dilation", read_dims},
                 {"rhs_dilate", "rhs_dilation", read_dims},
                 {"reverse", "window_reversal", read_reversal}};
    while (rk_asm_peek(p) != '}') {
        rk_span word = rk_asm_word(p);
        size_t i = 0;
        while (i < RK_ARRAY_LEN(parts) && !rk_span_is(word, parts[i].word))
            i++;
        if (i == RK_ARRAY_LEN(parts))
            rk_asm_fail(p, "a window with unknown parts");
        if (p->failed || !rk_asm_expect(p, '=') ||
            !rk_asm_add_attr(p, parts[i].name, parts[i].read(p)))
            return false;
        if (!rk_asm_accept(p, ','))
            break;
    }
    return true;
}

// The version of a composite is left out if it is zero, whatever its type is.
static bool require_version(rk_asm *p, const rk_asm_op *op) {
    for (uint32_t i = op->first_field; i < p->fields.count; i++)
        if (rk_span_is(rk_model_string(p->model, p->fields.items[i].name), "version"))
            return true;
    rk_asm_fail(p, "a composite without a version");
    return false;
}

// Reads an attribute of this kind ("dims:permutation").
static bool read_item(rk_asm *p, const rk_asm_op *op, rk_span kind, rk_span name) {
    static const struct {
        const char *kind;
        uint32_t (*read)(rk_asm *);
    } simple[] = {{"dims", read_dims},
                  {"i64", read_i64},
                  {"i32", read_i32},
                  {"text", read_text},
                  {"target", read_target},
                  {"sym_name", read_target},
                  {"callee", read_callee},
                  {"dot", read_dot},
                  {"conv", rk_asm_conv_dimensions},
                  {"sharding", rk_asm_sdy_sharding},
                  {"mesh", rk_asm_sdy_mesh}};
    static const struct {
        const char *kind;
        bool (*read)(rk_asm *);
    } whole[] = {{"compare_type", read_compare_type},
                 {"lower", read_lower},
                 {"stable", read_stable},
                 {"precision", read_precision},
                 {"slice", read_ranges},
                 {"bits", read_bits},
                 {"window", read_window}};
    for (size_t i = 0; i < RK_ARRAY_LEN(simple); i++)
        if (rk_span_is(kind, simple[i].kind))
            return add(p, name, simple[i].read(p));
    for (size_t i = 0; i < RK_ARRAY_LEN(whole); i++)
        if (rk_span_is(kind, whole[i].kind))
            return whole[i].read(p);
    if (rk_span_is(kind, "enum"))
        return add(p, name, read_enum(p, name));
    return rk_span_is(kind, "composite") && require_version(p, op);
}

// Types.

static bool push_type(rk_asm *p, uint32_t type) {
    return type != RK_NO_ID && RK_ASM_PUSH(p, p->nodes, type);
}

static bool is_function(const rk_asm *p, uint32_t type) {
    return type != RK_NO_ID && p->model->nodes.items[type].name == RK_WORD_function;
}

// Checks that all operands have this type; those from `first` on.
static bool all_are(rk_asm *p, const rk_asm_op *op, uint32_t first, uint32_t type) {
    const rk_op *in_model = &p->model->ops.items[op->id];
    for (uint32_t i = first; i < in_model->operand_count; i++) {
        uint32_t value = p->model->operands.items[in_model->first_operand + i];
        if (p->model->values.items[value].type != type) {
            rk_asm_fail(p, "an operand of another type than its value");
            return false;
        }
    }
    return true;
}

static bool types_same(rk_asm *p, const rk_asm_op *op) {
    uint32_t type = rk_asm_type(p);
    if (is_function(p, type))
        return rk_asm_types_of_function(p, op, type);
    return type != RK_NO_ID && all_are(p, op, 0, type) && push_type(p, type);
}

// The operands have the real type of the result.
static bool types_complex(rk_asm *p, const rk_asm_op *op) {
    uint32_t type = rk_asm_type(p);
    if (type == RK_NO_ID || is_function(p, type))
        return rk_asm_types_of_function(p, op, type);
    rk_node tensor = p->model->nodes.items[type];
    if (!rk_asm_is_tensor(p, type) || tensor.field_count != 1) {
        rk_asm_fail(p, "a type that is not understood");
        return false;
    }
    const rk_node *element = &p->model->nodes.items[rk_asm_element_type(p, type)];
    if (element->name != RK_WORD_complex) {
        rk_asm_fail(p, "a type that is not understood");
        return false;
    }
    uint32_t real = p->model->fields.items[element->first_field].node;
    return all_are(p, op, 0, rk_asm_tensor_type(p, tensor.bytes, real)) && push_type(p, type);
}

static bool types_select(rk_asm *p, const rk_asm_op *op) {
    uint32_t type = rk_asm_type(p);
    if (type == RK_NO_ID || is_function(p, type))
        return rk_asm_types_of_function(p, op, type);
    const rk_op *in_model = &p->model->ops.items[op->id];
    uint32_t result = rk_asm_expect(p, ',') ? rk_asm_type(p) : RK_NO_ID;
    if (result == RK_NO_ID)
        return false;
    if (in_model->operand_count != 3 ||
        p->model->values.items[p->model->operands.items[in_model->first_operand]].type != type) {
        rk_asm_fail(p, "an operand of another type than its value");
        return false;
    }
    return all_are(p, op, 1, result) && push_type(p, result);
}

// The results have the types of the operands.
static bool types_pairs(rk_asm *p, const rk_asm_op *op) {
    if (rk_asm_operand_count(p, op) == 0)
        return rk_asm_expect(p, '(') && rk_asm_expect(p, ')');
    uint32_t first = p->nodes.count;
    return rk_asm_expect(p, ':') && rk_asm_type_list(p) && rk_asm_check_operands(p, op, first);
}

static bool types_tuple(rk_asm *p, const rk_asm_op *op) {
    uint32_t type = rk_asm_type(p), first = p->nodes.count;
    if (type == RK_NO_ID)
        return false;
    rk_node tuple = p->model->nodes.items[type];
    if (tuple.name != RK_WORD_tuple) {
        rk_asm_fail(p, "a type that is not understood");
        return false;
    }
    rk_node list = p->model->nodes.items[p->model->fields.items[tuple.first_field].node];
    for (uint32_t i = 0; i < list.field_count; i++)
        if (!push_type(p, p->model->fields.items[list.first_field + i].node))
            return false;
    bool is_good = rk_asm_check_operands(p, op, first);
    p->nodes.count = first;
    return is_good && push_type(p, type);
}

// Types of the operands of an operation without results, where there are operands.
static bool types_optional(rk_asm *p, const rk_asm_op *op) {
    uint32_t first = p->nodes.count;
    if (rk_asm_operand_count(p, op) == 0)
        return true;
    bool is_good =
        rk_asm_expect(p, ':') && rk_asm_type_list(p) && rk_asm_check_operands(p, op, first);
    p->nodes.count = first;
    return is_good;
}

// "type, type -> type", "type -> (type, type)"
static bool types_arrow(rk_asm *p, const rk_asm_op *op) {
    uint32_t first = p->nodes.count;
    bool is_good =
        rk_asm_type_list(p) && rk_asm_check_operands(p, op, first) && rk_asm_expect_text(p, "->");
    p->nodes.count = first;
    return is_good && rk_asm_result_types(p);
}

static bool read_types(rk_asm *p, const rk_asm_op *op, rk_span kind) {
    if (rk_span_is(kind, "optional"))
        return types_optional(p, op);
    if (rk_span_is(kind, "pairs"))
        return types_pairs(p, op);
    if (!rk_asm_expect(p, ':'))
        return false;
    if (rk_span_is(kind, "same"))
        return types_same(p, op);
    if (rk_span_is(kind, "func"))
        return rk_asm_types_of_function(p, op, rk_asm_type(p));
    if (rk_span_is(kind, "result"))
        return push_type(p, rk_asm_type(p));
    if (rk_span_is(kind, "arrow"))
        return types_arrow(p, op);
    if (rk_span_is(kind, "complex"))
        return types_complex(p, op);
    return rk_span_is(kind, "select") ? types_select(p, op) : types_tuple(p, op);
}

// Forms.

// Operands, each followed by a comma.
static bool read_leading_operands(rk_asm *p) {
    while (rk_asm_peek(p) == '%')
        if (!rk_asm_operand(p) || !rk_asm_expect(p, ','))
            return false;
    return true;
}

static bool read_literal(rk_asm *p, rk_span item) {
    bool is_word = rk_asm_is_word_start(item.data[0]);
    if (!is_word)
        return rk_asm_expect(p, (char)item.data[0]);
    if (rk_span_equal(rk_asm_word(p), item))
        return true;
    rk_asm_fail(p, "unexpected text");
    return false;
}

static bool read_part(rk_asm *p, const rk_asm_op *op, rk_span item) {
    if (rk_span_is(item, "%"))
        return rk_asm_operand(p);
    if (rk_span_is(item, "{}"))
        return rk_asm_optional_attrs(p);
    if (item.data[0] == ':')
        return read_types(p, op, rk_span_of(item.data + 1, item.len - 1));
    const uint8_t *colon = memchr(item.data, ':', item.len);
    if (colon) {
        size_t kind = (size_t)(colon - item.data);
        return read_item(p, op, rk_span_of(item.data, kind),
                         rk_span_of(colon + 1, item.len - kind - 1));
    }
    if (rk_span_is(item, "%*"))
        return rk_asm_operands(p);
    if (rk_span_is(item, "%,*"))
        return read_leading_operands(p);
    return read_literal(p, item);
}

bool rk_asm_read_form(rk_asm *p, const rk_asm_op *op) {
    const char *at = op->spec->form;
    while (*at) {
        size_t len = strcspn(at, " ");
        if (!read_part(p, op, rk_span_of(at, len))) {
            rk_asm_fail(p, "an operation in a form that is not understood");
            return false;
        }
        at += len + (at[len] == ' ');
    }
    return true;
}
