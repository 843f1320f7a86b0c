// Source: openxla/shardy shardy/dialect/sdy/ir/attrs.td, parsers.cc; the order of fields:
// bytecode.td.
#include "program/mlir/asm/sdy_attrs.h"

#include "program/mlir/asm/nodes.h"
#include "program/mlir/asm/sdy_rule.h"
#include "program/mlir/asm/types.h"

// Reads items up to `close` onto `p->nodes`, and returns them as a list. The open bracket is taken.
static uint32_t read_list(rk_asm *p, char close, uint32_t (*read_item)(rk_asm *)) {
    uint32_t first = p->nodes.count;
    if (!rk_asm_accept(p, close)) {
        do {
            uint32_t item = read_item(p);
            if (item == RK_NO_ID || !RK_ASM_PUSH(p, p->nodes, item))
                return RK_NO_ID;
        } while (rk_asm_accept(p, ','));
        if (!rk_asm_expect(p, close))
            return RK_NO_ID;
    }
    return rk_asm_pop_list(p, first);
}

static uint32_t make_struct(rk_asm *p, uint32_t word, const rk_field *fields, uint32_t count) {
    return rk_asm_node(p, (rk_node){.kind = RK_NODE_STRUCT, .name = word}, fields, count);
}

static uint32_t read_string(rk_asm *p) {
    rk_span text;
    return rk_asm_string(p, &text) ? rk_asm_bytes_node(p, RK_NODE_STRING, text) : RK_NO_ID;
}

static uint32_t read_int(rk_asm *p) {
    int64_t value;
    return rk_asm_integer(p, &value) ? rk_asm_int64(p, value) : RK_NO_ID;
}

// "x"=4
static uint32_t read_mesh_axis(rk_asm *p) {
    rk_field fields[2] = {{RK_WORD_name, read_string(p)}, {RK_WORD_size, RK_NO_ID}};
    if (p->failed || !rk_asm_expect(p, '='))
        return RK_NO_ID;
    fields[1].node = read_int(p);
    return make_struct(p, RK_WORD_mesh_axis, fields, 2);
}

uint32_t rk_asm_sdy_mesh(rk_asm *p) {
    rk_field fields[2] = {{RK_WORD_axes, RK_NO_ID}, {RK_WORD_device_ids, RK_NO_ID}};
    if (!rk_asm_expect(p, '<') || !rk_asm_expect(p, '['))
        return RK_NO_ID;
    fields[0].node = read_list(p, ']', read_mesh_axis);
    rk_buf_clear(&p->ints);
    if (!p->failed && rk_asm_accept(p, ',') &&
        (!rk_asm_expect_word(p, "device_ids") || !rk_asm_expect(p, '=') || !rk_asm_int_list(p)))
        return RK_NO_ID;
    if (p->failed || !rk_asm_expect(p, '>'))
        return RK_NO_ID;
    fields[1].node = rk_asm_take_ints(p);
    return make_struct(p, RK_WORD_mesh, fields, 2);
}

// "x" or "x":(2)4
static uint32_t read_axis(rk_asm *p) {
    rk_field fields[2] = {{RK_WORD_name, read_string(p)}, {RK_WORD_sub_axis_info, RK_NO_ID}};
    rk_field sub[2] = {{RK_WORD_pre_size, RK_NO_ID}, {RK_WORD_size, RK_NO_ID}};
    if (p->failed || !rk_asm_accept(p, ':'))
        return make_struct(p, RK_WORD_axis_ref, fields, 1);
    if (!rk_asm_expect(p, '('))
        return RK_NO_ID;
    sub[0].node = read_int(p);
    if (p->failed || !rk_asm_expect(p, ')'))
        return RK_NO_ID;
    sub[1].node = read_int(p);
    fields[1].node = make_struct(p, RK_WORD_sub_axis_info, sub, 2);
    return make_struct(p, RK_WORD_axis_ref, fields, 2);
}

static bool read_priority(rk_asm *p, uint32_t *out_node) {
    rk_span word = rk_asm_word(p);
    int64_t priority = 0;
    bool is_good = word.len >= 2 && word.len < 10 && word.data[0] == 'p' &&
                   (word.data[1] != '0' || word.len == 2);
    for (size_t i = 1; i < word.len && is_good; i++) {
        is_good = rk_asm_is_digit(word.data[i]);
        priority = priority * 10 + (word.data[i] - '0');
    }
    if (!is_good) {
        rk_asm_fail(p, "a priority of a sharding that is not understood");
        return false;
    }
    *out_node = rk_asm_int64(p, priority);
    return *out_node != RK_NO_ID;
}

