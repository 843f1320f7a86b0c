// Reads messages by their definitions. One pass over the fields is enough if they are in ascending
// order; otherwise they are sorted first.
#include "program/hlo/read_internal.h"

#include <stdlib.h>

// All occurrences of one field.
typedef struct field_run {
    const rk_hlo_field *field; // NULL: the field is in no definition
    rk_span whole;             // the encoded bytes
    rk_proto_field last;
    uint32_t occurrences;
} field_run;

// Reads FrontendAttributes as the map inside it. RK_NO_ID and `*out_empty` if it is empty.
static uint32_t read_attributes(rk_hlo_reader *reader, const rk_hlo_message *message, rk_span bytes,
                                unsigned depth, bool *out_empty) {
    rk_hlo_memo *slot;
    *out_empty = !bytes.len;
    if (*out_empty)
        return RK_NO_ID;
    if (rk_hlo_find(reader, message, bytes, 0, &slot))
        return slot->id;
    uint32_t mark = reader->pending_count;
    if (!rk_hlo_read_fields(reader, message, bytes, depth + 1, NULL, NULL))
        return RK_NO_ID;
    const rk_field *fields = reader->pending.items;
    uint32_t count = reader->pending_count - mark, id;
    if (count == 1 && reader->model->nodes.items[fields[mark].node].kind == RK_NODE_DICT) {
        reader->pending_count = mark;
        id = fields[mark].node;
    } else {
        rk_node node = {.kind = RK_NODE_STRUCT,
                        .name = rk_hlo_name(reader, message->name_id, message->name)};
        id = rk_hlo_add_node(reader, node, mark);
    }
    rk_hlo_remember(slot, message, bytes, 0, id);
    return id;
}

// Returns the message without the debug information at its end. Otherwise equal messages with
// different debug information would not share a cache slot.
static rk_span without_debug(const rk_hlo_message *message, rk_span bytes) {
    rk_span rest = bytes;
    rk_proto_field field;
    size_t len = 0;
    bool bad, has_debug = false;
    if (!message->count || message->fields[message->count - 1].kind != RK_HLO_DROP)
        return bytes;
    while (rk_hlo_next(&rest, &field, &bad)) {
        const rk_hlo_field *known = rk_hlo_field_of(message, field.number);
        bool is_debug = known && known->kind == RK_HLO_DROP;
        if (has_debug && !is_debug)
            return bytes;
        has_debug |= is_debug;
        len += is_debug ? 0 : field.whole.len;
    }
    return bad ? bytes : rk_span_of(bytes.data, len);
}

uint32_t rk_hlo_read_message(rk_hlo_reader *reader, const rk_hlo_message *message, rk_span bytes,
                             unsigned depth) {
    rk_hlo_memo *slot;
    bytes = without_debug(message, bytes);
    if (rk_hlo_find(reader, message, bytes, 0, &slot))
        return slot->id;
    uint32_t mark = reader->pending_count;
    if (!rk_hlo_read_fields(reader, message, bytes, depth + 1, NULL, NULL))
        return RK_NO_ID;
    rk_node node = {.kind = RK_NODE_STRUCT,
                    .name = rk_hlo_name(reader, message->name_id, message->name)};
    uint32_t id = rk_hlo_add_node(reader, node, mark);
    rk_hlo_remember(slot, message, bytes, 0, id);
    return id;
}

static uint32_t read_part(rk_hlo_reader *reader, const rk_hlo_field *field, rk_span bytes,
                          unsigned depth) {
    if (field->kind == RK_HLO_STRING)
        return rk_hlo_add_string(reader, bytes);
    if (field->kind == RK_HLO_SHAPE)
        return rk_hlo_read_shape(reader, bytes, depth + 1);
    return rk_hlo_read_message(reader, field->message, bytes, depth);
}

static bool push_field(rk_hlo_reader *reader, const rk_hlo_field *field, uint32_t node) {
    return rk_hlo_push(reader, rk_hlo_name(reader, field->name_id, field->name), node);
}

