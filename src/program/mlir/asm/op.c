#include "program/mlir/asm/op.h"

#include "program/mlir/asm/attrs.h"
#include "program/mlir/asm/forms.h"
#include "program/mlir/asm/locations.h"
#include "program/mlir/asm/nodes.h"
#include "program/mlir/asm/types.h"

bool rk_asm_begin_op(rk_asm *p, const rk_asm_spec *spec, rk_asm_style style, uint32_t name,
                     uint32_t first_target, rk_asm_op *out_op) {
    rk_op op = {.name = name,
                .location = RK_NO_ID,
                .first_operand = p->model->operands.count,
                .first_result = rk_asm_region_values(p)};
    *out_op = (rk_asm_op){.id = p->model->ops.count,
                          .spec = spec,
                          .style = style,
                          .first_target = first_target,
                          .first_arg = p->targets.count,
                          .first_field = p->fields.count,
                          .first_type = p->nodes.count,
                          .first_region = p->regions.count};
    rk_asm_resume_op(p, out_op);
    if (name == RK_NO_ID || rk_model_add_op(p->model, op) == RK_NO_ID ||
        !RK_ASM_PUSH(p, p->op_regions, p->region)) {
        rk_asm_out_of_memory(p);
        return false;
    }
    return true;
}

void rk_asm_resume_op(rk_asm *p, const rk_asm_op *op) {
    // The bytecode reader leaves the attributes of constants as they are.
    p->is_vhlo = rk_asm_is_vhlo(op->spec);
    p->nesting = strcmp(op->spec->name, "stablehlo.constant") == 0;
    p->names_functions = false;
    p->op_name = op->spec->name;
    p->key = (rk_span){0};
}

// Defines the results and binds their names. There are as many names as results, or none.
static bool define_results(rk_asm *p, const rk_asm_op *op) {
    uint32_t next = op->first_type, end = p->nodes.count, first = p->model->values.count;
    for (uint32_t i = next; i < end; i++)
        if (rk_asm_define(p, p->nodes.items[i], RK_NO_ID) == RK_NO_ID)
            return false;
    for (uint32_t t = op->first_target; t < op->first_arg; t++) {
        if (!rk_asm_bind(p, &p->targets.items[t], first))
            return false;
        first += p->targets.items[t].count;
    }
    return true;
}

static bool has_named_types(rk_asm *p, const rk_asm_op *op) {
    uint64_t named = 0;
    for (uint32_t t = op->first_target; t < op->first_arg; t++)
        named += p->targets.items[t].count;
    if (!named || named == p->nodes.count - op->first_type)
        return true;
    rk_asm_fail(p, "an operation with another number of results than names");
    return false;
}

static bool add_regions(rk_asm *p, const rk_asm_op *op, rk_op *out) {
    uint32_t count = p->regions.count - op->first_region;
    out->first_region = p->model->regions.count;
    out->region_count = count;
    if (count && rk_model_add_regions(p->model, count) == RK_NO_ID) {
        rk_asm_out_of_memory(p);
        return false;
    }
    for (uint32_t i = 0; i < count; i++)
        p->model->regions.items[out->first_region + i] = p->regions.items[op->first_region + i];
    p->regions.count = op->first_region;
    return true;
}

static bool add_attrs(rk_asm *p, const rk_asm_op *op, rk_op *out) {
    uint32_t dictionary = rk_asm_pop_dict(p, op->first_field);
    dictionary = rk_asm_complete_attrs(p, op->spec, dictionary);
    if (dictionary == RK_NO_ID) {
        rk_asm_fail(p, "attributes that are not understood");
        return false;
    }
    out->first_attr = p->model->nodes.items[dictionary].first_field;
    out->attr_count = p->model->nodes.items[dictionary].field_count;
    return true;
}

