#include "program/mlir/asm/nodes.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "program/quick_hash.h"

enum { SHARED_MAX_BYTES = 1024 }; // longer bytes are not compared, so that time stays linear

bool rk_asm_open_nodes(rk_asm *p) {
    if (!RK_ASM_RESERVE(p, p->fields, 1)) // so that it has an address
        return false;
    if (!rk_mlir_add_words(p->model)) {
        rk_asm_out_of_memory(p);
        return false;
    }
    for (uint32_t i = 0; i < RK_WORD_COUNT; i++) {
        bool is_new;
        (void)rk_intern(&p->names, p->model->strings.items[i], &is_new);
        if (p->names.failed || !RK_ASM_PUSH(p, p->name_ids, i)) {
            rk_asm_out_of_memory(p);
            return false;
        }
    }
    return true;
}

uint32_t rk_asm_name(rk_asm *p, rk_span text) {
    enum { INTERNED_BYTES = 64 };
    bool is_new;
    uint32_t number = rk_intern(&p->names, text, &is_new);
    if (RK_LIKELY(!is_new && !p->names.failed))
        return p->name_ids.items[number];
    uint32_t id = p->names.failed || !rk_model_take_budget(p->model, INTERNED_BYTES)
                      ? RK_NO_ID
                      : rk_model_add_string(p->model, text);
    if (id == RK_NO_ID || !RK_ASM_PUSH(p, p->name_ids, id)) {
        p->names.failed = true;
        rk_asm_out_of_memory(p);
        return RK_NO_ID;
    }
    return id;
}

// Sharing of nodes.

static uint64_t hash_of(const rk_asm *p, const rk_node *node, const rk_field *fields,
                        uint32_t count) {
    uint64_t head[3] = {(uint64_t)node->kind | (uint64_t)node->width << 8 |
                            (uint64_t)node->name << 32,
                        node->value, count};
    uint64_t sum = rk_quick_hash((uintptr_t)p, rk_span_of(head, sizeof head));
    if (node->bytes.len)
        sum = rk_quick_hash(sum, node->bytes);
    return count ? rk_quick_hash(sum, rk_span_of(fields, count * sizeof *fields)) : sum;
}

static bool is_same(const rk_asm *p, uint32_t id, const rk_node *node, const rk_field *fields,
                    uint32_t count) {
    const rk_node *other = &p->model->nodes.items[id];
    return other->kind == node->kind && other->width == node->width && other->name == node->name &&
           other->value == node->value && other->field_count == count &&
           rk_span_equal(other->bytes, node->bytes) &&
           (!count || memcmp(p->model->fields.items + other->first_field, fields,
                             count * sizeof *fields) == 0);
}

static void place(rk_asm *p, uint32_t id) {
    const rk_node *node = &p->model->nodes.items[id];
    const rk_field *fields = node->field_count ? p->model->fields.items + node->first_field : NULL;
    uint32_t mask = p->node_slot_count - 1;
    uint32_t slot = (uint32_t)hash_of(p, node, fields, node->field_count) & mask;
    while (p->node_slots[slot])
        slot = (slot + 1) & mask;
    p->node_slots[slot] = id + 1;
}

static bool reserve_slot(rk_asm *p) {
    enum { FIRST_SLOTS = 256, MOST_SLOTS = 1 << 30 };
    if (p->node_count < p->node_slot_count / 2)
        return true;
    uint32_t count = p->node_slot_count ? p->node_slot_count * 2 : FIRST_SLOTS;
    uint32_t *slots = count <= MOST_SLOTS && rk_model_take_budget(p->model, count * sizeof *slots)
                          ? rk_calloc(count, sizeof *slots)
                          : NULL;
    if (!slots) {
        rk_asm_out_of_memory(p);
        return false;
    }
    uint32_t *before = p->node_slots, before_count = p->node_slot_count;
    p->node_slots = slots;
    p->node_slot_count = count;
    for (uint32_t i = 0; i < before_count; i++)
        if (before[i])
            place(p, before[i] - 1);
    rk_free(before);
    return true;
}

static uint32_t add_node(rk_asm *p, rk_node node, const rk_field *fields, uint32_t count) {
    node.first_field = p->model->fields.count;
    node.field_count = count;
    for (uint32_t i = 0; i < count; i++)
        if (rk_model_add_field(p->model, fields[i].name, fields[i].node) == RK_NO_ID) {
            rk_asm_out_of_memory(p);
            return RK_NO_ID;
        }
    uint32_t id = rk_model_add_node(p->model, node);
    if (id == RK_NO_ID)
        rk_asm_out_of_memory(p);
    return id;
}

static uint32_t share(rk_asm *p, rk_node node, const rk_field *fields, uint32_t count,
                      bool is_copied) {
    for (uint32_t i = 0; i < count; i++)
        if (fields[i].node == RK_NO_ID)
            return RK_NO_ID;
    if (p->failed || !reserve_slot(p))
        return RK_NO_ID;
    bool is_long = node.bytes.len > SHARED_MAX_BYTES;
    uint32_t mask = p->node_slot_count - 1, slot = 0;
    if (!is_long) {
        slot = (uint32_t)hash_of(p, &node, fields, count) & mask;
        for (; p->node_slots[slot]; slot = (slot + 1) & mask)
            if (is_same(p, p->node_slots[slot] - 1, &node, fields, count))
                return p->node_slots[slot] - 1;
    }
    if (is_copied)
        node.bytes = rk_model_keep(p->model, node.bytes);
    uint32_t id = add_node(p, node, fields, count);
    if (id == RK_NO_ID || is_long)
        return id;
    p->node_slots[slot] = id + 1;
    p->node_count++;
    return id;
}

