#include "program/mlir/decode.h"

uint32_t rk_decode_child(rk_bytecode *file, uint32_t index) {
    rk_bytecode_entry *entry = &file->entries[index];
    if (RK_LIKELY(entry->state == RK_ENTRY_DONE)) {
        if (entry->depth > file->depth)
            file->depth = (uint32_t)entry->depth;
        return entry->node;
    }
    file->missing = true;
    // An entry is open only while it waits for entries above it on the stack.
    if (entry->state == RK_ENTRY_OPEN)
        rk_bytecode_fail_entry(file, index, "an attribute or type contains itself");
    else
        rk_bytecode_push_entry(file, index);
    return RK_NO_ID;
}

uint32_t rk_decode_attr(rk_bytecode *file) {
    uint64_t index = rk_cursor_varint(&file->in);
    return index < file->attr_count ? rk_decode_child(file, (uint32_t)index) : rk_decode_bad(file);
}

uint32_t rk_decode_type(rk_bytecode *file) {
    uint64_t index = rk_cursor_varint(&file->in);
    return index < file->type_count ? rk_decode_child(file, file->attr_count + (uint32_t)index)
                                    : rk_decode_bad(file);
}

static uint32_t string_id(rk_bytecode *file, rk_cursor *cursor) {
    uint64_t index = rk_cursor_varint(cursor);
    return index < file->string_count && !cursor->bad ? file->first_string + (uint32_t)index
                                                      : RK_NO_ID;
}

rk_span rk_decode_string(rk_bytecode *file) {
    uint32_t id = string_id(file, &file->in);
    if (id == RK_NO_ID)
        (void)rk_decode_bad(file);
    return rk_model_string(file->model, id);
}

// Reads the string inside the attribute's bytes without decoding the attribute: a key needs no
// node.
uint32_t rk_decode_string_attr(rk_bytecode *file) {
    enum { BUILTIN_STRING = 2, VHLO_STRING = 14 };
    uint64_t index = rk_cursor_varint(&file->in);
    if (index >= file->attr_count)
        return rk_decode_bad(file);
    const rk_bytecode_entry *entry = &file->entries[index];
    rk_dialect_kind kind = file->dialects[entry->dialect].kind;
    rk_cursor cursor = rk_cursor_over(rk_bytecode_entry_bytes(file, entry));
    uint64_t code = entry->is_binary ? rk_cursor_varint(&cursor) : UINT64_MAX;
    uint32_t id = RK_NO_ID;
    if ((kind == RK_DIALECT_BUILTIN && code == BUILTIN_STRING) ||
        (kind == RK_DIALECT_VHLO && code == VHLO_STRING))
        id = string_id(file, &cursor);
    return id != RK_NO_ID && rk_cursor_done(&cursor) ? id : rk_decode_bad(file);
}

uint32_t rk_decode_with_fields(rk_bytecode *file, rk_node node, const rk_field *fields,
                               size_t count) {
    node.first_field = file->model->fields.count;
    node.field_count = (uint32_t)count;
    for (size_t i = 0; i < count; i++)
        if (fields[i].node == RK_NO_ID ||
            rk_model_add_field(file->model, fields[i].name, fields[i].node) == RK_NO_ID)
            return RK_NO_ID;
    return rk_model_add_node(file->model, node);
}

uint32_t rk_decode_bytes_node(rk_bytecode *file, rk_node_kind kind, rk_span bytes) {
    rk_node node = {.kind = (uint8_t)kind, .name = RK_NO_ID, .bytes = bytes};
    return rk_model_add_node(file->model, node);
}

uint32_t rk_decode_scalar_type(rk_bytecode *file, uint32_t word) {
    rk_node node = {.kind = RK_NODE_TYPE, .name = word};
    return rk_model_add_node(file->model, node);
}

uint32_t rk_decode_int64(rk_bytecode *file, int64_t value) {
    rk_field type = {RK_NO_ID, file->i64_type};
    rk_node node = {.kind = RK_NODE_INT, .width = 64, .name = RK_NO_ID, .value = (uint64_t)value};
    return rk_decode_with_fields(file, node, &type, 1);
}