// {"x", "y", ?}p1
static uint32_t read_dimension(rk_asm *p) {
    rk_field fields[3] = {
        {RK_WORD_axes, RK_NO_ID}, {RK_WORD_is_closed, RK_NO_ID}, {RK_WORD_priority, RK_NO_ID}};
    uint32_t first = p->nodes.count;
    bool is_closed = true;
    if (!rk_asm_expect(p, '{'))
        return RK_NO_ID;
    while (is_closed && !p->failed && rk_asm_peek(p) != '}') {
        if (p->nodes.count > first && !rk_asm_expect(p, ','))
            return RK_NO_ID;
        is_closed = !rk_asm_accept(p, '?');
        uint32_t axis = is_closed ? read_axis(p) : RK_NO_ID;
        if (is_closed && (axis == RK_NO_ID || !RK_ASM_PUSH(p, p->nodes, axis)))
            return RK_NO_ID;
    }
    if (p->failed || !rk_asm_expect(p, '}'))
        return RK_NO_ID;
    fields[0].node = rk_asm_pop_list(p, first);
    fields[1].node = rk_asm_bool(p, is_closed);
    bool has_priority = rk_asm_here(p) == 'p';
    if (has_priority && !read_priority(p, &fields[2].node))
        return RK_NO_ID;
    return make_struct(p, RK_WORD_dim_sharding, fields, has_priority ? 3 : 2);
}

static uint32_t read_mesh_or_name(rk_asm *p) {
    rk_span name;
    if (rk_asm_accept_word(p, "mesh"))
        return rk_asm_sdy_mesh(p);
    return rk_asm_symbol(p, &name) ? rk_asm_bytes_node(p, RK_NODE_SYMBOL, name) : RK_NO_ID;
}

static uint32_t read_axes(rk_asm *p) {
    return rk_asm_expect(p, '{') ? read_list(p, '}', read_axis) : RK_NO_ID;
}

static bool is_empty(const rk_asm *p, uint32_t list) {
    return p->model->nodes.items[list].field_count == 0;
}

// Reads ", replicated={…}" and ", unreduced={…}" in any order. The bytecode has unreduced axes only
// if there are any. Their reduction, if it is no sum, is not understood.
static bool read_other_axes(rk_asm *p, uint32_t *out_replicated, uint32_t *out_unreduced) {
    *out_replicated = *out_unreduced = RK_NO_ID;
    while (!p->failed && rk_asm_accept(p, ',')) {
        rk_span word = rk_asm_word(p);
        uint32_t *out = rk_span_is(word, "replicated")  ? out_replicated
                        : rk_span_is(word, "unreduced") ? out_unreduced
                                                        : NULL;
        if (!out || *out != RK_NO_ID) {
            rk_asm_fail(p, "a sharding with unknown parts");
            return false;
        }
        *out = rk_asm_expect(p, '=') ? read_axes(p) : RK_NO_ID;
    }
    if (!p->failed && *out_replicated == RK_NO_ID)
        *out_replicated = rk_asm_pop_list(p, p->nodes.count);
    return !p->failed;
}

uint32_t rk_asm_sdy_sharding(rk_asm *p) {
    rk_field fields[4] = {{RK_WORD_mesh, RK_NO_ID},
                          {RK_WORD_dims, RK_NO_ID},
                          {RK_WORD_replicated_axes, RK_NO_ID},
                          {RK_WORD_unreduced_axes, RK_NO_ID}};
    if (!rk_asm_expect(p, '<'))
        return RK_NO_ID;
    fields[0].node = read_mesh_or_name(p);
    if (p->failed || !rk_asm_expect(p, ',') || !rk_asm_expect(p, '['))
        return RK_NO_ID;
    fields[1].node = read_list(p, ']', read_dimension);
    if (p->failed || !read_other_axes(p, &fields[2].node, &fields[3].node) ||
        !rk_asm_expect(p, '>'))
        return RK_NO_ID;
    bool is_unreduced = fields[3].node != RK_NO_ID && !is_empty(p, fields[3].node);
    return make_struct(p, RK_WORD_sharding, fields, is_unreduced ? 4 : 3);
}

static uint32_t wrap(rk_asm *p, uint32_t word, uint32_t list) {
    rk_field field = {RK_NO_ID, list};
    return make_struct(p, word, &field, 1);
}

uint32_t rk_asm_sdy_sharding_per_value(rk_asm *p) {
    uint32_t list = rk_asm_expect(p, '[') ? read_list(p, ']', rk_asm_sdy_sharding) : RK_NO_ID;
    return wrap(p, RK_WORD_sharding_per_value, list);
}

uint32_t rk_asm_sdy_manual_axes(rk_asm *p) {
    uint32_t list = rk_asm_expect(p, '{') ? read_list(p, '}', read_string) : RK_NO_ID;
    return wrap(p, RK_WORD_manual_axes, list);
}

uint32_t rk_asm_sdy_attr(rk_asm *p) {
    uint32_t node = RK_NO_ID;
    if (rk_asm_accept_text(p, "<manual_axes"))
        node = rk_asm_sdy_manual_axes(p);
    else if (rk_asm_accept_text(p, ".sharding_per_value<"))
        node = rk_asm_sdy_sharding_per_value(p);
    else if (rk_asm_accept_text(p, ".sharding<"))
        return p->at--, rk_asm_sdy_sharding(p);
    else if (rk_asm_accept_text(p, ".mesh<"))
        return p->at--, rk_asm_sdy_mesh(p);
    else if (rk_asm_accept_text(p, ".op_sharding_rule<"))
        return rk_asm_sdy_rule(p);
    else
        rk_asm_fail(p, "an unknown attribute of Shardy");
    return node != RK_NO_ID && rk_asm_expect(p, '>') ? node : RK_NO_ID;
}
