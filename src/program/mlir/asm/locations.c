// Locations that are not understood are left out: they are only for people.
#include "program/mlir/asm/locations.h"

#include "program/mlir/asm/nodes.h"
#include "program/mlir/asm/types.h"

// A location that is an alias, which may be defined later: this bit and the alias's number. Only in
// operations and values, until the end of the text.
static const uint32_t LATE = UINT32_C(1) << 31;

static uint32_t read_location(rk_asm *p);

// "file":1:2, "file":1:2 to 3:4, "name", "name"(location)
static uint32_t named_location(rk_asm *p) {
    rk_span text;
    int64_t line, column;
    rk_field inner = {RK_NO_ID, RK_NO_ID};
    rk_node node = {.kind = RK_NODE_LOC_NAME, .name = RK_NO_ID};
    if (!rk_asm_string(p, &text))
        return RK_NO_ID;
    node.bytes = text;
    if (rk_asm_accept(p, ':')) {
        if (!rk_asm_integer(p, &line) || !rk_asm_expect(p, ':') || !rk_asm_integer(p, &column))
            return RK_NO_ID;
        node.kind = RK_NODE_LOC_FILE;
        node.value = ((uint64_t)line & UINT32_MAX) << 32 | ((uint64_t)column & UINT32_MAX);
        if (rk_asm_accept_word(p, "to"))
            while (rk_asm_accept(p, ':') || rk_asm_is_digit(rk_asm_here(p)))
                if (rk_asm_is_digit(rk_asm_here(p)) && !rk_asm_integer(p, &column))
                    return RK_NO_ID;
        return rk_asm_node(p, node, NULL, 0);
    }
    if (!rk_asm_accept(p, '(')) {
        inner.node = rk_asm_word_node(p, RK_NODE_LOC_UNKNOWN, RK_NO_ID);
        return rk_asm_node(p, node, &inner, 1);
    }
    inner.node = read_location(p);
    if (inner.node == RK_NO_ID || !rk_asm_expect(p, ')'))
        return RK_NO_ID;
    return rk_asm_node(p, node, &inner, 1);
}

// callsite(location at location)
static uint32_t call_location(rk_asm *p) {
    rk_field fields[2] = {{RK_NO_ID, RK_NO_ID}, {RK_NO_ID, RK_NO_ID}};
    if (!rk_asm_expect(p, '('))
        return RK_NO_ID;
    fields[0].node = read_location(p);
    if (fields[0].node == RK_NO_ID || !rk_asm_expect_word(p, "at"))
        return RK_NO_ID;
    fields[1].node = read_location(p);
    if (fields[1].node == RK_NO_ID || !rk_asm_expect(p, ')'))
        return RK_NO_ID;
    return rk_asm_node(p, (rk_node){.kind = RK_NODE_LOC_CALL, .name = RK_NO_ID}, fields, 2);
}

// fused[locations]
static uint32_t fused_location(rk_asm *p) {
    uint32_t first = p->nodes.count;
    if (!rk_asm_expect(p, '['))
        return RK_NO_ID;
    do {
        uint32_t location = read_location(p);
        if (location == RK_NO_ID || !RK_ASM_PUSH(p, p->nodes, location))
            return RK_NO_ID;
    } while (rk_asm_accept(p, ','));
    uint32_t node = rk_asm_pop_nodes(p, RK_NODE_LOC_FUSED, first);
    return node != RK_NO_ID && rk_asm_expect(p, ']') ? node : RK_NO_ID;
}

static uint32_t other_location(rk_asm *p) {
    rk_span alias = rk_asm_accept_alias(p);
    if (alias.len) {
        uint32_t node = rk_asm_alias(p, alias);
        bool is_location =
            node != RK_NO_ID && p->model->nodes.items[node].kind >= RK_NODE_LOC_UNKNOWN;
        return is_location ? node : RK_NO_ID;
    }
    if (rk_asm_peek(p) == '"')
        return named_location(p);
    if (rk_asm_accept_word(p, "unknown"))
        return rk_asm_word_node(p, RK_NODE_LOC_UNKNOWN, RK_NO_ID);
    if (rk_asm_accept_word(p, "callsite"))
        return call_location(p);
    return rk_asm_accept_word(p, "fused") ? fused_location(p) : RK_NO_ID;
}

static uint32_t read_location(rk_asm *p) {
    if (p->depth == RK_ASM_MAX_DEPTH)
        return RK_NO_ID;
    p->depth++;
    uint32_t node = other_location(p);
    p->depth--;
    return node;
}

// Reads a location in brackets. Leaves it out if it is not understood.
static uint32_t try_location(rk_asm *p) {
    const uint8_t *start = p->at;
    uint32_t nodes = p->nodes.count;
    unsigned depth = p->depth;
    uint32_t node = read_location(p);
    bool is_whole = node != RK_NO_ID && !p->failed && rk_asm_accept(p, ')');
    if (p->model->out_of_memory)
        return RK_NO_ID;
    if (!is_whole) { // forget the failure and skip the text
        p->failed = false;
        p->why = NULL;
        p->nodes.count = nodes;
        p->depth = depth;
        p->at = start;
        (void)rk_asm_skip_bracket(p, '(', ')');
    }
    return is_whole ? node : RK_NO_ID;
}

bool rk_asm_accept_location(rk_asm *p, uint32_t *out_location) {
    bool is_new;
    *out_location = RK_NO_ID;
    if (rk_asm_peek(p) != 'l' || !rk_asm_accept_word(p, "loc"))
        return true;
    if (!rk_asm_expect(p, '('))
        return false;
    if (!p->with_locations)
        return rk_asm_skip_bracket(p, '(', ')');
    rk_span alias = rk_asm_accept_alias(p);
    if (!alias.len) {
        *out_location = try_location(p);
        return !p->failed;
    }
    uint32_t number = rk_intern(&p->aliases, alias, &is_new);
    if (p->aliases.failed || (is_new && !RK_ASM_PUSH(p, p->alias_nodes, RK_NO_ID)) ||
        number >= LATE) {
        rk_asm_out_of_memory(p);
        return false;
    }
    *out_location = LATE | number;
    return rk_asm_expect(p, ')');
}

bool rk_asm_location_alias(rk_asm *p, uint32_t number) {
    if (!rk_asm_expect(p, '('))
        return false;
    if (!p->with_locations)
        return rk_asm_skip_bracket(p, '(', ')');
    uint32_t node = try_location(p);
    p->alias_nodes.items[number] = node;
    return !p->failed;
}

static uint32_t settle(const rk_asm *p, uint32_t location) {
    if (location == RK_NO_ID || !(location & LATE))
        return location;
    uint32_t node = p->alias_nodes.items[location & ~LATE];
    return node != RK_NO_ID && p->model->nodes.items[node].kind >= RK_NODE_LOC_UNKNOWN ? node
                                                                                       : RK_NO_ID;
}

void rk_asm_settle_locations(rk_asm *p) {
    rk_model *m = p->model;
    for (uint32_t i = 0; i < m->ops.count; i++)
        m->ops.items[i].location = settle(p, m->ops.items[i].location);
    for (uint32_t i = 0; i < m->values.count; i++)
        m->values.items[i].location = settle(p, m->values.items[i].location);
}