static uint32_t decode_double(rk_bytecode *file) {
    rk_field type = {RK_NO_ID, file->f64_type};
    rk_node node = {.kind = RK_NODE_FLOAT,
                    .width = 64,
                    .name = RK_NO_ID,
                    .value = (uint64_t)rk_cursor_svarint(&file->in)};
    return rk_decode_with_fields(file, node, &type, 1);
}

static uint32_t decode_doubles(rk_bytecode *file) {
    uint64_t count = rk_cursor_count(&file->in);
    rk_field type = {RK_NO_ID, file->f64_type};
    rk_buf_clear(&file->ints);
    for (; count; count--)
        rk_buf_add_u64le(&file->ints, (uint64_t)rk_cursor_svarint(&file->in));
    rk_node node = {.kind = RK_NODE_ELEMENTS,
                    .name = RK_NO_ID,
                    .bytes = rk_model_keep(file->model, rk_bytecode_gathered(file))};
    return rk_decode_with_fields(file, node, &type, 1);
}

// Up to 8 bits: one raw byte. Up to 64 bits: a zigzag varint of the zero-extended bits. Wider: a
// count of 64-bit words and a varint for each; missing words are zero.
static void decode_bits(rk_bytecode *file, unsigned width, rk_node *node) {
    if (width <= 8) {
        node->value = rk_cursor_byte(&file->in);
    } else if (width <= 64) {
        node->value = (uint64_t)rk_cursor_svarint(&file->in);
    } else {
        uint64_t words = rk_cursor_count(&file->in), wanted = (width + 63) / 64;
        rk_buf_clear(&file->ints);
        if (words > wanted)
            file->in.bad = true;
        for (uint64_t i = 0; i < wanted; i++)
            rk_buf_add_u64le(&file->ints, i < words ? (uint64_t)rk_cursor_svarint(&file->in) : 0);
        node->bytes = rk_model_keep(file->model, rk_bytecode_gathered(file));
    }
    if (width < 64)
        node->value &= ((uint64_t)1 << width) - 1;
}

// Returns the width in bits of "f32", "ui8", "bf16", "f8E4M3FN", …; 0 if the type is not a number.
static unsigned scalar_bits(const rk_model *model, uint32_t type) {
    const rk_node *node = &model->nodes.items[type];
    if (node->kind != RK_NODE_TYPE || node->field_count || node->bytes.len)
        return 0;
    if (node->name == RK_WORD_index)
        return 64;
    if (node->name == RK_WORD_tf32)
        return 19;
    rk_span name = rk_model_string(model, node->name);
    size_t at = 0;
    unsigned bits = 0;
    while (at < name.len && name.data[at] >= 'a')
        at++;
    for (; at < name.len && name.data[at] >= '0' && name.data[at] <= '9' && bits < 65536; at++)
        bits = bits * 10 + (unsigned)(name.data[at] - '0');
    return bits;
}

uint32_t rk_decode_number(rk_bytecode *file, rk_node_kind kind) {
    rk_field type = {RK_NO_ID, rk_decode_type(file)};
    if (type.node == RK_NO_ID)
        return RK_NO_ID;
    unsigned width = scalar_bits(file->model, type.node);
    if (!width || width > UINT16_MAX)
        return rk_decode_bad(file);
    rk_node node = {.kind = (uint8_t)kind, .width = (uint16_t)width, .name = RK_NO_ID};
    decode_bits(file, width, &node);
    if (kind == RK_NODE_INT && width == 1) {
        node.kind = RK_NODE_BOOL;
        node.width = 0;
        return rk_model_add_node(file->model, node);
    }
    return rk_decode_with_fields(file, node, &type, 1);
}

