// Reads LiteralProto (xla/xla_data.proto) as a constant. Borrows fixed-width bytes in place;
// decodes other encodings.
#include "program/hlo/read_internal.h"

enum { LITERAL_SHAPE = 1, LITERAL_PARTS = 10, LITERAL_SPARSE_INDICES = 14, LITERAL_SIZES = 34 };

typedef enum storage { BYTES, FIXED32, FIXED64, VARINTS } storage;

// The field that holds the elements of a type, and their encoding.
typedef struct data_field {
    const char *type; // name of the element type's node
    uint8_t number;
    uint8_t storage;
    uint8_t element_bytes; // 0: several elements share a byte
} data_field;

static const data_field DATA_FIELDS[] = {
    {"pred", 2, VARINTS, 1},      {"u8", 3, BYTES, 1},
    {"s32", 4, VARINTS, 4},       {"s64", 5, VARINTS, 8},
    {"u32", 6, VARINTS, 4},       {"u64", 7, VARINTS, 8},
    {"f32", 8, FIXED32, 4},       {"f64", 9, FIXED64, 8},
    {"f16", 11, BYTES, 2},        {"c64", 12, FIXED32, 8},
    {"bf16", 13, BYTES, 2},       {"s8", 15, BYTES, 1},
    {"u16", 16, BYTES, 2},        {"s16", 17, BYTES, 2},
    {"c128", 18, FIXED64, 16},    {"f8e5m2", 19, BYTES, 1},
    {"f8e4m3fn", 20, BYTES, 1},   {"s4", 21, BYTES, 0},
    {"u4", 22, BYTES, 0},         {"f8e4m3b11fnuz", 23, BYTES, 1},
    {"f8e5m2fnuz", 24, BYTES, 1}, {"f8e4m3fnuz", 25, BYTES, 1},
    {"s2", 26, BYTES, 0},         {"u2", 27, BYTES, 0},
    {"f8e4m3", 28, BYTES, 1},     {"f8e3m4", 29, BYTES, 1},
    {"s1", 30, BYTES, 0},         {"u1", 31, BYTES, 0},
    {"f4e2m1fn", 32, BYTES, 0},   {"f8e8m0fnu", 33, BYTES, 1},
    {"f6e3m2fn", 35, BYTES, 0},   {"f6e2m3fn", 36, BYTES, 0},
};

static const char WRONG_WIRE[] = "a field is not encoded as its definition says";

typedef struct literal {
    rk_span whole;          // the message
    rk_span shape;          // the last one
    uint32_t shapes;        // how many there are
    uint32_t parts;         // literals inside: the parts of a tuple
    const data_field *data; // NULL if there is none
    rk_span bytes;          // the data, if it is in one piece
    uint32_t pieces;
    size_t encoded_bytes;
    bool has_sizes, has_sparse_indices;
} literal;

static const data_field *find_data_field(uint32_t number) {
    for (size_t i = 0; i < RK_ARRAY_LEN(DATA_FIELDS); i++)
        if (DATA_FIELDS[i].number == number)
            return &DATA_FIELDS[i];
    return NULL;
}

static bool see_data(rk_hlo_reader *reader, literal *l, const rk_proto_field *field) {
    static const rk_proto_wire SINGLE[] = {RK_PROTO_BYTES, RK_PROTO_FIXED32, RK_PROTO_FIXED64,
                                           RK_PROTO_VARINT};
    const data_field *data = find_data_field(field->number);
    if (!data) {
        rk_model_count_opaque(reader->model, "a literal has a field that is not known");
        return true;
    }
    if (field->wire != RK_PROTO_BYTES && field->wire != SINGLE[data->storage])
        return rk_hlo_fail(reader, WRONG_WIRE);
    if (field->wire == RK_PROTO_BYTES && !field->bytes.len)
        return true;
    if (l->data && l->data != data)
        return rk_hlo_fail(reader, "a literal has elements of two types");
    l->data = data;
    l->bytes = field->wire == RK_PROTO_BYTES ? field->bytes : (rk_span){0};
    l->pieces++;
    l->encoded_bytes += field->wire == RK_PROTO_BYTES ? field->bytes.len : field->whole.len;
    return true;
}