static bool push_single(rk_hlo_reader *reader, const field_run *run, unsigned depth) {
    const rk_hlo_field *field = run->field;
    bool is_part = field->kind == RK_HLO_MESSAGE || field->kind == RK_HLO_SHAPE ||
                   field->kind == RK_HLO_ATTRIBUTES;
    if (is_part && run->occurrences > 1)
        return rk_hlo_fail(reader, "a singular message field occurs twice");
    if (field->kind == RK_HLO_ATTRIBUTES) {
        bool is_empty;
        uint32_t node = read_attributes(reader, field->message, run->last.bytes, depth, &is_empty);
        return is_empty || push_field(reader, field, node);
    }
    if (is_part) {
        uint32_t node = read_part(reader, field, run->last.bytes, depth);
        if (node != RK_NO_ID && field->message && field->message->omit_empty &&
            !reader->model->nodes.items[node].field_count)
            return true;
        return push_field(reader, field, node);
    }
    if (field->kind == RK_HLO_STRING) {
        if (!run->last.bytes.len && !field->presence)
            return true;
        return push_field(reader, field, rk_hlo_add_string(reader, run->last.bytes));
    }
    if (!run->last.value && !field->presence)
        return true;
    return push_field(reader, field, rk_hlo_add_scalar(reader, field, run->last.value));
}

static uint64_t widen(const rk_hlo_field *field, uint64_t value) {
    if (field->kind == RK_HLO_BOOL)
        return value != 0;
    if (field->width == 32)
        return field->kind == RK_HLO_INT ? (uint64_t)(int64_t)(int32_t)value : (uint32_t)value;
    return value;
}

static bool push_ints(rk_hlo_reader *reader, const field_run *run) {
    rk_hlo_memo *slot;
    const rk_hlo_field *field = run->field;
    if (rk_hlo_find(reader, field, run->whole, 0, &slot))
        return push_field(reader, field, slot->id);
    // A number takes at least one byte.
    if (!rk_hlo_grow(reader, &reader->scratch, (uint64_t)run->whole.len * sizeof(int64_t)))
        return false;
    size_t count = 0;
    rk_span rest = run->whole;
    rk_proto_field occurrence;
    bool bad;
    while (rk_hlo_next(&rest, &occurrence, &bad)) {
        rk_hlo_numbers numbers = rk_hlo_numbers_of(&occurrence);
        uint64_t value;
        while (rk_hlo_next_number(&numbers, &value))
            rk_store_u64le((uint8_t *)reader->scratch.items + 8 * count++, widen(field, value));
        if (numbers.bad)
            return rk_hlo_fail(reader, "packed numbers are damaged");
    }
    if (!count)
        return true;
    uint32_t id = rk_hlo_add_ints(reader, count);
    rk_hlo_remember(slot, field, run->whole, 0, id);
    return push_field(reader, field, id);
}

// Takes the next fixed-width number of an occurrence, packed or not.
static bool next_fixed(const rk_proto_field *occurrence, size_t width_bytes, rk_span *packed,
                       bool *is_first, uint64_t *out_value) {
    bool is_single = *is_first && occurrence->wire != RK_PROTO_BYTES;
    *is_first = false;
    *out_value = occurrence->value;
    if (is_single || packed->len < width_bytes)
        return is_single;
    *out_value = width_bytes == 4 ? rk_load_u32le(packed->data) : rk_load_u64le(packed->data);
    packed->data += width_bytes;
    packed->len -= width_bytes;
    return true;
}

static bool push_scalars_of(rk_hlo_reader *reader, const rk_hlo_field *field,
                            const rk_proto_field *occurrence) {
    uint64_t value;
    bool good = true, is_first = true;
    if (field->kind == RK_HLO_FLOAT) {
        rk_span packed = occurrence->bytes;
        while (good && next_fixed(occurrence, field->width / 8, &packed, &is_first, &value))
            good = rk_hlo_push(reader, RK_NO_ID, rk_hlo_add_scalar(reader, field, value));
        return good && (!packed.len || rk_hlo_fail(reader, "packed numbers are damaged"));
    }
    rk_hlo_numbers numbers = rk_hlo_numbers_of(occurrence);
    while (good && rk_hlo_next_number(&numbers, &value))
        good = rk_hlo_push(reader, RK_NO_ID, rk_hlo_add_scalar(reader, field, value));
    return good && (!numbers.bad || rk_hlo_fail(reader, "packed numbers are damaged"));
}

static bool push_list(rk_hlo_reader *reader, const field_run *run, unsigned depth) {
    const rk_hlo_field *field = run->field;
    uint32_t mark = reader->pending_count;
    bool is_scalar = field->kind == RK_HLO_ENUM || field->kind == RK_HLO_FLOAT, good = true, bad;
    rk_span rest = run->whole;
    rk_proto_field occurrence;
    while (good && rk_hlo_next(&rest, &occurrence, &bad))
        good = is_scalar ? push_scalars_of(reader, field, &occurrence)
                         : rk_hlo_push(reader, RK_NO_ID,
                                       read_part(reader, field, occurrence.bytes, depth));
    if (!good || reader->pending_count == mark)
        return good;
    rk_node node = {.kind = RK_NODE_LIST, .name = RK_NO_ID};
    return push_field(reader, field, rk_hlo_add_node(reader, node, mark));
}

