// Reads ShapeProto as a type.
#include "program/hlo/read_internal.h"

// xla/xla_data.proto: ShapeProto
enum { SHAPE_ELEMENT_TYPE = 2, SHAPE_DIMENSIONS = 3, SHAPE_TUPLE_SHAPES = 4, SHAPE_DYNAMIC = 6 };
// PrimitiveType
enum { TYPE_TUPLE = 13, TYPE_OPAQUE = 14, TYPE_TOKEN = 17, TYPE_BUFFER = 34 };

// Whether `type` is the element type of an array. The other types have a name of their own.
static bool is_array(uint64_t type) {
    return type != 0 && type != TYPE_TUPLE && type != TYPE_OPAQUE && type != TYPE_TOKEN &&
           type != TYPE_BUFFER;
}

static uint32_t type_name(rk_hlo_reader *reader, uint64_t type) {
    if (is_array(type))
        return rk_hlo_word(reader, RK_HLO_TENSOR);
    uint32_t node = rk_hlo_element_type(reader, type);
    return node == RK_NO_ID ? RK_NO_ID : reader->model->nodes.items[node].name;
}

bool rk_hlo_collect_ints(rk_hlo_reader *reader, rk_span message, uint32_t number,
                         size_t *out_count) {
    rk_proto_field field;
    size_t count = 0;
    bool bad;
    while (rk_hlo_next(&message, &field, &bad)) {
        if (field.number != number)
            continue;
        rk_hlo_numbers numbers = rk_hlo_numbers_of(&field);
        uint64_t value;
        while (rk_hlo_next_number(&numbers, &value)) {
            if (!rk_hlo_grow(reader, &reader->scratch, (uint64_t)(count + 1) * sizeof value))
                return false;
            rk_store_u64le((uint8_t *)reader->scratch.items + 8 * count++, value);
        }
        if (numbers.bad)
            return rk_hlo_fail(reader, "packed numbers are damaged");
    }
    *out_count = count;
    return true;
}

// Pushes the list of dynamic dimensions; nothing if there are none.
static bool push_dynamic(rk_hlo_reader *reader, rk_span shape) {
    size_t count, kept = 0;
    if (!rk_hlo_collect_ints(reader, shape, SHAPE_DYNAMIC, &count))
        return false;
    uint8_t *scratch = reader->scratch.items;
    for (size_t i = 0; i < count; i++)
        if (rk_load_u64le(scratch + 8 * i))
            rk_store_u64le(scratch + 8 * kept++, i);
    if (!kept)
        return true;
    return rk_hlo_push(reader, rk_hlo_word(reader, RK_HLO_DYNAMIC_DIMENSIONS),
                       rk_hlo_add_ints(reader, kept));
}

static bool push_tuple_shapes(rk_hlo_reader *reader, rk_span shape, unsigned depth) {
    rk_proto_field field;
    bool bad;
    while (rk_hlo_next(&shape, &field, &bad))
        if (field.number == SHAPE_TUPLE_SHAPES && field.wire == RK_PROTO_BYTES &&
            !rk_hlo_push(reader, RK_NO_ID, rk_hlo_read_shape(reader, field.bytes, depth + 1)))
            return false;
    return true;
}

static uint64_t find_element_type(rk_span shape) {
    rk_proto_field field;
    uint64_t type = 0;
    bool bad;
    while (rk_hlo_next(&shape, &field, &bad))
        if (field.number == SHAPE_ELEMENT_TYPE && field.wire == RK_PROTO_VARINT)
            type = field.value;
    return type;
}

static uint32_t add_shape(rk_hlo_reader *reader, rk_span shape, unsigned depth) {
    uint32_t mark = reader->pending_count;
    uint64_t type = find_element_type(shape);
    if (is_array(type) && !rk_hlo_push(reader, RK_NO_ID, rk_hlo_element_type(reader, type)))
        return RK_NO_ID;
    // The definition reads the layout and checks the bytes.
    if (!push_tuple_shapes(reader, shape, depth) ||
        !rk_hlo_read_fields(reader, &rk_hlo_shape_fields, shape, depth + 1, NULL, NULL) ||
        !push_dynamic(reader, shape))
        return RK_NO_ID;
    rk_node node = {.kind = RK_NODE_TYPE, .name = type_name(reader, type)};
    size_t count;
    if (!rk_hlo_collect_ints(reader, shape, SHAPE_DIMENSIONS, &count))
        return RK_NO_ID;
    node.bytes = rk_hlo_keep_ints(reader, count);
    return rk_hlo_add_node(reader, node, mark);
}

uint32_t rk_hlo_read_shape(rk_hlo_reader *reader, rk_span shape, unsigned depth) {
    rk_hlo_memo *slot;
    if (rk_hlo_find(reader, &rk_hlo_shape_fields, shape, 0, &slot))
        return slot->id;
    if (depth > RK_HLO_MAX_DEPTH) {
        rk_hlo_fail(reader, "tuples are nested too deeply");
        return RK_NO_ID;
    }
    uint32_t id = add_shape(reader, shape, depth);
    rk_hlo_remember(slot, &rk_hlo_shape_fields, shape, 0, id);
    return id;
}