static bool see_field(rk_hlo_reader *reader, literal *l, const rk_proto_field *field) {
    bool is_bytes = field->wire == RK_PROTO_BYTES;
    switch (field->number) {
    case LITERAL_SHAPE:
        l->shape = field->bytes;
        l->shapes++;
        return is_bytes || rk_hlo_fail(reader, "a literal has no shape");
    case LITERAL_PARTS:
        l->parts++;
        return is_bytes || rk_hlo_fail(reader, "a part of a literal is damaged");
    case LITERAL_SPARSE_INDICES:
        l->has_sparse_indices = true;
        return is_bytes || field->wire == RK_PROTO_VARINT || rk_hlo_fail(reader, WRONG_WIRE);
    case LITERAL_SIZES:
        l->has_sizes = true;
        return is_bytes || field->wire == RK_PROTO_VARINT || rk_hlo_fail(reader, WRONG_WIRE);
    default:
        return see_data(reader, l, field);
    }
}

static bool scan(rk_hlo_reader *reader, rk_span message, literal *out_literal) {
    rk_proto_field field;
    rk_span rest = message;
    bool bad;
    *out_literal = (literal){.whole = message};
    while (rk_hlo_next(&rest, &field, &bad))
        if (!see_field(reader, out_literal, &field))
            return false;
    if (bad)
        return rk_hlo_fail(reader, "not a valid protobuf message");
    return out_literal->shapes == 1 || rk_hlo_fail(reader, "a literal must have exactly one shape");
}

