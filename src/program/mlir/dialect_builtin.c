// Decodes the builtin dialect's attributes, locations and types.
// Source: llvm-project mlir/include/mlir/IR/BuiltinDialectBytecode.td
#include "program/mlir/decode.h"

enum {
    ARRAY = 0,
    DICTIONARY = 1,
    STRING = 2,
    TYPED_STRING = 3,
    FLAT_SYMBOL = 4,
    SYMBOL = 5,
    TYPE_ATTR = 6,
    UNIT = 7,
    INTEGER = 8,
    FLOAT = 9,
    CALL_SITE_LOC = 10,
    FILE_LOC = 11,
    FUSED_LOC = 12,
    FUSED_LOC_METADATA = 13,
    NAME_LOC = 14,
    UNKNOWN_LOC = 15,
    DENSE_RESOURCE = 16,
    DENSE_ARRAY = 17,
    DENSE_ELEMENTS = 18,
    DENSE_STRING = 19,
    SPARSE = 20,
    DISTINCT = 21,
    FILE_RANGE_LOC = 22,
    AFFINE_MAP = 23,
};

static const rk_recipe ATTRIBUTES[] = {
    {SPARSE,
     RK_WORD_sparse,
     {{RK_WORD_type, RK_READ_TYPE},
      {RK_WORD_indices, RK_READ_ATTR},
      {RK_WORD_values, RK_READ_ATTR}}},
};

static uint32_t string_node(rk_bytecode *file, uint32_t id, rk_node_kind kind) {
    return id == RK_NO_ID ? RK_NO_ID
                          : rk_decode_bytes_node(file, kind, rk_model_string(file->model, id));
}

static uint32_t typed_string(rk_bytecode *file) {
    rk_node node = {.kind = RK_NODE_STRING, .name = RK_NO_ID, .bytes = rk_decode_string(file)};
    rk_field type = {RK_NO_ID, rk_decode_type(file)};
    return rk_decode_with_fields(file, node, &type, 1);
}

// A root symbol, and a list of the symbols nested in it.
static uint32_t nested_symbol(rk_bytecode *file) {
    uint32_t root = rk_decode_string_attr(file), list = rk_decode_list(file, false);
    if (root == RK_NO_ID || list == RK_NO_ID)
        return RK_NO_ID;
    rk_node node = file->model->nodes.items[list];
    node.kind = RK_NODE_SYMBOL;
    node.bytes = rk_model_string(file->model, root);
    return rk_model_add_node(file->model, node);
}

static uint32_t file_location(rk_bytecode *file, bool is_range) {
    enum { MAX_NUMBERS = 4 }; // line; line, column; then end column; or end line and end column
    uint64_t numbers[MAX_NUMBERS] = {0};
    uint32_t path = rk_decode_string_attr(file);
    uint64_t count = is_range ? rk_cursor_varint(&file->in) : 2;
    if (count > MAX_NUMBERS || path == RK_NO_ID)
        return rk_decode_bad(file);
    for (uint64_t i = 0; i < count; i++)
        numbers[i] = rk_cursor_varint(&file->in) & UINT32_MAX;
    rk_node node = {.kind = RK_NODE_LOC_FILE,
                    .name = RK_NO_ID,
                    .value = numbers[0] << 32 | numbers[1],
                    .bytes = rk_model_string(file->model, path)};
    return rk_model_add_node(file->model, node);
}

static uint32_t name_location(rk_bytecode *file) {
    uint32_t name = rk_decode_string_attr(file);
    rk_field location = {RK_NO_ID, rk_decode_attr(file)};
    rk_node node = {
        .kind = RK_NODE_LOC_NAME, .name = RK_NO_ID, .bytes = rk_model_string(file->model, name)};
    return rk_decode_with_fields(file, node, &location, 1);
}

static uint32_t call_site_location(rk_bytecode *file) {
    rk_field fields[2] = {{RK_NO_ID, rk_decode_attr(file)}, {RK_NO_ID, RK_NO_ID}};
    fields[1].node = rk_decode_attr(file);
    rk_node node = {.kind = RK_NODE_LOC_CALL, .name = RK_NO_ID};
    return rk_decode_with_fields(file, node, fields, 2);
}