uint32_t rk_decode_elements(rk_bytecode *file) {
    rk_field type = {RK_NO_ID, rk_decode_type(file)};
    rk_node node = {.kind = RK_NODE_ELEMENTS,
                    .name = RK_NO_ID,
                    .bytes = rk_cursor_span(&file->in, rk_cursor_varint(&file->in))};
    return rk_decode_with_fields(file, node, &type, 1);
}

uint32_t rk_decode_list(rk_bytecode *file, bool of_types) {
    rk_model *model = file->model;
    uint64_t count = rk_cursor_count(&file->in);
    rk_node node = {.kind = RK_NODE_LIST,
                    .name = RK_NO_ID,
                    .first_field = model->fields.count,
                    .field_count = (uint32_t)count};
    for (uint64_t i = 0; i < count && !file->in.bad; i++) {
        uint32_t item = of_types ? rk_decode_type(file) : rk_decode_attr(file);
        if (item != RK_NO_ID && rk_model_add_field(model, RK_NO_ID, item) == RK_NO_ID)
            return RK_NO_ID;
    }
    return file->missing || file->in.bad ? RK_NO_ID : rk_model_add_node(model, node);
}

uint32_t rk_decode_dict(rk_bytecode *file) {
    rk_model *model = file->model;
    uint64_t count = rk_cursor_count(&file->in);
    rk_node node = {.kind = RK_NODE_DICT,
                    .name = RK_NO_ID,
                    .first_field = model->fields.count,
                    .field_count = (uint32_t)count};
    for (uint64_t i = 0; i < count && !file->in.bad; i++) {
        uint32_t key = rk_decode_string_attr(file);
        uint32_t value = rk_decode_attr(file);
        if (value != RK_NO_ID && rk_model_add_field(model, key, value) == RK_NO_ID)
            return RK_NO_ID;
    }
    if (file->missing || file->in.bad)
        return RK_NO_ID;
    rk_model_sort_fields(model, node.first_field, node.field_count);
    return rk_model_add_node(model, node);
}

rk_span rk_decode_int_bytes(rk_bytecode *file) {
    rk_buf_clear(&file->ints);
    for (uint64_t count = rk_cursor_count(&file->in); count; count--)
        rk_buf_add_u64le(&file->ints, (uint64_t)rk_cursor_svarint(&file->in));
    return rk_bytecode_gathered(file);
}

uint32_t rk_decode_ints(rk_bytecode *file) {
    rk_span ints = rk_model_keep(file->model, rk_decode_int_bytes(file));
    return rk_decode_bytes_node(file, RK_NODE_INTS, ints);
}

static uint32_t decode_bools(rk_bytecode *file) {
    rk_buf_clear(&file->ints);
    for (uint64_t count = rk_cursor_count(&file->in); count; count--)
        rk_buf_add_u64le(&file->ints, rk_cursor_byte(&file->in));
    return rk_decode_bytes_node(file, RK_NODE_INTS,
                                rk_model_keep(file->model, rk_bytecode_gathered(file)));
}

uint32_t rk_decode_shaped(rk_bytecode *file, uint32_t word, uint32_t encoding) {
    rk_span dims = rk_decode_int_bytes(file);
    rk_field fields[2] = {{RK_NO_ID, rk_decode_type(file)}, {RK_WORD_encoding, encoding}};
    if (file->missing || file->in.bad)
        return RK_NO_ID;
    rk_node node = {.kind = RK_NODE_TYPE, .name = word, .bytes = rk_model_keep(file->model, dims)};
    return rk_decode_with_fields(file, node, fields, encoding == RK_NO_ID ? 1 : 2);
}

static uint32_t optional_attr(rk_bytecode *file, uint64_t has, bool *out_absent) {
    *out_absent = !has;
    return has == 1 ? rk_decode_attr(file) : has ? rk_decode_bad(file) : RK_NO_ID;
}

static uint32_t flagged_attr(rk_bytecode *file, bool *out_absent) {
    bool present;
    uint64_t index = rk_cursor_flagged(&file->in, &present);
    *out_absent = !present;
    if (!present)
        return RK_NO_ID;
    return index < file->attr_count ? rk_decode_child(file, (uint32_t)index) : rk_decode_bad(file);
}

