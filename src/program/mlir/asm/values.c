#include "program/mlir/asm/values.h"

#include "base/alloc.h"

// Slots of named values have this bit; the other bits are the number of the name, or the number in
// the text.
static const uint32_t NAMED = UINT32_C(1) << 31;

bool rk_asm_open_scope(rk_asm *p, bool is_isolated, rk_asm_scope *out_scope) {
    *out_scope = (rk_asm_scope){p->region, p->undos.count, p->floor};
    p->region = p->counts.count;
    if (is_isolated)
        p->floor = p->undos.count;
    return RK_ASM_PUSH(p, p->counts, 0);
}

static rk_asm_binding *binding_of(rk_asm *p, uint32_t slot) {
    return slot & NAMED ? &p->named.items[slot & ~NAMED] : &p->numbered.items[slot];
}

void rk_asm_close_scope(rk_asm *p, const rk_asm_scope *scope) {
    while (p->undos.count > scope->undo_count) {
        const rk_asm_undo *undo = &p->undos.items[--p->undos.count];
        *binding_of(p, undo->slot) = undo->before;
    }
    p->region = scope->region;
    p->floor = scope->floor;
}

// Names.

static bool is_name(uint8_t c) {
    return rk_asm_is_word(c) || c == '-';
}

// Returns the value of a name that is a number, or RK_NO_ID. Numbers above the size of the text
// count as other names, so that the array stays small.
static uint32_t as_number(const rk_asm *p, rk_span name) {
    enum { MOST_DIGITS = 9 };
    uint32_t number = 0;
    if (name.len > MOST_DIGITS || (name.data[0] == '0' && name.len > 1))
        return RK_NO_ID;
    for (size_t i = 0; i < name.len; i++) {
        if (!rk_asm_is_digit(name.data[i]))
            return RK_NO_ID;
        number = number * 10 + (uint32_t)(name.data[i] - '0');
    }
    return number < (size_t)(p->end - p->start) / 4 ? number : RK_NO_ID;
}

static bool slot_of(rk_asm *p, rk_span name, uint32_t *out_slot) {
    enum { INTERNED_BYTES = 48 };
    bool is_new;
    uint32_t number = as_number(p, name);
    if (RK_LIKELY(number != RK_NO_ID)) {
        *out_slot = number;
        return RK_LIKELY(number < p->numbered.capacity) ||
               RK_ASM_RESERVE(p, p->numbered, (uint64_t)number + 1);
    }
    number = rk_intern(&p->value_names, name, &is_new);
    *out_slot = NAMED | number;
    if (RK_LIKELY(!is_new && !p->value_names.failed))
        return true;
    if (p->value_names.failed || number >= NAMED - 1 ||
        !rk_model_take_budget(p->model, INTERNED_BYTES)) {
        rk_asm_out_of_memory(p);
        return false;
    }
    return RK_ASM_PUSH(p, p->named, (rk_asm_binding){0});
}

static bool read_name(rk_asm *p, uint32_t *out_slot) {
    if (!rk_asm_expect(p, '%'))
        return false;
    const uint8_t *start = p->at;
    while (p->at < p->end && is_name(*p->at))
        p->at++;
    if (p->at == start) {
        rk_asm_fail(p, "a value without a name");
        return false;
    }
    return slot_of(p, rk_span_of(start, (size_t)(p->at - start)), out_slot);
}

// Reads a number of up to nine digits.
static bool read_small(rk_asm *p, uint32_t *out_number) {
    enum { MOST_DIGITS = 9 };
    unsigned digits = 0;
    *out_number = 0;
    for (; rk_asm_is_digit(rk_asm_here(p)) && digits <= MOST_DIGITS; digits++)
        *out_number = *out_number * 10 + (uint32_t)(*p->at++ - '0');
    if (digits && digits <= MOST_DIGITS)
        return true;
    rk_asm_fail(p, "the number of a result is not understood");
    return false;
}

bool rk_asm_target_name(rk_asm *p, bool with_count, rk_asm_target *out_target) {
    *out_target = (rk_asm_target){.count = 1, .type = RK_NO_ID, .location = RK_NO_ID};
    if (!read_name(p, &out_target->slot))
        return false;
    if (!with_count || rk_asm_here(p) != ':')
        return true;
    p->at++;
    if (!read_small(p, &out_target->count))
        return false;
    if (!out_target->count)
        rk_asm_fail(p, "an operation without the results that it names");
    return !p->failed;
}

uint32_t rk_asm_use(rk_asm *p) {
    uint32_t slot, number = 0;
    if (!read_name(p, &slot))
        return RK_NO_ID;
    if (rk_asm_here(p) == '#') {
        p->at++;
        if (!read_small(p, &number))
            return RK_NO_ID;
    }
    const rk_asm_binding *binding = binding_of(p, slot);
    if (RK_UNLIKELY(number >= binding->count || binding->undo < p->floor)) {
        rk_asm_fail(p, "a value that is not defined before its use");
        return RK_NO_ID;
    }
    return binding->value + number;
}

// Values.

uint32_t rk_asm_define(rk_asm *p, uint32_t type, uint32_t location) {
    if (p->region == RK_NO_ID) {
        rk_asm_fail(p, "a value outside of all operations");
        return RK_NO_ID;
    }
    rk_asm_place place = {p->region, p->counts.items[p->region]++};
    uint32_t value = rk_model_add_value(p->model, (rk_value){type, location});
    if (value == RK_NO_ID || !RK_ASM_PUSH(p, p->places, place)) {
        rk_asm_out_of_memory(p);
        return RK_NO_ID;
    }
    return value;
}

bool rk_asm_bind(rk_asm *p, const rk_asm_target *target, uint32_t value) {
    rk_asm_binding *binding = binding_of(p, target->slot);
    rk_asm_undo undo = {target->slot, *binding};
    if (binding->count && binding->undo >= p->floor) {
        rk_asm_fail(p, "a value is defined twice");
        return false;
    }
    *binding = (rk_asm_binding){value, target->count, p->undos.count};
    return RK_ASM_PUSH(p, p->undos, undo);
}

// Final numbers.

// Replaces the counts of values by the number of each region's first value.
static void sum_counts(rk_asm *p) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < p->counts.count; i++) {
        uint32_t count = p->counts.items[i];
        p->counts.items[i] = sum;
        sum += count;
    }
}

bool rk_asm_settle_values(rk_asm *p) {
    rk_model *m = p->model;
    size_t size = m->values.count ? m->values.count * sizeof(rk_value) : 1;
    rk_autofree rk_value *values =
        rk_model_take_budget(m, size) ? rk_malloc(size) : NULL; // freed again soon
    if (!values) {
        rk_asm_out_of_memory(p);
        return false;
    }
    m->budget_bytes += size;
    sum_counts(p);
    const uint32_t *first = p->counts.items;
    const rk_asm_place *places = p->places.items;
    for (uint32_t i = 0; i < m->values.count; i++)
        values[first[places[i].region] + places[i].index] = m->values.items[i];
    if (m->values.count)
        memcpy(m->values.items, values, size);
    for (uint32_t i = 0; i < m->operands.count; i++) {
        const rk_asm_place *place = &places[m->operands.items[i]];
        m->operands.items[i] = first[place->region] + place->index;
    }
    for (uint32_t i = 0; i < m->ops.count; i++)
        if (p->op_regions.items[i] != RK_NO_ID)
            m->ops.items[i].first_result += first[p->op_regions.items[i]];
    for (uint32_t i = 0; i < m->blocks.count; i++)
        m->blocks.items[i].first_arg = first[m->blocks.items[i].first_arg];
    return true;
}
