#include "program/mlir/asm/types.h"

#include "program/mlir/asm/nodes.h"
#include "program/mlir/asm/numbers.h"

bool rk_asm_integer(rk_asm *p, int64_t *out_value) {
    rk_asm_literal literal;
    (void)rk_asm_peek(p);
    const uint8_t *end = rk_asm_read_literal(p->at, p->end, &literal);
    if (!end || literal.is_float || literal.value > (uint64_t)INT64_MAX + literal.is_negative) {
        rk_asm_fail(p, "a number is missing or too large");
        return false;
    }
    p->at = end;
    *out_value = (int64_t)(literal.is_negative ? 0 - literal.value : literal.value);
    return true;
}

bool rk_asm_int_list(rk_asm *p) {
    int64_t value;
    rk_buf_clear(&p->ints);
    if (!rk_asm_expect(p, '['))
        return false;
    if (rk_asm_accept(p, ']'))
        return true;
    do {
        if (rk_asm_accept(p, '?'))
            value = INT64_MIN;
        else if (!rk_asm_integer(p, &value))
            return false;
        rk_asm_add_int(p, value);
    } while (rk_asm_accept(p, ','));
    return rk_asm_expect(p, ']');
}

// Aliases.

rk_span rk_asm_accept_alias(rk_asm *p) {
    uint8_t c = rk_asm_peek(p);
    const uint8_t *start = p->at, *at = p->at + 1;
    if ((c != '#' && c != '!') || at >= p->end || !rk_asm_is_word_start(*at))
        return (rk_span){0};
    while (at < p->end && rk_asm_is_word(*at) && *at != '.')
        at++;
    if (at < p->end && (*at == '.' || *at == '<'))
        return (rk_span){0}; // an attribute or type of a dialect
    p->at = at;
    return rk_span_of(start, (size_t)(at - start));
}

uint32_t rk_asm_alias(rk_asm *p, rk_span text) {
    uint32_t number = rk_interner_find(&p->aliases, text);
    uint32_t node = number < p->alias_nodes.count ? p->alias_nodes.items[number] : RK_NO_ID;
    if (node == RK_NO_ID)
        rk_asm_fail(p, "an alias that is not defined before its use");
    return node;
}

// Tensors.

bool rk_asm_is_tensor(const rk_asm *p, uint32_t type) {
    const rk_node *node = &p->model->nodes.items[type];
    return node->kind == RK_NODE_TYPE && node->name == RK_WORD_tensor && node->field_count;
}

uint32_t rk_asm_element_type(const rk_asm *p, uint32_t tensor) {
    const rk_node *node = &p->model->nodes.items[tensor];
    return p->model->fields.items[node->first_field].node;
}

// Reads "4x?x" into `p->ints`.
static bool read_dims(rk_asm *p) {
    rk_buf_clear(&p->ints);
    while (!p->failed) {
        uint8_t c = rk_asm_peek(p);
        uint64_t dim = 0;
        if (c == '?') {
            p->at++;
            dim = (uint64_t)INT64_MIN;
        } else if (!rk_asm_is_digit(c)) {
            return true;
        }
        while (c != '?' && rk_asm_is_digit(rk_asm_here(p)) && dim <= INT64_MAX / 16)
            dim = dim * 10 + (uint64_t)(*p->at++ - '0');
        if (!rk_asm_expect(p, 'x'))
            return false;
        rk_asm_add_int(p, (int64_t)dim);
    }
    return false;
}

// The encoding of a tensor: StableHLO's bounds of dynamic dimensions.
static uint32_t read_encoding(rk_asm *p) {
    bool is_short = rk_asm_accept_text(p, "#stablehlo.bounds<");
    rk_buf_clear(&p->ints);
    if (!is_short && !rk_asm_accept_text(p, "#stablehlo.type_extensions<")) {
        rk_asm_fail(p, "a tensor with an unknown encoding");
        return RK_NO_ID;
    }
    if (is_short) {
        do {
            int64_t bound = INT64_MIN;
            if (!rk_asm_accept(p, '?') && !rk_asm_integer(p, &bound))
                return RK_NO_ID;
            rk_asm_add_int(p, bound);
        } while (rk_asm_accept(p, ','));
    } else if (!rk_asm_expect_word(p, "bounds") || !rk_asm_expect(p, '=') || !rk_asm_int_list(p)) {
        return RK_NO_ID;
    }
    if (!rk_asm_expect(p, '>'))
        return RK_NO_ID;
    rk_field bounds = {RK_WORD_bounds, rk_asm_take_ints(p)};
    rk_node node = {.kind = RK_NODE_STRUCT, .name = RK_WORD_type_extensions};
    return rk_asm_node(p, node, &bounds, 1);
}