static uint32_t flagged_value(rk_bytecode *file, bool *out_absent) {
    bool present;
    uint64_t value = rk_cursor_flagged(&file->in, &present);
    *out_absent = !present;
    return present ? rk_decode_int64(file, (int64_t)value) : RK_NO_ID;
}

static uint32_t decode_field(rk_bytecode *file, rk_read how, bool *out_absent) {
    rk_node boolean = {.kind = RK_NODE_BOOL, .name = RK_NO_ID};
    switch (how) {
    case RK_READ_INT:
        return rk_decode_int64(file, rk_cursor_svarint(&file->in));
    case RK_READ_VARINT:
        return rk_decode_int64(file, (int64_t)rk_cursor_varint(&file->in));
    case RK_READ_INTS:
        return rk_decode_ints(file);
    case RK_READ_BOOL:
        boolean.value = rk_cursor_byte(&file->in) != 0;
        return rk_model_add_node(file->model, boolean);
    case RK_READ_BOOLS:
        return decode_bools(file);
    case RK_READ_DOUBLE:
        return decode_double(file);
    case RK_READ_DOUBLES:
        return decode_doubles(file);
    case RK_READ_STRING:
        return rk_decode_bytes_node(file, RK_NODE_STRING, rk_decode_string(file));
    case RK_READ_ATTR:
        return rk_decode_attr(file);
    case RK_READ_FLAGGED_ATTR:
        return flagged_attr(file, out_absent);
    case RK_READ_VARINT_ATTR:
        return optional_attr(file, rk_cursor_varint(&file->in), out_absent);
    case RK_READ_BYTE_ATTR:
        return optional_attr(file, rk_cursor_byte(&file->in), out_absent);
    case RK_READ_FLAGGED_VALUE:
        return flagged_value(file, out_absent);
    case RK_READ_TYPE:
        return rk_decode_type(file);
    case RK_READ_ATTRS:
        return rk_decode_list(file, false);
    case RK_READ_TYPES:
        return rk_decode_list(file, true);
    case RK_READ_NOTHING:
        break;
    }
    return rk_decode_bad(file);
}

uint32_t rk_decode_struct(rk_bytecode *file, rk_node_kind kind, uint64_t code,
                          const rk_recipe *recipes, size_t count) {
    rk_field fields[RK_RECIPE_FIELDS];
    size_t used = 0;
    const rk_recipe *recipe = recipes;
    while (recipe < recipes + count && recipe->code != code)
        recipe++;
    if (recipe == recipes + count)
        return rk_decode_bad(file);
    for (size_t i = 0; i < RK_RECIPE_FIELDS && recipe->fields[i].how; i++) {
        bool absent = false;
        uint32_t field = decode_field(file, recipe->fields[i].how, &absent);
        uint32_t word = recipe->fields[i].word;
        if (!absent)
            fields[used++] = (rk_field){word == RK_WORD_COUNT ? RK_NO_ID : word, field};
    }
    if (file->missing || file->in.bad)
        return RK_NO_ID;
    rk_node node = {.kind = (uint8_t)kind, .name = recipe->word};
    return rk_decode_with_fields(file, node, fields, used);
}

uint32_t rk_decode_enum(rk_bytecode *file, uint64_t code, const rk_enumeration *enumerations,
                        size_t count) {
    uint64_t value = rk_cursor_varint(&file->in);
    for (size_t i = 0; i < count; i++) {
        const rk_enumeration *found = &enumerations[i];
        if (found->code != code)
            continue;
        if (value >= RK_ARRAY_LEN(found->values) || !found->values[value])
            break;
        rk_node node = {
            .kind = RK_NODE_ENUM, .name = found->word, .bytes = rk_span_text(found->values[value])};
        return rk_model_add_node(file->model, node);
    }
    return rk_decode_bad(file);
}
