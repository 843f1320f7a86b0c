// Converts attributes to one form, so that a program is the same in VHLO and in StableHLO.
#include "program/mlir/read_ops.h"

#include "base/alloc.h"

enum { MAX_SPLAT_INTS = 64 }; // of a constant list with equal elements

static bool is_i64_vector(const rk_model *model, const rk_node *elements, uint64_t *out_count) {
    const rk_node *type = &model->nodes.items[model->fields.items[elements->first_field].node];
    if (type->kind != RK_NODE_TYPE || type->name != RK_WORD_tensor || type->bytes.len != 8 ||
        type->field_count != 1)
        return false;
    const rk_node *element = &model->nodes.items[model->fields.items[type->first_field].node];
    *out_count = rk_load_u64le(type->bytes.data);
    return element->kind == RK_NODE_TYPE && element->name == RK_WORD_i64;
}

// VHLO writes dimensions and permutations as constants with one dimension; StableHLO has arrays.
static uint32_t as_ints(rk_bytecode *file, uint32_t id) {
    rk_model *model = file->model;
    uint64_t count;
    const rk_node *elements = &model->nodes.items[id];
    rk_node node = {.kind = RK_NODE_INTS, .name = RK_NO_ID, .bytes = elements->bytes};
    if (!is_i64_vector(model, elements, &count))
        return id;
    if (node.bytes.len == 8 && count > 1 && count <= MAX_SPLAT_INTS) {
        rk_buf_clear(&file->ints);
        for (uint64_t i = 0; i < count; i++)
            rk_buf_add_span(&file->ints, elements->bytes);
        node.bytes = rk_model_keep(model, rk_bytecode_gathered(file));
    } else if (node.bytes.len / 8 != count || node.bytes.len % 8) {
        return id;
    }
    return rk_model_add_node(model, node);
}

// VHLO names functions by strings; StableHLO has symbols.
static uint32_t as_symbols(rk_bytecode *file, uint32_t id) {
    rk_model *model = file->model;
    rk_node node = model->nodes.items[id];
    uint32_t first = model->nodes.count;
    if (node.kind == RK_NODE_STRING) {
        node.kind = RK_NODE_SYMBOL;
        return rk_model_add_node(model, node);
    }
    for (uint32_t i = 0; i < node.field_count; i++) {
        rk_node item = model->nodes.items[model->fields.items[node.first_field + i].node];
        if (item.kind != RK_NODE_STRING)
            return id;
        item.kind = RK_NODE_SYMBOL;
        if (rk_model_add_node(model, item) == RK_NO_ID)
            return RK_NO_ID;
    }
    uint32_t fields = model->fields.count;
    for (uint32_t i = 0; i < node.field_count; i++)
        if (rk_model_add_field(model, RK_NO_ID, first + i) == RK_NO_ID)
            return RK_NO_ID;
    node.first_field = fields;
    return rk_model_add_node(model, node);
}

static bool names_functions(rk_span key) {
    return rk_span_is(key, "callee") || rk_span_is(key, "decomposition") ||
           rk_span_is(key, "called_computations");
}

static bool has_other_form(const rk_model *model, uint32_t key, uint32_t node) {
    uint8_t kind = model->nodes.items[node].kind;
    return kind == RK_NODE_ELEMENTS || ((kind == RK_NODE_STRING || kind == RK_NODE_LIST) &&
                                        names_functions(rk_model_string(model, key)));
}

static uint32_t other_form(rk_bytecode *file, uint32_t node) {
    uint32_t other = file->model->nodes.items[node].kind == RK_NODE_ELEMENTS
                         ? as_ints(file, node)
                         : as_symbols(file, node);
    if (other == RK_NO_ID)
        file->failed = true;
    return other;
}

uint32_t rk_read_attr(rk_bytecode *file, const rk_op_name *op, uint32_t key, uint64_t index) {
    uint32_t node = rk_bytecode_attr(file, index);
    if (node == RK_NO_ID || !op->has_other_forms || !has_other_form(file->model, key, node))
        return node;
    rk_bytecode_entry *entry = &file->entries[index];
    if (entry->other == RK_NO_ID)
        entry->other = other_form(file, node);
    return entry->other;
}

// Returns the dictionary with all values converted; `id` itself if no value changes.
static uint32_t other_dictionary(rk_bytecode *file, uint32_t id) {
    rk_model *model = file->model;
    rk_node node = model->nodes.items[id];
    rk_autofree rk_field *copies = rk_bytecode_allocate(file, node.field_count, sizeof *copies);
    bool differs = false;
    for (uint32_t i = 0; i < node.field_count && !file->failed; i++) {
        copies[i] = model->fields.items[node.first_field + i];
        if (!has_other_form(model, copies[i].name, copies[i].node))
            continue;
        uint32_t other = other_form(file, copies[i].node);
        differs |= other != copies[i].node;
        copies[i].node = other;
    }
    if (!differs)
        return id;
    node.first_field = model->fields.count;
    for (uint32_t i = 0; i < node.field_count && !file->failed; i++)
        if (rk_model_add_field(model, copies[i].name, copies[i].node) == RK_NO_ID)
            file->failed = true;
    return rk_model_add_node(model, node);
}

const rk_node *rk_read_dictionary(rk_bytecode *file, const rk_op_name *op, uint64_t index) {
    rk_model *model = file->model;
    uint32_t id = rk_bytecode_attr(file, index);
    if (id == RK_NO_ID)
        return NULL;
    rk_bytecode_entry *entry = &file->entries[index];
    if (model->nodes.items[id].kind != RK_NODE_DICT) {
        rk_bytecode_fail_entry(file, (uint32_t)index,
                               "an operation's attributes are not a dictionary");
        return NULL;
    }
    if (!op->has_other_forms)
        return &model->nodes.items[id];
    if (entry->other == RK_NO_ID)
        entry->other = other_dictionary(file, id);
    if (entry->other == RK_NO_ID)
        file->failed = true;
    return file->failed ? NULL : &model->nodes.items[entry->other];
}
