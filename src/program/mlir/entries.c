// Decodes attributes and types on first use: each once, without recursion, however they refer to
// each other.
#include "program/mlir/decode.h"

enum {
    MAX_DEPTH = 512, // of attributes and types; locations may nest deeper
    DEPTH_SATURATED = 2047,
};

static bool contains(rk_span text, const char *part) {
    return memmem(text.data, text.len, part, strlen(part)) != NULL;
}

// MLIR prints attributes as text if their dialect has no encoding (affine maps, most of tpu and
// arith). The text has no aliases, so equal text has equal meaning. The exceptions refer to parts
// outside the text or contain a source location.
static uint32_t decode_text(rk_bytecode *file, uint32_t index, rk_span bytes) {
    if (!bytes.len || bytes.data[bytes.len - 1] != 0)
        return rk_decode_bad(file);
    rk_span text = rk_span_of(bytes.data, bytes.len - 1);
    file->in.at = file->in.end;
    uint32_t scalar = rk_dialect_builtin_scalar(text);
    if (index >= file->attr_count && scalar != RK_WORD_COUNT)
        return rk_decode_scalar_type(file, scalar);
    if (contains(text, "distinct[") || contains(text, "dense_resource<") || contains(text, "loc("))
        rk_model_count_opaque(file->model, "MLIR text with an outside reference or a location");
    rk_node node = {.kind = RK_NODE_OPAQUE, .name = RK_WORD_text, .bytes = text};
    return rk_model_add_node(file->model, node);
}

static uint32_t decode_attr(rk_bytecode *file, rk_dialect_kind dialect) {
    switch (dialect) {
    case RK_DIALECT_BUILTIN:
        return rk_dialect_builtin_attr(file);
    case RK_DIALECT_VHLO:
        return rk_dialect_vhlo_attr(file);
    case RK_DIALECT_STABLEHLO:
        return rk_dialect_stablehlo_attr(file);
    case RK_DIALECT_CHLO:
        return rk_dialect_chlo_attr(file);
    case RK_DIALECT_SDY:
        return rk_dialect_sdy_attr(file);
    case RK_DIALECT_OTHER:
        break;
    }
    return rk_decode_bad(file);
}

static uint32_t decode_type(rk_bytecode *file, rk_dialect_kind dialect) {
    switch (dialect) {
    case RK_DIALECT_BUILTIN:
        return rk_dialect_builtin_type(file);
    case RK_DIALECT_VHLO:
        return rk_dialect_vhlo_type(file);
    case RK_DIALECT_STABLEHLO:
        return rk_dialect_stablehlo_type(file);
    case RK_DIALECT_CHLO:
    case RK_DIALECT_SDY:
    case RK_DIALECT_OTHER:
        break;
    }
    return rk_decode_bad(file);
}

// Makes an opaque node. Its bytes contain indices of strings and entries, which change with
// unrelated parts of the file. So the program counts as opaque.
static uint32_t decode_opaque(rk_bytecode *file, const rk_bytecode_entry *entry, rk_span bytes) {
    const rk_dialect *dialect = &file->dialects[entry->dialect];
    rk_model_count_opaque(file->model, dialect->kind == RK_DIALECT_OTHER
                                           ? "an attribute or type of an unknown dialect"
                                           : "an attribute or type of an unknown encoding");
    rk_node node = {.kind = RK_NODE_OPAQUE, .name = dialect->name, .bytes = bytes};
    return rk_model_add_node(file->model, node);
}

static uint32_t decode_entry(rk_bytecode *file, uint32_t index) {
    rk_model *model = file->model;
    const rk_bytecode_entry *entry = &file->entries[index];
    rk_span bytes = rk_bytecode_entry_bytes(file, entry);
    rk_dialect_kind dialect = file->dialects[entry->dialect].kind;
    uint32_t nodes = model->nodes.count, fields = model->fields.count, node;
    file->in = rk_cursor_over(bytes);
    file->missing = false;
    file->depth = 0;
    if (!entry->is_binary)
        node = decode_text(file, index, bytes);
    else
        node = index < file->attr_count ? decode_attr(file, dialect) : decode_type(file, dialect);
    if (node != RK_NO_ID && !file->missing && rk_cursor_done(&file->in))
        return node;
    model->nodes.count = nodes;
    model->fields.count = fields;
    if (model->out_of_memory)
        file->failed = true;
    return file->missing || file->failed ? RK_NO_ID : decode_opaque(file, entry, bytes);
}

static void finish_entry(rk_bytecode *file, uint32_t index, uint32_t node) {
    rk_bytecode_entry *entry = &file->entries[index];
    uint32_t depth = file->depth < DEPTH_SATURATED ? file->depth + 1 : DEPTH_SATURATED;
    if (node == RK_NO_ID)
        file->failed = true;
    else if (depth > MAX_DEPTH && file->model->nodes.items[node].kind < RK_NODE_LOC_UNKNOWN)
        rk_bytecode_fail_entry(file, index, "attributes or types are nested too deeply");
    entry->depth = depth & DEPTH_SATURATED;
    entry->node = node;
    entry->state = RK_ENTRY_DONE;
}

// Decodes an entry and all entries that it needs. An entry stays open on the stack, below the
// entries that it waits for, and is decoded again after them.
static uint32_t resolve(rk_bytecode *file, uint32_t index) {
    file->stack_count = 0;
    rk_bytecode_push_entry(file, index);
    while (file->stack_count && !file->failed) {
        uint32_t top = file->stack[file->stack_count - 1];
        if (file->entries[top].state == RK_ENTRY_DONE) {
            file->stack_count--;
            continue;
        }
        file->entries[top].state = RK_ENTRY_OPEN;
        uint32_t node = decode_entry(file, top);
        if (!file->missing && !file->failed) {
            finish_entry(file, top, node);
            file->stack_count--;
        }
    }
    return file->failed ? RK_NO_ID : file->entries[index].node;
}

uint32_t rk_bytecode_resolve_attr(rk_bytecode *file, uint64_t index) {
    if (index < file->attr_count)
        return resolve(file, (uint32_t)index);
    rk_bytecode_fail(file, "IR", file->ir.at, "no attribute has this number");
    return RK_NO_ID;
}

uint32_t rk_bytecode_resolve_type(rk_bytecode *file, uint64_t index) {
    if (index < file->type_count)
        return resolve(file, file->attr_count + (uint32_t)index);
    rk_bytecode_fail(file, "IR", file->ir.at, "no type has this number");
    return RK_NO_ID;
}