// Pushes one entry of a map: its key is the name, its value the node.
static bool push_entry(rk_hlo_reader *reader, const rk_hlo_message *entry, rk_span bytes,
                       unsigned depth) {
    enum { KEY = 1, VALUE = 2 };
    const rk_hlo_field *value_field = &entry->fields[1];
    rk_proto_field field = {0}, value = {0};
    rk_span key = {0}, rest = bytes;
    bool bad;
    while (rk_hlo_next(&rest, &field, &bad)) {
        bool is_value = field.number == VALUE;
        bool wants_bytes =
            !is_value || value_field->kind == RK_HLO_STRING || value_field->kind == RK_HLO_MESSAGE;
        if ((field.number != KEY && !is_value) || (field.wire == RK_PROTO_BYTES) != wants_bytes)
            return rk_hlo_fail(reader, "a map has more than keys and values");
        if (is_value)
            value = field;
        else
            key = field.bytes;
    }
    if (bad)
        return rk_hlo_fail(reader, "an entry of a map is damaged");
    uint32_t node = value_field->kind == RK_HLO_STRING || value_field->kind == RK_HLO_MESSAGE
                        ? read_part(reader, value_field, value.bytes, depth + 1)
                        : rk_hlo_add_scalar(reader, value_field, value.value);
    return rk_hlo_push(reader, rk_model_add_string(reader->model, key), node);
}

static int compare_entries(const void *a, const void *b, void *context) {
    const rk_model *model = context;
    const rk_field *left = a, *right = b;
    int order =
        rk_span_compare(rk_model_string(model, left->name), rk_model_string(model, right->name));
    if (order == 0) // later entries have greater string ids
        order = left->name < right->name ? -1 : left->name > right->name;
    return order;
}

// If entries have equal keys, the last one counts.
static void sort_entries(rk_hlo_reader *reader, uint32_t mark) {
    rk_model *model = reader->model;
    rk_field *entries = (rk_field *)reader->pending.items + mark;
    uint32_t count = reader->pending_count - mark, kept = 0;
    qsort_r(entries, count, sizeof *entries, compare_entries, model);
    for (uint32_t i = 0; i < count; i++) {
        if (i + 1 == count || !rk_span_equal(rk_model_string(model, entries[i].name),
                                             rk_model_string(model, entries[i + 1].name)))
            entries[kept++] = entries[i];
    }
    reader->pending_count = mark + kept;
}

static bool push_map(rk_hlo_reader *reader, const field_run *run, unsigned depth) {
    uint32_t mark = reader->pending_count;
    rk_span rest = run->whole;
    rk_proto_field occurrence;
    bool bad;
    while (rk_hlo_next(&rest, &occurrence, &bad))
        if (!push_entry(reader, run->field->message, occurrence.bytes, depth))
            return false;
    sort_entries(reader, mark);
    rk_node node = {.kind = RK_NODE_DICT, .name = RK_NO_ID};
    return push_field(reader, run->field, rk_hlo_add_node(reader, node, mark));
}

static bool push_unknown(rk_hlo_reader *reader, const field_run *run) {
    rk_model *model = reader->model;
    RK_AUTO(rk_buf) name = {0};
    rk_buf_add_format(&name, "unknown_%u", run->last.number);
    rk_node node = {
        .kind = RK_NODE_OPAQUE, .name = rk_hlo_word(reader, RK_HLO_OPAQUE), .bytes = run->whole};
    rk_model_count_opaque(model, "an HLO message has a field that is not known");
    rk_span kept = rk_hlo_keep_text(reader, &name);
    return rk_hlo_push(reader, rk_model_add_string(model, kept), rk_model_add_node(model, node));
}

static bool push_run(rk_hlo_reader *reader, const field_run *run, unsigned depth) {
    if (!run->occurrences)
        return true;
    if (!run->field)
        return push_unknown(reader, run);
    if (run->field->kind == RK_HLO_MAP)
        return push_map(reader, run, depth);
    if (!run->field->repeated)
        return push_single(reader, run, depth);
    if (run->field->kind <= RK_HLO_BOOL)
        return push_ints(reader, run);
    return push_list(reader, run, depth);
}