static uint32_t scalar_type(rk_asm *p, rk_span word);

// The element of a tensor: a scalar, or complex<scalar>.
static uint32_t element_type(rk_asm *p) {
    rk_span word = rk_asm_word(p);
    if (!rk_span_is(word, "complex"))
        return scalar_type(p, word);
    if (!rk_asm_expect(p, '<'))
        return RK_NO_ID;
    rk_field part = {RK_NO_ID, scalar_type(p, rk_asm_word(p))};
    if (part.node == RK_NO_ID || !rk_asm_expect(p, '>'))
        return RK_NO_ID;
    return rk_asm_node(p, (rk_node){.kind = RK_NODE_TYPE, .name = RK_WORD_complex}, &part, 1);
}

// `p->at` is behind "tensor<".
static uint32_t read_tensor(rk_asm *p) {
    rk_field fields[2] = {{RK_NO_ID, RK_NO_ID}, {RK_WORD_encoding, RK_NO_ID}};
    uint32_t count = 1;
    if (rk_asm_accept_text(p, "*x")) {
        fields[0].node = element_type(p);
        rk_node node = {.kind = RK_NODE_TYPE, .name = RK_WORD_unranked_tensor};
        return rk_asm_expect(p, '>') ? rk_asm_node(p, node, fields, 1) : RK_NO_ID;
    }
    if (!read_dims(p))
        return RK_NO_ID;
    if (p->ints.failed) {
        rk_asm_out_of_memory(p);
        return RK_NO_ID;
    }
    rk_node node = {.kind = RK_NODE_TYPE,
                    .name = RK_WORD_tensor,
                    .bytes = rk_model_keep(p->model, rk_buf_span(&p->ints))};
    fields[0].node = element_type(p);
    if (!p->failed && rk_asm_accept(p, ',')) {
        rk_span alias = rk_asm_accept_alias(p);
        fields[1].node = alias.len ? rk_asm_alias(p, alias) : read_encoding(p);
        count = 2;
    }
    if (p->failed || !rk_asm_expect(p, '>'))
        return RK_NO_ID;
    return rk_asm_node(p, node, fields, count);
}

// Returns the text of a tensor type, as far as it is of the common kind; else an empty span.
static rk_span tensor_text(const rk_asm *p) {
    enum { MOST_BYTES = 160 };
    static const char head[] = "tensor<";
    size_t left = (size_t)(p->end - p->at), depth = 1, at = sizeof head - 1;
    if (left < sizeof head || memcmp(p->at, head, at) != 0)
        return (rk_span){0};
    for (left = left < MOST_BYTES ? left : MOST_BYTES; at < left; at++) {
        uint8_t c = p->at[at];
        depth += c == '<';
        if (c == '>' && --depth == 0)
            return rk_span_of(p->at, at + 1);
        if (c <= ' ' || c == '"' || c == '/' || c == '#')
            break;
    }
    return (rk_span){0};
}

// Reads each text of a tensor type once.
static uint32_t tensor_type(rk_asm *p) {
    enum { REMEMBERED_BYTES = 64 };
    bool is_new = false;
    rk_span text = tensor_text(p);
    uint32_t number = text.len ? rk_intern(&p->type_texts, text, &is_new) : 0;
    if (p->type_texts.failed) {
        rk_asm_out_of_memory(p);
        return RK_NO_ID;
    }
    if (RK_LIKELY(text.len && !is_new)) {
        p->at += text.len;
        return p->type_nodes.items[number];
    }
    p->at += sizeof "tensor<" - 1;
    uint32_t node = read_tensor(p);
    if (is_new &&
        (!rk_model_take_budget(p->model, REMEMBERED_BYTES) || !RK_ASM_PUSH(p, p->type_nodes, node)))
        rk_asm_out_of_memory(p);
    return p->failed ? RK_NO_ID : node;
}

// Other types.

// Integers, floats, index, none: the types that VHLO has.
static bool is_scalar(uint32_t word) {
    return word <= RK_WORD_none && // the first words are scalar types
           !(word >= RK_WORD_si2 && word <= RK_WORD_si64) && word != RK_WORD_f80 &&
           word != RK_WORD_f128;
}