static uint32_t fused_location(rk_bytecode *file, bool has_metadata) {
    uint32_t list = rk_decode_list(file, false);
    uint32_t metadata = has_metadata ? rk_decode_attr(file) : RK_NO_ID;
    if (file->missing || file->in.bad || list == RK_NO_ID)
        return RK_NO_ID;
    rk_node node = file->model->nodes.items[list];
    node.kind = RK_NODE_LOC_FUSED;
    if (has_metadata) { // the list's fields are the last in the model, so one more can follow
        if (rk_model_add_field(file->model, RK_WORD_metadata, metadata) == RK_NO_ID)
            return RK_NO_ID;
        node.field_count++;
    }
    return rk_model_add_node(file->model, node);
}

static uint32_t dense_resource(rk_bytecode *file) {
    rk_field type = {RK_NO_ID, rk_decode_type(file)};
    uint64_t handle = rk_cursor_varint(&file->in);
    rk_node node = {.kind = RK_NODE_ELEMENTS, .name = RK_NO_ID};
    if (!rk_bytecode_resource(file, handle, &node.bytes))
        return rk_decode_bad(file);
    return rk_decode_with_fields(file, node, &type, 1);
}

// An array of i64 becomes RK_NODE_INTS (dimensions and similar lists); other arrays become
// constants with one dimension.
static uint32_t dense_array(rk_bytecode *file) {
    rk_model *model = file->model;
    rk_field element = {RK_NO_ID, rk_decode_type(file)};
    uint64_t count = rk_cursor_varint(&file->in);
    rk_span bytes = rk_cursor_span(&file->in, rk_cursor_varint(&file->in));
    if (file->missing || file->in.bad)
        return RK_NO_ID;
    if (model->nodes.items[element.node].name == RK_WORD_i64)
        return bytes.len / 8 == count && bytes.len % 8 == 0
                   ? rk_decode_bytes_node(file, RK_NODE_INTS, bytes)
                   : rk_decode_bad(file);
    rk_buf_clear(&file->ints);
    rk_buf_add_u64le(&file->ints, count);
    rk_node type = {.kind = RK_NODE_TYPE,
                    .name = RK_WORD_tensor,
                    .bytes = rk_model_keep(model, rk_bytecode_gathered(file))};
    rk_field tensor = {RK_NO_ID, rk_decode_with_fields(file, type, &element, 1)};
    rk_node node = {.kind = RK_NODE_ELEMENTS, .name = RK_NO_ID, .bytes = bytes};
    return rk_decode_with_fields(file, node, &tensor, 1);
}

// Type, splat flag, then strings up to the entry's end: one per element of the type, or a single
// string.
static uint32_t dense_strings(rk_bytecode *file) {
    rk_model *model = file->model;
    rk_field fields[2] = {{RK_WORD_type, rk_decode_type(file)}, {RK_WORD_values, RK_NO_ID}};
    (void)rk_cursor_varint(&file->in);
    uint32_t first = model->nodes.count, count = 0;
    for (; file->in.at < file->in.end; count++)
        if (rk_decode_bytes_node(file, RK_NODE_STRING, rk_decode_string(file)) == RK_NO_ID)
            return RK_NO_ID;
    rk_node list = {.kind = RK_NODE_LIST,
                    .name = RK_NO_ID,
                    .first_field = model->fields.count,
                    .field_count = count};
    for (uint32_t i = 0; i < count; i++)
        if (rk_model_add_field(model, RK_NO_ID, first + i) == RK_NO_ID)
            return RK_NO_ID;
    fields[1].node = rk_model_add_node(model, list);
    rk_node node = {.kind = RK_NODE_STRUCT, .name = RK_WORD_dense_string};
    return rk_decode_with_fields(file, node, fields, 2);
}

