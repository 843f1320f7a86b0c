#include "program/role.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/proto.h"

enum { VALUES_MAX = 1 << 16 }; // of inputs, and of results

// The type of an input or a result. Equal types have equal hashes; 0 is a type that is never
// carried.
typedef struct value_type {
    uint64_t hash, elements;
} value_type;

typedef struct types {
    value_type *items; // owned
    uint32_t count, capacity;
} types;

static void types_cleanup(types *list) {
    rk_free(list->items);
}

static void add_type(types *list, value_type type) {
    if (list->count == list->capacity) {
        uint32_t larger = list->capacity ? 2 * list->capacity : 64;
        value_type *grown =
            larger <= VALUES_MAX ? rk_realloc(list->items, larger * sizeof *list->items) : NULL;
        if (!grown)
            return;
        list->items = grown;
        list->capacity = larger;
    }
    list->items[list->count++] = type;
}

static int by_hash(const void *a, const void *b) {
    const value_type *one = a, *other = b;
    return (one->hash > other->hash) - (one->hash < other->hash);
}

static uint64_t mix(uint64_t hash, uint64_t value) {
    return (hash ^ value) * UINT64_C(0x100000001b3);
}

static uint64_t bit_of(uint64_t type) {
    return UINT64_C(1) << ((type ^ type >> 32) * UINT64_C(0x9E3779B97F4A7C15) >> 58);
}

static void compare(const types *inputs, const types *results, rk_program_role *role) {
    uint64_t last = 0, hash = 0;
    role->inputs = inputs->count;
    role->results = results->count;
    if (inputs->count == 0 || results->count == 0)
        return;
    qsort(inputs->items, inputs->count, sizeof *inputs->items, by_hash);
    qsort(results->items, results->count, sizeof *results->items, by_hash);
    for (uint32_t i = 0, r = 0; i < inputs->count && r < results->count;) {
        uint64_t input = inputs->items[i].hash, result = results->items[r].hash;
        uint64_t elements = results->items[r].elements;
        i += input <= result;
        r += result <= input;
        if (input != result || input == 0)
            continue;
        role->carried++;
        role->carried_bytes += 4 * elements;
        role->carried_set |= bit_of(input);
        hash = input == last ? hash : mix(hash, input);
        last = input;
    }
    role->carried_types = (uint32_t)(hash ^ hash >> 32);
}

// MLIR.

static const uint64_t SEED = UINT64_C(0xcbf29ce484222325);

static uint64_t mix_bytes(uint64_t hash, rk_span bytes) {
    for (size_t i = 0; i < bytes.len; i++)
        hash = mix(hash, bytes.data[i]);
    return hash;
}

static uint64_t add_dimension(uint64_t elements, uint64_t size) {
    uint64_t product, most = UINT64_C(1) << 40;
    return __builtin_mul_overflow(elements, size, &product) || product > most ? most : product;
}

static value_type type_of(const rk_model *m, uint32_t id) {
    const rk_node *type = &m->nodes.items[id], *element = type;
    if (type->field_count > 0 && m->fields.items[type->first_field].node != RK_NO_ID)
        element = &m->nodes.items[m->fields.items[type->first_field].node];
    rk_span name = rk_model_string(m, element->name);
    if (name.len > 1 && name.data[0] == 'u') // "ui32"
        return (value_type){0};
    value_type result = {.hash = mix_bytes(mix_bytes(SEED, type->bytes), name) | 1, .elements = 1};
    for (size_t i = 0; i + 8 <= type->bytes.len; i += 8)
        result.elements = add_dimension(result.elements, rk_load_u64le(type->bytes.data + i));
    return result;
}

static void add_types(const rk_model *m, uint32_t list, types *out_types) {
    if (list == RK_NO_ID)
        return;
    const rk_node *node = &m->nodes.items[list];
    for (uint32_t i = 0; i < node->field_count; i++) {
        uint32_t type = m->fields.items[node->first_field + i].node;
        if (type != RK_NO_ID)
            add_type(out_types, type_of(m, type));
    }
}

// Returns whether JAX knows no names for the results: "result[0]" in a call of the user, "" in one
// of a transformation. (Before JAX 0.5, also a single result of the user's call has the name "".)
static bool have_no_names(const rk_model *m, uint32_t list) {
    const rk_node *node = list == RK_NO_ID ? NULL : &m->nodes.items[list];
    for (uint32_t i = 0; node && i < node->field_count; i++) {
        uint32_t id = m->fields.items[node->first_field + i].node;
        const rk_node *attrs = id == RK_NO_ID ? NULL : &m->nodes.items[id];
        bool is_empty = false;
        for (uint32_t k = 0; attrs && k < attrs->field_count; k++) {
            rk_field field = m->fields.items[attrs->first_field + k];
            is_empty |= rk_span_is(rk_model_string(m, field.name), "jax.result_info") &&
                        field.node != RK_NO_ID && m->nodes.items[field.node].bytes.len == 0;
        }
        if (!is_empty)
            return false;
    }
    return node && node->field_count > 0;
}

