// Makes nodes of element types, numbers, enumeration values and strings. Programs repeat them, so
// most are found in the cache.
#include "program/hlo/read_internal.h"

enum { MEMO_MAX_BYTES = 256 }; // of cached strings; longer strings rarely repeat

// xla/xla_data.proto: PrimitiveType. The numbers in definitions, and OPAQUE_TYPE.
enum {
    TYPE_S32 = 4,
    TYPE_S64 = 5,
    TYPE_U32 = 8,
    TYPE_U64 = 9,
    TYPE_F32 = 11,
    TYPE_F64 = 12,
    TYPE_OPAQUE = 14,
};

uint32_t rk_hlo_add_string(rk_hlo_reader *reader, rk_span text) {
    static const char owner;
    rk_hlo_memo *slot = NULL;
    bool is_short = text.len <= MEMO_MAX_BYTES;
    if (is_short && rk_hlo_find(reader, &owner, text, 0, &slot))
        return slot->id;
    rk_node node = {.kind = RK_NODE_STRING, .name = RK_NO_ID, .bytes = text};
    uint32_t id = rk_model_add_node(reader->model, node);
    if (is_short)
        rk_hlo_remember(slot, &owner, text, 0, id);
    return id;
}

// Spells a type as XLA prints it: "f8e4m3fn" for F8E4M3FN, "opaque" for OPAQUE_TYPE. An unknown
// number becomes "type_N".
static rk_span spell_type(rk_hlo_reader *reader, uint64_t type) {
    RK_AUTO(rk_buf) text = {0};
    const char *name = NULL;
    for (uint16_t i = 0; i < rk_hlo_primitive_type.count && !name; i++)
        if ((uint64_t)rk_hlo_primitive_type.values[i].number == type)
            name = rk_hlo_primitive_type.values[i].name;
    if (type == 0)
        name = "INVALID";
    else if (type == TYPE_OPAQUE)
        name = "OPAQUE";
    for (size_t i = 0; name && name[i]; i++) {
        bool is_upper = name[i] >= 'A' && name[i] <= 'Z';
        rk_buf_add_byte(&text, (uint8_t)(is_upper ? name[i] - 'A' + 'a' : name[i]));
    }
    if (!name) {
        rk_buf_add_format(&text, "type_%lld", (long long)type);
        rk_model_count_opaque(reader->model, "an element type is not known");
    }
    return rk_hlo_keep_text(reader, &text);
}

uint32_t rk_hlo_element_type(rk_hlo_reader *reader, uint64_t type) {
    bool is_known = type < RK_ARRAY_LEN(reader->types);
    if (is_known && reader->types[type] != RK_NO_ID)
        return reader->types[type];
    rk_span text = spell_type(reader, type);
    rk_node node = {.kind = RK_NODE_TYPE, .name = rk_model_add_string(reader->model, text)};
    uint32_t id = rk_model_add_node(reader->model, node);
    if (is_known)
        reader->types[type] = id;
    return id;
}

static uint32_t add_number(rk_hlo_reader *reader, uint64_t type, rk_node node) {
    uint32_t mark = reader->pending_count;
    if (!rk_hlo_push(reader, RK_NO_ID, rk_hlo_element_type(reader, type)))
        return RK_NO_ID;
    return rk_hlo_add_node(reader, node, mark);
}

uint32_t rk_hlo_add_int(rk_hlo_reader *reader, bool is_signed, uint16_t width, uint64_t value) {
    static const char owners[4]; // one per kind of number
    unsigned kind = (is_signed ? 2u : 0u) + (width == 32 ? 1u : 0u);
    static const uint8_t types[] = {TYPE_U64, TYPE_U32, TYPE_S64, TYPE_S32};
    rk_hlo_memo *slot;
    if (width == 32)
        value &= UINT32_MAX;
    if (rk_hlo_find(reader, &owners[kind], (rk_span){0}, value, &slot))
        return slot->id;
    rk_node node = {.kind = RK_NODE_INT, .name = RK_NO_ID, .width = width, .value = value};
    uint32_t id = add_number(reader, types[kind], node);
    rk_hlo_remember(slot, &owners[kind], (rk_span){0}, value, id);
    return id;
}

static uint32_t add_float(rk_hlo_reader *reader, uint16_t width, uint64_t value) {
    rk_node node = {.kind = RK_NODE_FLOAT, .name = RK_NO_ID, .width = width, .value = value};
    return add_number(reader, width == 32 ? TYPE_F32 : TYPE_F64, node);
}

static const char *find_enum_value(const rk_hlo_enum *enumeration, int32_t number) {
    for (uint16_t i = 0; i < enumeration->count; i++)
        if (enumeration->values[i].number == number)
            return enumeration->values[i].name;
    return NULL;
}

static uint32_t add_enum(rk_hlo_reader *reader, const rk_hlo_enum *enumeration, uint64_t value) {
    rk_hlo_memo *slot;
    if (rk_hlo_find(reader, enumeration, (rk_span){0}, value, &slot))
        return slot->id;
    const char *text = find_enum_value(enumeration, (int32_t)value);
    rk_node node = {.kind = RK_NODE_ENUM,
                    .name = rk_hlo_name(reader, enumeration->name_id, enumeration->name)};
    if (text) {
        node.bytes = rk_span_text(text);
    } else {
        RK_AUTO(rk_buf) number = {0};
        rk_buf_add_format(&number, "%d", (int32_t)value);
        node.bytes = rk_hlo_keep_text(reader, &number);
        rk_model_count_opaque(reader->model, "an HLO enumeration has a value that is not known");
    }
    uint32_t id = rk_model_add_node(reader->model, node);
    rk_hlo_remember(slot, enumeration, (rk_span){0}, value, id);
    return id;
}

static uint32_t add_bool(rk_hlo_reader *reader, bool value) {
    rk_node node = {.kind = RK_NODE_BOOL, .name = RK_NO_ID, .width = 1, .value = value};
    static const char owner;
    rk_hlo_memo *slot;
    if (rk_hlo_find(reader, &owner, (rk_span){0}, value, &slot))
        return slot->id;
    uint32_t id = rk_model_add_node(reader->model, node);
    rk_hlo_remember(slot, &owner, (rk_span){0}, value, id);
    return id;
}

uint32_t rk_hlo_add_scalar(rk_hlo_reader *reader, const rk_hlo_field *field, uint64_t value) {
    switch ((rk_hlo_kind)field->kind) {
    case RK_HLO_INT:
    case RK_HLO_UINT:
        return rk_hlo_add_int(reader, field->kind == RK_HLO_INT, field->width, value);
    case RK_HLO_BOOL:
        return add_bool(reader, value != 0);
    case RK_HLO_ENUM:
        return add_enum(reader, field->enumeration, value);
    case RK_HLO_FLOAT:
        return add_float(reader, field->width, value);
    default:
        return RK_NO_ID;
    }
}