static void store(uint8_t *at, uint8_t width_bytes, uint64_t value) {
    for (unsigned i = 0; i < width_bytes; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

// Appends one occurrence's elements to `reader->scratch`, which has `scratch_bytes`.
static bool add_piece(const literal *l, const rk_proto_field *piece, uint8_t *scratch,
                      size_t scratch_bytes, size_t *used) {
    const data_field *data = l->data;
    if (data->storage == VARINTS) {
        uint8_t width = data->element_bytes;
        rk_hlo_numbers numbers = rk_hlo_numbers_of(piece);
        uint64_t value;
        while (rk_hlo_next_number(&numbers, &value)) {
            if (scratch_bytes - *used < width)
                return false;
            store(scratch + *used, width, width == 1 ? value != 0 : value);
            *used += width;
        }
        return !numbers.bad;
    }
    uint8_t number[8];
    rk_span bytes = piece->bytes;
    if (piece->wire != RK_PROTO_BYTES) {
        rk_store_u64le(number, piece->value);
        bytes = rk_span_of(number, data->storage == FIXED32 ? 4 : 8);
    }
    if (scratch_bytes - *used < bytes.len)
        return false;
    if (bytes.len)
        memcpy(scratch + *used, bytes.data, bytes.len);
    *used += bytes.len;
    return true;
}

// Decodes all pieces. `expected_bytes` is the size that the shape requires.
static bool gather(rk_hlo_reader *reader, const literal *l, size_t expected_bytes,
                   rk_span *out_bytes) {
    if (!rk_hlo_grow(reader, &reader->scratch, expected_bytes))
        return false;
    rk_proto_field field;
    rk_span rest = l->whole;
    size_t used = 0;
    bool bad;
    while (rk_hlo_next(&rest, &field, &bad))
        if (field.number == l->data->number &&
            !add_piece(l, &field, reader->scratch.items, expected_bytes, &used))
            return rk_hlo_fail(reader, "a literal does not fit its shape");
    *out_bytes = (rk_span){0};
    if (used)
        *out_bytes = rk_model_keep(reader->model, rk_span_of(reader->scratch.items, used));
    return out_bytes->len == used;
}

static bool is_plain_bool(rk_span bytes) {
    uint8_t all = 0;
    for (size_t i = 0; i < bytes.len; i++)
        all |= bytes.data[i];
    return all <= 1;
}

// Computes the element count of a type. False on overflow.
static bool count_elements(const rk_node *type, uint64_t *out_count) {
    uint64_t count = 1;
    for (size_t i = 0; i < type->bytes.len; i += 8)
        if (__builtin_mul_overflow(count, rk_load_u64le(type->bytes.data + i), &count))
            return false;
    *out_count = count;
    return true;
}

static bool read_data(rk_hlo_reader *reader, const literal *l, const rk_node *type,
                      rk_span *out_bytes) {
    static const char MISFIT[] = "a literal does not fit its shape";
    const data_field *data = l->data;
    const rk_model *model = reader->model;
    *out_bytes = (rk_span){0};
    if (!data) // an array without elements, or a program whose constants were removed
        return true;
    uint64_t count, wanted;
    if (!type->field_count || !count_elements(type, &count) ||
        __builtin_mul_overflow(count, data->element_bytes, &wanted))
        return rk_hlo_fail(reader, MISFIT);
    const rk_node *element = &model->nodes.items[model->fields.items[type->first_field].node];
    if (!rk_span_is(rk_model_string(model, element->name), data->type))
        return rk_hlo_fail(reader, "a literal has elements of another type than its shape");
    bool as_it_stands = l->bytes.len && l->pieces == 1 && data->storage != VARINTS;
    if (data->storage == BYTES || as_it_stands ||
        (l->bytes.len && l->pieces == 1 && data->element_bytes == 1 && is_plain_bool(l->bytes))) {
        *out_bytes = l->bytes;
    } else {
        // Every element takes at least one byte.
        if (count > l->encoded_bytes)
            return rk_hlo_fail(reader, MISFIT);
        if (!gather(reader, l, (size_t)wanted, out_bytes))
            return false;
    }
    return !data->element_bytes || out_bytes->len == wanted || rk_hlo_fail(reader, MISFIT);
}

static bool push_ints(rk_hlo_reader *reader, rk_span message, uint32_t number, rk_hlo_words word) {
    size_t count;
    if (!rk_hlo_collect_ints(reader, message, number, &count))
        return false;
    return !count || rk_hlo_push(reader, rk_hlo_word(reader, word), rk_hlo_add_ints(reader, count));
}

static uint32_t read_array(rk_hlo_reader *reader, const literal *l, unsigned depth) {
    uint32_t mark = reader->pending_count;
    uint32_t type = rk_hlo_read_shape(reader, l->shape, depth + 1);
    rk_node node = {.kind = RK_NODE_ELEMENTS, .name = RK_NO_ID};
    if (!rk_hlo_push(reader, RK_NO_ID, type) ||
        !read_data(reader, l, &reader->model->nodes.items[type], &node.bytes))
        return RK_NO_ID;
    if (l->has_sizes && !push_ints(reader, l->whole, LITERAL_SIZES, RK_HLO_DYNAMIC_SIZES))
        return RK_NO_ID;
    if (l->has_sparse_indices &&
        !push_ints(reader, l->whole, LITERAL_SPARSE_INDICES, RK_HLO_SPARSE_INDICES))
        return RK_NO_ID;
    return rk_hlo_add_node(reader, node, mark);
}

static uint32_t read_tuple(rk_hlo_reader *reader, const literal *l, unsigned depth) {
    uint32_t mark = reader->pending_count;
    rk_proto_field field;
    rk_span rest = l->whole;
    bool bad;
    while (rk_hlo_next(&rest, &field, &bad))
        if (field.number == LITERAL_PARTS &&
            !rk_hlo_push(reader, RK_NO_ID, rk_hlo_read_literal(reader, field.bytes, depth + 1)))
            return RK_NO_ID;
    rk_node node = {.kind = RK_NODE_LIST, .name = RK_NO_ID};
    return rk_hlo_add_node(reader, node, mark);
}

uint32_t rk_hlo_read_literal(rk_hlo_reader *reader, rk_span message, unsigned depth) {
    literal l;
    if (depth > RK_HLO_MAX_DEPTH) {
        rk_hlo_fail(reader, "tuples are nested too deeply");
        return RK_NO_ID;
    }
    if (!scan(reader, message, &l))
        return RK_NO_ID;
    if (!l.parts)
        return read_array(reader, &l, depth);
    if (l.data) {
        rk_hlo_fail(reader, "a literal is both a tuple and an array");
        return RK_NO_ID;
    }
    return read_tuple(reader, &l, depth);
}
