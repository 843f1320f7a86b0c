#include "program/mlir/asm/function.h"

#include "program/mlir/asm/attrs.h"
#include "program/mlir/asm/locations.h"
#include "program/mlir/asm/nodes.h"
#include "program/mlir/asm/pretty.h"
#include "program/mlir/asm/types.h"

// Reads a type with optional attributes, and pushes both: the type, then a dictionary.
static bool read_typed(rk_asm *p, bool may_have_attrs, rk_asm_target *target) {
    target->type = rk_asm_type(p);
    if (target->type == RK_NO_ID)
        return false;
    bool has_attrs = may_have_attrs && rk_asm_accept(p, '{');
    uint32_t attrs = has_attrs ? rk_asm_dictionary(p) : rk_asm_pop_dict(p, p->fields.count);
    return attrs != RK_NO_ID && RK_ASM_PUSH(p, p->nodes, target->type) &&
           RK_ASM_PUSH(p, p->nodes, attrs);
}

static bool read_argument(rk_asm *p, bool is_named) {
    rk_asm_target target = {.count = 1, .type = RK_NO_ID, .location = RK_NO_ID};
    if (is_named && (!rk_asm_target_name(p, false, &target) || !rk_asm_expect(p, ':')))
        return false;
    if (!read_typed(p, true, &target) || !rk_asm_accept_location(p, &target.location))
        return false;
    return !is_named || RK_ASM_PUSH(p, p->targets, target);
}

// Reads arguments or results up to ")". Either all have names, or none.
static bool read_list(rk_asm *p, bool *out_named) {
    *out_named = rk_asm_peek(p) == '%';
    if (rk_asm_accept(p, ')'))
        return true;
    do {
        if (!read_argument(p, *out_named))
            return false;
    } while (rk_asm_accept(p, ','));
    return rk_asm_expect(p, ')');
}

// Returns every second item of `p->nodes` from `first` to `end`, as a list.
static uint32_t every_second(rk_asm *p, uint32_t first, uint32_t end) {
    uint32_t base = p->nodes.count;
    for (uint32_t i = first; i < end; i += 2)
        if (!RK_ASM_PUSH(p, p->nodes, p->nodes.items[i]))
            return RK_NO_ID;
    return rk_asm_pop_list(p, base);
}

// Adds the dictionaries of arguments or results, if one has an attribute.
static bool add_dictionaries(rk_asm *p, const char *name, uint32_t first, uint32_t end) {
    bool has_any = false;
    for (uint32_t i = first + 1; i < end; i += 2)
        has_any |= p->model->nodes.items[p->nodes.items[i]].field_count != 0;
    return !has_any || rk_asm_add_attr(p, name, every_second(p, first + 1, end));
}

static bool read_results(rk_asm *p) {
    rk_asm_target target = {.count = 1};
    bool is_named;
    if (!rk_asm_accept_text(p, "->"))
        return true;
    if (!rk_asm_accept(p, '('))
        return read_typed(p, false, &target); // "{" starts the body
    if (!read_list(p, &is_named))
        return false;
    if (is_named)
        rk_asm_fail(p, "a function whose results have names");
    return !is_named;
}

static bool read_signature(rk_asm *p, bool *out_named) {
    uint32_t first = p->nodes.count;
    if (!rk_asm_expect(p, '(') || !read_list(p, out_named))
        return false;
    uint32_t middle = p->nodes.count;
    if (!read_results(p))
        return false;
    uint32_t end = p->nodes.count;
    const rk_field fields[] = {{RK_WORD_inputs, every_second(p, first, middle)},
                               {RK_WORD_results, every_second(p, middle, end)}};
    uint32_t type = rk_asm_node(p, (rk_node){.kind = RK_NODE_TYPE, .name = RK_WORD_function},
                                fields, RK_ARRAY_LEN(fields));
    bool is_good = rk_asm_add_attr(p, "function_type", type) &&
                   add_dictionaries(p, "arg_attrs", first, middle) &&
                   add_dictionaries(p, "res_attrs", middle, end);
    p->nodes.count = first;
    return is_good;
}

static bool read_head(rk_asm *p) {
    static const char *const visibilities[] = {"public", "private", "nested"};
    rk_span name;
    for (size_t i = 0; i < RK_ARRAY_LEN(visibilities); i++) {
        if (!rk_asm_accept_word(p, visibilities[i]))
            continue;
        uint32_t node = rk_asm_bytes_node(p, RK_NODE_STRING, rk_span_text(visibilities[i]));
        if (!rk_asm_add_attr(p, "sym_visibility", node))
            return false;
        break;
    }
    return rk_asm_symbol(p, &name) &&
           rk_asm_add_attr(p, "sym_name", rk_asm_bytes_node(p, RK_NODE_STRING, name));
}

rk_asm_next rk_asm_read_function(rk_asm *p, const rk_asm_op *op) {
    bool is_named;
    if (!read_head(p) || !read_signature(p, &is_named))
        return RK_ASM_FAILED;
    if (rk_asm_accept_word(p, "attributes") && (!rk_asm_expect(p, '{') || !rk_asm_named_attrs(p)))
        return RK_ASM_FAILED;
    if (rk_asm_accept(p, '{')) {
        if (is_named || p->targets.count == op->first_arg)
            return RK_ASM_REGION;
        rk_asm_fail(p, "a function whose arguments have no names");
        return RK_ASM_FAILED;
    }
    // A declaration has a region without blocks.
    return RK_ASM_PUSH(p, p->regions, (rk_region){0, 0}) &&
                   RK_ASM_PUSH(p, p->counts, 0) // the region has a number, too
               ? RK_ASM_END
               : RK_ASM_FAILED;
}