uint32_t rk_asm_node(rk_asm *p, rk_node node, const rk_field *fields, uint32_t count) {
    return share(p, node, fields, count, false);
}

uint32_t rk_asm_copied_node(rk_asm *p, rk_node node) {
    return share(p, node, NULL, 0, true);
}

// Common nodes.

uint32_t rk_asm_word_node(rk_asm *p, rk_node_kind kind, uint32_t name) {
    return rk_asm_node(p, (rk_node){.kind = (uint8_t)kind, .name = name}, NULL, 0);
}

uint32_t rk_asm_bytes_node(rk_asm *p, rk_node_kind kind, rk_span bytes) {
    rk_node node = {.kind = (uint8_t)kind, .name = RK_NO_ID, .bytes = bytes};
    return rk_asm_node(p, node, NULL, 0);
}

uint32_t rk_asm_bool(rk_asm *p, bool value) {
    return rk_asm_node(p, (rk_node){.kind = RK_NODE_BOOL, .name = RK_NO_ID, .value = value}, NULL,
                       0);
}

static uint32_t wide_number(rk_asm *p, rk_node_kind kind, uint32_t type_word, uint64_t value) {
    rk_field type = {RK_NO_ID, rk_asm_scalar_type(p, type_word)};
    rk_node node = {.kind = (uint8_t)kind, .width = 64, .name = RK_NO_ID, .value = value};
    return rk_asm_node(p, node, &type, 1);
}

uint32_t rk_asm_int64(rk_asm *p, int64_t value) {
    return wide_number(p, RK_NODE_INT, RK_WORD_i64, (uint64_t)value);
}

uint32_t rk_asm_float64(rk_asm *p, uint64_t bits) {
    return wide_number(p, RK_NODE_FLOAT, RK_WORD_f64, bits);
}

uint32_t rk_asm_enum(rk_asm *p, uint32_t word, const char *value) {
    rk_node node = {.kind = RK_NODE_ENUM, .name = word, .bytes = rk_span_text(value)};
    return rk_asm_node(p, node, NULL, 0);
}

uint32_t rk_asm_scalar_type(rk_asm *p, uint32_t word) {
    return rk_asm_word_node(p, RK_NODE_TYPE, word);
}

uint32_t rk_asm_tensor_type(rk_asm *p, rk_span dims, uint32_t element) {
    rk_field field = {RK_NO_ID, element};
    rk_node node = {.kind = RK_NODE_TYPE, .name = RK_WORD_tensor, .bytes = dims};
    return share(p, node, &field, 1, true);
}

uint32_t rk_asm_pop_nodes(rk_asm *p, rk_node_kind kind, uint32_t first) {
    uint32_t base = p->fields.count;
    for (uint32_t i = first; i < p->nodes.count; i++)
        if (!RK_ASM_PUSH(p, p->fields, (rk_field){RK_NO_ID, p->nodes.items[i]}))
            return RK_NO_ID;
    p->nodes.count = first;
    rk_node node = {.kind = (uint8_t)kind, .name = RK_NO_ID};
    uint32_t id = rk_asm_node(p, node, p->fields.items + base, p->fields.count - base);
    p->fields.count = base;
    return id;
}

uint32_t rk_asm_pop_list(rk_asm *p, uint32_t first) {
    return rk_asm_pop_nodes(p, RK_NODE_LIST, first);
}

static int compare_fields(const void *a, const void *b, void *context) {
    const rk_model *model = context;
    const rk_field *left = a, *right = b;
    return rk_span_compare(rk_model_string(model, left->name), rk_model_string(model, right->name));
}

// Sorts by name. False if a name occurs twice.
static bool sort(const rk_asm *p, rk_field *fields, uint32_t count) {
    uint32_t sorted = 1;
    while (sorted < count && compare_fields(&fields[sorted - 1], &fields[sorted], p->model) < 0)
        sorted++;
    if (sorted >= count)
        return true;
    qsort_r(fields, count, sizeof *fields, compare_fields, p->model);
    for (uint32_t i = 1; i < count; i++)
        if (fields[i - 1].name == fields[i].name)
            return false;
    return true;
}

uint32_t rk_asm_pop_dict(rk_asm *p, uint32_t first) {
    rk_field *fields = p->fields.items + first;
    uint32_t count = p->fields.count - first;
    p->fields.count = first;
    if (!sort(p, fields, count)) {
        rk_asm_fail(p, "an attribute occurs twice");
        return RK_NO_ID;
    }
    return rk_asm_node(p, (rk_node){.kind = RK_NODE_DICT, .name = RK_NO_ID}, fields, count);
}

uint32_t rk_asm_pop_struct(rk_asm *p, uint32_t word, uint32_t first) {
    uint32_t count = p->fields.count - first;
    p->fields.count = first;
    return rk_asm_node(p, (rk_node){.kind = RK_NODE_STRUCT, .name = word}, p->fields.items + first,
                       count);
}

void rk_asm_add_int(rk_asm *p, int64_t value) {
    rk_buf_add_u64le(&p->ints, (uint64_t)value);
}

uint32_t rk_asm_take_ints(rk_asm *p) {
    if (p->ints.failed) {
        rk_asm_out_of_memory(p);
        return RK_NO_ID;
    }
    rk_node node = {.kind = RK_NODE_INTS, .name = RK_NO_ID, .bytes = rk_buf_span(&p->ints)};
    return rk_asm_copied_node(p, node);
}