static uint32_t other_attr(rk_bytecode *file, uint64_t code) {
    rk_node unit = {.kind = RK_NODE_UNIT, .name = RK_NO_ID};
    rk_node unknown = {.kind = RK_NODE_LOC_UNKNOWN, .name = RK_NO_ID};
    switch (code) {
    case UNIT:
        return rk_model_add_node(file->model, unit);
    case CALL_SITE_LOC:
        return call_site_location(file);
    case FILE_LOC:
    case FILE_RANGE_LOC:
        return file_location(file, code == FILE_RANGE_LOC);
    case FUSED_LOC:
    case FUSED_LOC_METADATA:
        return fused_location(file, code == FUSED_LOC_METADATA);
    case NAME_LOC:
        return name_location(file);
    case UNKNOWN_LOC:
        return rk_model_add_node(file->model, unknown);
    case DENSE_RESOURCE:
        return dense_resource(file);
    case DENSE_ARRAY:
        return dense_array(file);
    case DENSE_STRING:
        return dense_strings(file);
    case AFFINE_MAP:
        return rk_dialect_affine_map(file);
    default: // includes DISTINCT: equal bytes do not make two of them equal
        return rk_decode_struct(file, RK_NODE_STRUCT, code, ATTRIBUTES, RK_ARRAY_LEN(ATTRIBUTES));
    }
}

uint32_t rk_dialect_builtin_attr(rk_bytecode *file) {
    uint64_t code = rk_cursor_varint(&file->in);
    switch (code) {
    case ARRAY:
        return rk_decode_list(file, false);
    case DICTIONARY:
        return rk_decode_dict(file);
    case STRING:
        return rk_decode_bytes_node(file, RK_NODE_STRING, rk_decode_string(file));
    case TYPED_STRING:
        return typed_string(file);
    case FLAT_SYMBOL:
        return string_node(file, rk_decode_string_attr(file), RK_NODE_SYMBOL);
    case SYMBOL:
        return nested_symbol(file);
    case TYPE_ATTR:
        return rk_decode_type(file);
    case INTEGER:
        return rk_decode_number(file, RK_NODE_INT);
    case FLOAT:
        return rk_decode_number(file, RK_NODE_FLOAT);
    case DENSE_ELEMENTS:
        return rk_decode_elements(file);
    default:
        return other_attr(file, code);
    }
}

enum {
    T_INTEGER = 0,
    T_INDEX = 1,
    T_FUNCTION = 2,
    T_MEMREF = 10,
    T_MEMREF_SPACE = 11,
    T_NONE = 12,
    T_TENSOR = 13,
    T_TENSOR_ENCODING = 14,
    T_VECTOR = 19,
};

static const struct {
    uint8_t code;
    uint8_t word;
} SCALARS[] = {
    {T_INDEX, RK_WORD_index}, {3, RK_WORD_bf16},        {4, RK_WORD_f16},
    {5, RK_WORD_f32},         {6, RK_WORD_f64},         {7, RK_WORD_f80},
    {8, RK_WORD_f128},        {T_NONE, RK_WORD_none},   {21, RK_WORD_tf32},
    {22, RK_WORD_f8E5M2},     {23, RK_WORD_f8E4M3},     {24, RK_WORD_f8E4M3FN},
    {25, RK_WORD_f8E5M2FNUZ}, {26, RK_WORD_f8E4M3FNUZ}, {27, RK_WORD_f8E4M3B11FNUZ},
    {28, RK_WORD_f8E3M4},     {29, RK_WORD_f4E2M1FN},   {30, RK_WORD_f6E2M3FN},
    {31, RK_WORD_f6E3M2FN},   {32, RK_WORD_f8E8M0FNU},
};