static uint32_t find_word(const rk_asm *p, rk_span word) {
    uint32_t number = rk_interner_find(&p->names, word);
    return number < RK_WORD_COUNT ? number : RK_WORD_COUNT;
}

static uint32_t scalar_type(rk_asm *p, rk_span word) {
    uint32_t id = find_word(p, word);
    if (!is_scalar(id)) {
        rk_asm_fail(p, "an unknown type");
        return RK_NO_ID;
    }
    return rk_asm_scalar_type(p, id);
}

bool rk_asm_type_list(rk_asm *p) {
    do {
        uint32_t type = rk_asm_type(p);
        if (type == RK_NO_ID || !RK_ASM_PUSH(p, p->nodes, type))
            return false;
    } while (rk_asm_accept(p, ','));
    return true;
}

bool rk_asm_result_types(rk_asm *p) {
    if (!rk_asm_accept(p, '(')) {
        uint32_t type = rk_asm_type(p);
        return type != RK_NO_ID && RK_ASM_PUSH(p, p->nodes, type);
    }
    if (rk_asm_accept(p, ')'))
        return true;
    return rk_asm_type_list(p) && rk_asm_expect(p, ')');
}

static uint32_t function_type(rk_asm *p) {
    rk_field fields[2] = {{RK_WORD_inputs, RK_NO_ID}, {RK_WORD_results, RK_NO_ID}};
    uint32_t first = p->nodes.count;
    if (!rk_asm_result_types(p) || !rk_asm_expect_text(p, "->"))
        return RK_NO_ID;
    fields[0].node = rk_asm_pop_list(p, first);
    if (!rk_asm_result_types(p))
        return RK_NO_ID;
    fields[1].node = rk_asm_pop_list(p, first);
    return rk_asm_node(p, (rk_node){.kind = RK_NODE_TYPE, .name = RK_WORD_function}, fields, 2);
}

// A type with a list of types in "<>".
static uint32_t type_of_types(rk_asm *p, uint32_t word) {
    uint32_t first = p->nodes.count;
    if (!rk_asm_expect(p, '<') ||
        (!rk_asm_accept(p, '>') && (!rk_asm_type_list(p) || !rk_asm_expect(p, '>'))))
        return RK_NO_ID;
    rk_field list = {RK_NO_ID, rk_asm_pop_list(p, first)};
    return rk_asm_node(p, (rk_node){.kind = RK_NODE_TYPE, .name = word}, &list, 1);
}

static uint32_t other_type(rk_asm *p) {
    const uint8_t *start = p->at;
    rk_span alias = rk_asm_accept_alias(p);
    if (alias.len)
        return rk_asm_alias(p, alias);
    if (*start == '(')
        return function_type(p);
    if (rk_asm_accept_text(p, "!stablehlo.token"))
        return rk_asm_scalar_type(p, RK_WORD_token);
    rk_span word = rk_asm_word(p);
    if (rk_span_is(word, "tuple"))
        return type_of_types(p, RK_WORD_tuple);
    if (rk_span_is(word, "complex")) {
        p->at = start;
        return element_type(p);
    }
    if (rk_span_is(word, "tensor") && rk_asm_accept(p, '<'))
        return read_tensor(p);
    return scalar_type(p, word);
}

uint32_t rk_asm_type(rk_asm *p) {
    uint8_t c = rk_asm_peek(p);
    if (RK_LIKELY(c == 't' && p->end - p->at > 7 && p->at[6] == '<'))
        if (RK_LIKELY(memcmp(p->at, "tensor", 6) == 0))
            return tensor_type(p);
    if (!c || p->depth == RK_ASM_MAX_DEPTH) {
        rk_asm_fail(p, c ? "types are nested too deeply" : "the text ends in a type");
        return RK_NO_ID;
    }
    p->depth++;
    uint32_t type = other_type(p);
    p->depth--;
    return type;
}

bool rk_asm_is_type(rk_asm *p) {
    uint8_t c = rk_asm_peek(p);
    if (c == '!' || c == '(')
        return true;
    const uint8_t *before = p->at;
    rk_span word = rk_asm_word(p);
    p->at = before;
    return rk_span_is(word, "tensor") || rk_span_is(word, "tuple") || rk_span_is(word, "complex") ||
           is_scalar(find_word(p, word));
}