bool rk_asm_end_op(rk_asm *p, const rk_asm_op *op, bool with_programs,
                   rk_payload_fn *read_payload) {
    rk_op out = p->model->ops.items[op->id];
    out.first_successor = p->model->successors.count;
    out.location = op->location;
    if (p->failed || (!op->has_location && !rk_asm_accept_location(p, &out.location)) ||
        !add_attrs(p, op, &out) || !add_regions(p, op, &out) || !has_named_types(p, op))
        return false;
    out.result_count = p->nodes.count - op->first_type;
    if (!define_results(p, op))
        return false;
    p->nodes.count = op->first_type;
    p->targets.count = op->first_target;
    if (read_payload && strcmp(op->spec->name, "stablehlo.custom_call") == 0)
        read_payload(p->model, p->with_locations ? RK_READ_LOCATIONS : 0, with_programs, &out);
    out.end = p->model->ops.count;
    p->model->ops.items[op->id] = out;
    return !p->model->out_of_memory;
}

// Operands. They follow each other in the model, because no other operation starts before an
// operation's operands are read.

bool rk_asm_add_operand(rk_asm *p, uint32_t value) {
    if (rk_model_add_operand(p->model, value) == RK_NO_ID) {
        rk_asm_out_of_memory(p);
        return false;
    }
    p->model->ops.items[p->model->ops.count - 1].operand_count++;
    return true;
}

bool rk_asm_operand(rk_asm *p) {
    uint32_t value = rk_asm_use(p);
    return value != RK_NO_ID && rk_asm_add_operand(p, value);
}

bool rk_asm_operands(rk_asm *p) {
    if (rk_asm_peek(p) != '%')
        return true;
    do {
        if (!rk_asm_operand(p))
            return false;
    } while (rk_asm_accept(p, ','));
    return true;
}

uint32_t rk_asm_operand_count(const rk_asm *p, const rk_asm_op *op) {
    return p->model->ops.items[op->id].operand_count;
}

// Types.

static bool is_type_of_operand(rk_asm *p, const rk_op *op, uint32_t index, uint32_t type) {
    uint32_t value = p->model->operands.items[op->first_operand + index];
    if (p->model->values.items[value].type == type)
        return true;
    rk_asm_fail(p, "an operand of another type than its value");
    return false;
}

bool rk_asm_check_operands(rk_asm *p, const rk_asm_op *op, uint32_t first_node) {
    const rk_op *in_model = &p->model->ops.items[op->id];
    if (p->nodes.count - first_node != in_model->operand_count) {
        rk_asm_fail(p, "an operation with another number of operands than types");
        return false;
    }
    for (uint32_t i = 0; i < in_model->operand_count; i++)
        if (!is_type_of_operand(p, in_model, i, p->nodes.items[first_node + i]))
            return false;
    return true;
}

bool rk_asm_types_of_function(rk_asm *p, const rk_asm_op *op, uint32_t type) {
    const rk_model *m = p->model;
    if (type == RK_NO_ID)
        return false;
    const rk_op *in_model = &m->ops.items[op->id];
    const rk_node *node = &m->nodes.items[type];
    if (node->kind != RK_NODE_TYPE || node->name != RK_WORD_function) {
        rk_asm_fail(p, "an operation without the types of its operands and results");
        return false;
    }
    const rk_node *inputs = &m->nodes.items[m->fields.items[node->first_field].node];
    const rk_node *results = &m->nodes.items[m->fields.items[node->first_field + 1].node];
    if (inputs->field_count != in_model->operand_count) {
        rk_asm_fail(p, "an operation with another number of operands than types");
        return false;
    }
    for (uint32_t i = 0; i < inputs->field_count; i++)
        if (!is_type_of_operand(p, in_model, i, m->fields.items[inputs->first_field + i].node))
            return false;
    for (uint32_t i = 0; i < results->field_count; i++)
        if (!RK_ASM_PUSH(p, p->nodes, m->fields.items[results->first_field + i].node))
            return false;
    return true;
}