static const rk_recipe TYPES[] = {
    {T_FUNCTION,
     RK_WORD_function,
     {{RK_WORD_inputs, RK_READ_TYPES}, {RK_WORD_results, RK_READ_TYPES}}},
    {9, RK_WORD_complex, {{RK_WORD_COUNT, RK_READ_TYPE}}},
    {15, RK_WORD_tuple, {{RK_WORD_COUNT, RK_READ_TYPES}}},
    {16, RK_WORD_unranked_memref, {{RK_WORD_COUNT, RK_READ_TYPE}}},
    {17,
     RK_WORD_unranked_memref,
     {{RK_WORD_memory_space, RK_READ_ATTR}, {RK_WORD_COUNT, RK_READ_TYPE}}},
    {18, RK_WORD_unranked_tensor, {{RK_WORD_COUNT, RK_READ_TYPE}}},
    {20,
     RK_WORD_vector,
     {{RK_WORD_scalable, RK_READ_BOOLS},
      {RK_WORD_dims, RK_READ_INTS},
      {RK_WORD_COUNT, RK_READ_TYPE}}},
};

uint32_t rk_dialect_builtin_scalar(rk_span text) {
    rk_span word;
    static const char *const words[] = {
#define RK_WORD(name) #name,
        RK_WORDS(RK_WORD)
#undef RK_WORD
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(SCALARS); i++) {
        word = rk_span_text(words[SCALARS[i].word]);
        if (rk_span_equal(text, word))
            return SCALARS[i].word;
    }
    return RK_WORD_COUNT;
}

// Encoded as width << 2 | signedness (0 none, 1 signed, 2 unsigned).
static uint32_t integer_type(rk_bytecode *file) {
    static const char *const prefixes[] = {"i", "si", "ui"};
    uint64_t code = rk_cursor_varint(&file->in);
    if ((code & 3) >= RK_ARRAY_LEN(prefixes) || code >> 2 > UINT16_MAX)
        return rk_decode_bad(file);
    rk_buf_clear(&file->ints);
    rk_buf_add_format(&file->ints, "%s%u", prefixes[code & 3], (unsigned)(code >> 2));
    rk_span text = rk_bytecode_gathered(file);
    for (uint32_t word = RK_WORD_i1; word < RK_WORD_index; word++)
        if (rk_span_equal(rk_model_string(file->model, word), text))
            return rk_decode_scalar_type(file, word);
    uint32_t name = rk_model_add_string(file->model, rk_model_keep(file->model, text));
    return name == RK_NO_ID ? RK_NO_ID : rk_decode_scalar_type(file, name);
}

// Encoded as [memory space], dimensions, element type, layout.
static uint32_t memref_type(rk_bytecode *file, bool has_space) {
    rk_field space = {RK_WORD_memory_space, has_space ? rk_decode_attr(file) : RK_NO_ID};
    rk_span dims = rk_decode_int_bytes(file);
    rk_field fields[3] = {{RK_NO_ID, rk_decode_type(file)}, {RK_WORD_layout, RK_NO_ID}, space};
    fields[1].node = rk_decode_attr(file);
    if (file->missing || file->in.bad)
        return RK_NO_ID;
    rk_node node = {
        .kind = RK_NODE_TYPE, .name = RK_WORD_memref, .bytes = rk_model_keep(file->model, dims)};
    return rk_decode_with_fields(file, node, fields, has_space ? 3 : 2);
}

uint32_t rk_dialect_builtin_type(rk_bytecode *file) {
    uint64_t code = rk_cursor_varint(&file->in);
    for (size_t i = 0; i < RK_ARRAY_LEN(SCALARS); i++)
        if (SCALARS[i].code == code)
            return rk_decode_scalar_type(file, SCALARS[i].word);
    switch (code) {
    case T_INTEGER:
        return integer_type(file);
    case T_MEMREF:
    case T_MEMREF_SPACE:
        return memref_type(file, code == T_MEMREF_SPACE);
    case T_TENSOR:
        return rk_decode_shaped(file, RK_WORD_tensor, RK_NO_ID);
    case T_TENSOR_ENCODING:
        return rk_decode_shaped(file, RK_WORD_tensor, rk_decode_attr(file));
    case T_VECTOR:
        return rk_decode_shaped(file, RK_WORD_vector, RK_NO_ID);
    default:
        return rk_decode_struct(file, RK_NODE_TYPE, code, TYPES, RK_ARRAY_LEN(TYPES));
    }
}