static bool has_its_wire(const rk_hlo_field *field, rk_proto_wire wire) {
    rk_proto_wire single = RK_PROTO_BYTES;
    if (field->kind <= RK_HLO_ENUM || (field->kind == RK_HLO_OWN && field->width))
        single = RK_PROTO_VARINT;
    else if (field->kind == RK_HLO_FLOAT)
        single = field->width == 32 ? RK_PROTO_FIXED32 : RK_PROTO_FIXED64;
    return wire == single || (field->repeated && wire == RK_PROTO_BYTES);
}

// Copies the message with its fields in ascending order. Fields of one number keep their order.
// Leaves out fields that the first pass has handled: they may be almost the whole message, such as
// a module's computations.
static bool put_in_order(rk_hlo_reader *reader, const rk_hlo_message *message, rk_span bytes,
                         rk_span *out_ordered) {
    rk_hlo_array pairs = {0};
    rk_proto_field field;
    rk_span rest = bytes;
    size_t count = 0, at = 0;
    bool bad, good = true;
    while (good && rk_hlo_next(&rest, &field, &bad)) {
        const rk_hlo_field *known = rk_hlo_field_of(message, field.number);
        if (known && (known->kind == RK_HLO_DROP || known->kind == RK_HLO_OWN))
            continue;
        good = rk_hlo_grow(reader, &pairs, (uint64_t)(count + 1) * sizeof(rk_hlo_pair));
        if (good)
            ((rk_hlo_pair *)pairs.items)[count++] =
                (rk_hlo_pair){(int64_t)field.number, (uint64_t)(field.whole.data - bytes.data)};
    }
    good = good && rk_hlo_sort_array(reader, &pairs, count);
    const rk_hlo_pair *sorted = pairs.items;
    for (size_t i = 0; good && i < count; i++) {
        rest = rk_span_of(bytes.data + sorted[i].value, bytes.len - (size_t)sorted[i].value);
        good = rk_hlo_next(&rest, &field, &bad) &&
               rk_hlo_grow(reader, &reader->scratch, (uint64_t)at + field.whole.len);
        if (good)
            memcpy((uint8_t *)reader->scratch.items + at, field.whole.data, field.whole.len);
        at += field.whole.len;
    }
    rk_hlo_shrink(reader, &pairs);
    *out_ordered = (rk_span){0};
    if (good && at)
        *out_ordered = rk_model_keep(reader->model, rk_span_of(reader->scratch.items, at));
    return good && out_ordered->len == at;
}

typedef struct field_walk {
    const rk_hlo_message *message;
    unsigned depth;
    rk_hlo_own_fn *own;
    void *context;
    bool in_order;
} field_walk;

// Makes one pass over the message. Once fields are out of order, the pass only serves `own`.
static bool walk_fields(rk_hlo_reader *reader, field_walk *walk, rk_span bytes) {
    const rk_hlo_message *message = walk->message;
    field_run current = {0};
    rk_proto_field field;
    bool bad;
    walk->in_order = true;
    while (rk_hlo_next(&bytes, &field, &bad)) {
        walk->in_order &= field.number >= current.last.number;
        const rk_hlo_field *known = rk_hlo_field_of(message, field.number);
        bool is_new = field.number != current.last.number;
        if (is_new && walk->in_order && !push_run(reader, &current, walk->depth))
            return false;
        if (is_new)
            current = (field_run){.field = known, .whole = {field.whole.data, 0}};
        current.last = field;
        if (known && known->kind == RK_HLO_DROP)
            continue;
        if (known && !has_its_wire(known, field.wire))
            return rk_hlo_fail(reader, "a field is not encoded as its definition says");
        if (known && known->kind == RK_HLO_OWN) {
            if (walk->own && !walk->own(reader, walk->context, &field))
                return false;
            continue;
        }
        current.whole.len += field.whole.len;
        current.occurrences++;
    }
    if (bad)
        return rk_hlo_fail(reader, "not a valid protobuf message");
    return !walk->in_order || push_run(reader, &current, walk->depth);
}

bool rk_hlo_read_fields(rk_hlo_reader *reader, const rk_hlo_message *message, rk_span bytes,
                        unsigned depth, rk_hlo_own_fn *own, void *context) {
    if (depth > RK_HLO_MAX_DEPTH)
        return rk_hlo_fail(reader, "messages are nested too deeply");
    uint32_t mark = reader->pending_count;
    field_walk first = {message, depth, own, context, true};
    if (!walk_fields(reader, &first, bytes))
        return false;
    if (first.in_order)
        return true;
    reader->pending_count = mark;
    field_walk second = {message, depth, NULL, NULL, true};
    rk_span ordered;
    return put_in_order(reader, message, bytes, &ordered) && walk_fields(reader, &second, ordered);
}