void rk_role_read_function(const rk_model *model, const rk_op *function, rk_program_role *role) {
    __attribute__((cleanup(types_cleanup))) types inputs = {0}, results = {0};
    uint32_t id = rk_model_attr(model, function, "function_type");
    if (id == RK_NO_ID)
        return;
    const rk_node *type = &model->nodes.items[id];
    for (uint32_t i = 0; i < type->field_count; i++) {
        rk_field field = model->fields.items[type->first_field + i];
        rk_span name = rk_model_string(model, field.name);
        if (rk_span_is(name, "inputs"))
            add_types(model, field.node, &inputs);
        else if (rk_span_is(name, "results"))
            add_types(model, field.node, &results);
    }
    compare(&inputs, &results, role);
    role->is_transformed = have_no_names(model, rk_model_attr(model, function, "res_attrs"));
}

// HLO: xla/service/hlo.proto, xla/xla_data.proto.
enum { MODULE_COMPUTATIONS = 3, MODULE_PROGRAM_SHAPE = 4, COMPUTATION_INSTRUCTIONS = 2 };
enum { PROGRAM_PARAMETERS = 1, PROGRAM_RESULT = 2 };
enum { SHAPE_ELEMENT_TYPE = 2, SHAPE_DIMENSIONS = 3, SHAPE_TUPLE_SHAPES = 4 };
enum { TYPE_U8 = 6, TYPE_U64 = 9 }; // PrimitiveType: the unsigned integers

static bool is_message(const rk_proto_field *field, uint32_t number) {
    return field->number == number && field->wire == RK_PROTO_BYTES;
}

// Adds the shape, or the elements of a tuple. XLA nests tuples in results rarely, so inner tuples
// count as one value.
static void add_shape(rk_span shape, bool is_element, types *out_types) {
    rk_proto_field field;
    rk_span rest = shape;
    uint64_t hash = SEED, element = 0, elements = 1;
    bool bad, is_tuple = false;
    while (rk_proto_next(&rest, &field, &bad)) {
        if (field.number == SHAPE_ELEMENT_TYPE)
            element = field.value;
        else if (is_message(&field, SHAPE_TUPLE_SHAPES))
            is_tuple = true;
        if (is_message(&field, SHAPE_TUPLE_SHAPES) && !is_element)
            add_shape(field.bytes, true, out_types);
        if (field.number != SHAPE_DIMENSIONS)
            continue;
        hash = mix(mix_bytes(hash, field.bytes), field.value);
        uint64_t size = field.value;
        rk_span packed = field.bytes;
        if (field.wire == RK_PROTO_VARINT)
            elements = add_dimension(elements, size);
        while (packed.len > 0 && rk_proto_take_varint(&packed, &size))
            elements = add_dimension(elements, size);
    }
    bool is_carried = element < TYPE_U8 || element > TYPE_U64;
    if (!is_tuple || is_element)
        add_type(out_types,
                 (value_type){is_carried && !is_tuple ? mix(hash, element) | 1 : 0, elements});
}

static uint32_t count_instructions(rk_span computation) {
    rk_proto_field field;
    uint32_t count = 0;
    bool bad;
    while (rk_proto_next(&computation, &field, &bad))
        count += is_message(&field, COMPUTATION_INSTRUCTIONS);
    return count;
}

void rk_role_read_hlo(rk_span module, rk_program_role *out_role) {
    __attribute__((cleanup(types_cleanup))) types inputs = {0}, results = {0};
    rk_proto_field field, part;
    bool bad;
    while (rk_proto_next(&module, &field, &bad)) {
        if (is_message(&field, MODULE_COMPUTATIONS))
            out_role->operations += count_instructions(field.bytes);
        if (!is_message(&field, MODULE_PROGRAM_SHAPE))
            continue;
        rk_span shape = field.bytes;
        while (rk_proto_next(&shape, &part, &bad))
            if (is_message(&part, PROGRAM_PARAMETERS))
                add_shape(part.bytes, false, &inputs);
            else if (is_message(&part, PROGRAM_RESULT))
                add_shape(part.bytes, false, &results);
    }
    compare(&inputs, &results, out_role);
}
