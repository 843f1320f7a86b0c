// Leaves casts without a meaning out of the canonical form. A conversion to VHLO that keeps
// operations of other dialects (Shardy) puts builtin.unrealized_conversion_cast between values of
// both. In the model both have the same type, so such a cast does nothing. Other encodings of the
// same program have no casts.
#include "base/alloc.h"
#include "program/canon/canon.h"

static bool is_named_cast(const rk_model *m, const rk_op *op) {
    static const char name[] = "builtin.unrealized_conversion_cast";
    return rk_span_equal(rk_model_string(m, op->name), rk_span_of(name, sizeof name - 1));
}

// An operand with a higher number than the result is possible only in a damaged program.
static bool is_cast(rk_canon *c, const rk_op *op) {
    const rk_model *m = c->model;
    if (op->operand_count != 1 || op->result_count != 1 || op->attr_count || op->region_count ||
        op->successor_count || !is_named_cast(m, op))
        return false;
    uint32_t operand = m->operands.items[op->first_operand];
    return operand < op->first_result &&
           rk_canon_type_of(c, m->values.items[operand].type) ==
               rk_canon_type_of(c, m->values.items[op->first_result].type);
}

static bool allocate(rk_canon *c) {
    void *operands = NULL, *numbers = NULL, *next_numbers = NULL;
    uint32_t capacity[3] = {0}, needed = c->model->values.count + 1;
    bool good = rk_canon_grow(c, &operands, &capacity[0], needed, sizeof *c->cast_operands) &&
                rk_canon_grow(c, &numbers, &capacity[1], needed, sizeof *c->value_numbers) &&
                rk_canon_grow(c, &next_numbers, &capacity[2], needed, sizeof *c->next_numbers);
    c->cast_operands = operands;
    c->value_numbers = numbers;
    c->next_numbers = next_numbers;
    return good;
}

void rk_canon_fold_casts(rk_canon *c) {
    const rk_model *m = c->model;
    bool has_casts = false;
    for (uint32_t i = 0; i < m->ops.count && !has_casts; i++)
        has_casts = is_named_cast(m, &m->ops.items[i]);
    if (!has_casts || !allocate(c))
        return;
    memset(c->cast_operands, 0xFF, ((size_t)m->values.count + 1) * sizeof *c->cast_operands);
    for (uint32_t i = 0; i < m->ops.count && !c->failed; i++) {
        const rk_op *op = &m->ops.items[i];
        if (is_cast(c, op))
            c->cast_operands[op->first_result] = m->operands.items[op->first_operand];
    }
    uint32_t next = 0;
    for (uint32_t i = 0; i <= m->values.count; i++) {
        uint32_t operand = c->cast_operands[i];
        c->next_numbers[i] = next;
        c->value_numbers[i] = operand == RK_NO_ID ? next++ : c->value_numbers[operand];
    }
}
