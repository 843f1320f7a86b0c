#include "program/mlir/asm/attrs.h"

#include "program/mlir/asm/constants.h"
#include "program/mlir/asm/nodes.h"
#include "program/mlir/asm/numbers.h"
#include "program/mlir/asm/sdy_attrs.h"
#include "program/mlir/asm/stablehlo_attrs.h"
#include "program/mlir/asm/types.h"

static uint32_t unknown(rk_asm *p) {
    rk_asm_fail(p, "an unknown attribute");
    return RK_NO_ID;
}

// Numbers: "1 : i32", "1.0 : f32", "1" (i64), "1.0" (f64).
static uint32_t read_number(rk_asm *p) {
    rk_asm_literal literal;
    const uint8_t *end = rk_asm_read_literal(p->at, p->end, &literal);
    if (!end)
        return unknown(p);
    p->at = end;
    rk_field type = {RK_NO_ID, RK_NO_ID};
    if (rk_asm_accept(p, ':'))
        type.node = rk_asm_type(p);
    else
        type.node = rk_asm_scalar_type(p, literal.is_float ? RK_WORD_f64 : RK_WORD_i64);
    if (type.node == RK_NO_ID)
        return RK_NO_ID;
    const rk_asm_scalar *scalar = rk_asm_find_scalar(p->model->nodes.items[type.node].name);
    uint64_t bits;
    if (!scalar || !rk_asm_literal_bits(scalar, &literal, &bits)) {
        rk_asm_fail(p, "a number that does not fit its type");
        return RK_NO_ID;
    }
    if (scalar->bits == 1 && !scalar->is_float)
        return rk_asm_bool(p, bits);
    rk_node node = {.kind = scalar->is_float ? RK_NODE_FLOAT : RK_NODE_INT,
                    .width = scalar->bits,
                    .name = RK_NO_ID,
                    .value = bits};
    return rk_asm_node(p, node, &type, 1);
}

// VHLO writes names of functions as strings. The bytecode reader makes symbols only of the
// attributes that name functions (read_forms.c).
static uint32_t read_symbol(rk_asm *p) {
    rk_span name;
    if (!rk_asm_symbol(p, &name))
        return RK_NO_ID;
    if (rk_asm_accept_text(p, "::")) {
        rk_asm_fail(p, "a nested symbol");
        return RK_NO_ID;
    }
    bool is_symbol = !p->is_vhlo || p->names_functions;
    return rk_asm_bytes_node(p, is_symbol ? RK_NODE_SYMBOL : RK_NODE_STRING, name);
}

static uint32_t read_string(rk_asm *p) {
    rk_span text;
    if (!rk_asm_string(p, &text))
        return RK_NO_ID;
    if (rk_asm_accept(p, ':')) {
        rk_asm_fail(p, "a string with a type");
        return RK_NO_ID;
    }
    bool is_symbol = p->is_vhlo && p->names_functions;
    return rk_asm_bytes_node(p, is_symbol ? RK_NODE_SYMBOL : RK_NODE_STRING, text);
}

static uint32_t read_list(rk_asm *p) {
    uint32_t first = p->nodes.count;
    p->nesting++;
    if (!rk_asm_accept(p, ']')) {
        do {
            uint32_t item = rk_asm_attr(p);
            if (item == RK_NO_ID || !RK_ASM_PUSH(p, p->nodes, item))
                return RK_NO_ID;
        } while (rk_asm_accept(p, ','));
        if (!rk_asm_expect(p, ']'))
            return RK_NO_ID;
    }
    p->nesting--;
    return rk_asm_pop_list(p, first);
}

// "#dialect.name<…>", "#dialect<name…>", or an alias.
static uint32_t read_dialect_attr(rk_asm *p) {
    rk_span alias = rk_asm_accept_alias(p);
    if (alias.len) {
        if (!p->is_vhlo)
            return rk_asm_alias(p, alias);
        rk_asm_fail(p, "an alias in an attribute"); // its form depends on its place
        return RK_NO_ID;
    }
    if (rk_asm_accept_text(p, "#stablehlo") || rk_asm_accept_text(p, "#chlo"))
        return rk_asm_stablehlo_attr(p);
    return rk_asm_accept_text(p, "#sdy") ? rk_asm_sdy_attr(p) : unknown(p);
}

static uint32_t read_keyword(rk_asm *p) {
    const uint8_t *before = p->at;
    rk_span word = rk_asm_word(p);
    if (rk_span_is(word, "true") || rk_span_is(word, "false"))
        return rk_asm_bool(p, word.len == 4);
    if (rk_span_is(word, "unit"))
        return rk_asm_word_node(p, RK_NODE_UNIT, RK_NO_ID);
    if (rk_span_is(word, "dense"))
        return rk_asm_expect(p, '<') ? rk_asm_dense(p) : RK_NO_ID;
    if (rk_span_is(word, "dense_resource"))
        return rk_asm_expect(p, '<') ? rk_asm_resource_constant(p) : RK_NO_ID;
    if (rk_span_is(word, "array"))
        return rk_asm_expect(p, '<') ? rk_asm_array(p) : RK_NO_ID;
    p->at = before;
    return rk_asm_is_type(p) ? rk_asm_type(p) : unknown(p);
}

static uint32_t read_attr(rk_asm *p) {
    uint8_t c = rk_asm_peek(p);
    switch (c) {
    case '"':
        return read_string(p);
    case '[':
        p->at++;
        return read_list(p);
    case '{':
        p->at++;
        return rk_asm_dictionary(p);
    case '@':
        return read_symbol(p);
    case '#':
        return read_dialect_attr(p);
    case '!':
    case '(':
        return rk_asm_type(p);
    default:
        if (c == '-' || rk_asm_is_digit(c))
            return read_number(p);
        return rk_asm_is_word_start(c) ? read_keyword(p) : unknown(p);
    }
}

uint32_t rk_asm_attr(rk_asm *p) {
    if (p->depth == RK_ASM_MAX_DEPTH) {
        rk_asm_fail(p, "attributes are nested too deeply");
        return RK_NO_ID;
    }
    p->depth++;
    uint32_t node = p->failed ? RK_NO_ID : read_attr(p);
    p->depth--;
    return node;
}

static bool names_functions(rk_span key) {
    return rk_span_is(key, "callee") || rk_span_is(key, "decomposition") ||
           rk_span_is(key, "called_computations");
}

bool rk_asm_named_attrs(rk_asm *p) {
    if (rk_asm_accept(p, '}'))
        return true;
    do {
        rk_span key = {0};
        if (rk_asm_peek(p) == '"' ? !rk_asm_string(p, &key) : !(key = rk_asm_word(p)).len) {
            rk_asm_fail(p, "an attribute without a name");
            return false;
        }
        rk_field field = {rk_asm_name(p, key), RK_NO_ID};
        bool before = p->names_functions;
        p->names_functions = !p->nesting && names_functions(key);
        field.node =
            rk_asm_accept(p, '=') ? rk_asm_attr(p) : rk_asm_word_node(p, RK_NODE_UNIT, RK_NO_ID);
        p->names_functions = before;
        if (p->failed || field.node == RK_NO_ID || !RK_ASM_PUSH(p, p->fields, field))
            return false;
    } while (rk_asm_accept(p, ','));
    return rk_asm_expect(p, '}');
}

uint32_t rk_asm_dictionary(rk_asm *p) {
    uint32_t first = p->fields.count;
    p->nesting++;
    bool is_good = rk_asm_named_attrs(p);
    p->nesting--;
    return is_good ? rk_asm_pop_dict(p, first) : RK_NO_ID;
}
