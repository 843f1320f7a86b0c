// Internals of rk_read_hlo. HloModuleProto and its parts are read with the tables of hlo/schema.h,
// without generated code. Only types, literals, references by id and locations have code of their
// own. Internal to hlo/*.c.
//
// Functions that return a node or bool return RK_NO_ID or false if the program is bad
// (`reader->reason` has the reason) or if memory is short (the model records it).
#pragma once

#include "base/proto.h"
#include "program/canon/canon.h"
#include "program/hlo/schema.h"

// Limit for messages in messages and tuples in tuples.
enum { RK_HLO_MAX_DEPTH = 64 };

// A sort key and its value.
typedef struct rk_hlo_pair {
    int64_t key;
    uint64_t value;
} rk_hlo_pair;

typedef struct rk_hlo_computation {
    rk_span message;
    rk_span name;
    rk_span schedule; // InstructionSequence
    int64_t id, root_id;
    uint32_t first_instruction, instruction_count; // in `instruction_ids`
    uint32_t first_call, end_call;                 // in `calls`
    uint32_t next_call;                            // state of rk_hlo_find_order
    bool is_seen, is_scheduled;
} rk_hlo_computation;

// Names in the model that occur in no message definition.
typedef enum rk_hlo_words {
    RK_HLO_MODULE,
    RK_HLO_COMPUTATION,
    RK_HLO_SYM_NAME,
    RK_HLO_ROOT,
    RK_HLO_ENTRY,
    RK_HLO_SCHEDULE,
    RK_HLO_CONFIG,
    RK_HLO_LITERAL,
    RK_HLO_CONTROL_PREDECESSORS,
    RK_HLO_CALLED_COMPUTATIONS,
    RK_HLO_TENSOR,
    RK_HLO_DYNAMIC_DIMENSIONS,
    RK_HLO_DYNAMIC_SIZES,
    RK_HLO_SPARSE_INDICES,
    RK_HLO_OPAQUE,
    RK_HLO_WORD_COUNT,
} rk_hlo_words;

// A cache slot for a part already read: programs repeat themselves. The key is the part's bytes, or
// a number. A new part replaces the old one.
typedef struct rk_hlo_memo {
    const void
        *owner; // identifies the kind of part: a message definition, a field, a kind of location, …
    const uint8_t *data;
    uint64_t value; // the length of `data`; if `data` is NULL, the number that is the key
    uint32_t id;
} rk_hlo_memo;

// Memory of the reader, charged to the model's budget.
typedef struct rk_hlo_array {
    void *items;
    size_t capacity_bytes;
} rk_hlo_array;

typedef struct rk_hlo_reader {
    rk_model *model;
    rk_canon *canon; // receives the computations as they are read; or NULL
    unsigned flags;
    rk_traits traits; // of the instructions
    bool has_custom_call;
    const char *reason; // why the program is bad; static; NULL if it is good so far
    uint32_t names[RK_HLO_MAX_NAMES + RK_HLO_WORD_COUNT]; // string ids: by name_id, then by word
    uint32_t types[64];                                   // nodes, by PrimitiveType
    rk_hlo_array memo;
    uint64_t memo_mask;
    rk_hlo_memo no_memo;  // slot for parts that are not cached
    rk_hlo_array pending; // fields of unfinished nodes
    uint32_t pending_count;
    // For the canonical form: attribute lists of instructions with known content, and copies of
    // their fields as they were read.
    rk_hlo_array attrs_memo, attrs_fields;
    uint32_t attrs_field_count;
    rk_hlo_array same; // hlo/quick.h
    rk_hlo_array
        scratch; // decoded values, before they are copied into the model; valid until the next read

    rk_hlo_array computations, instruction_ids, calls, order;
    uint32_t computation_count, instruction_count, call_count, order_count;
    rk_hlo_array computation_ids; // rk_hlo_pair items
    // Instruction ids of the current computation: a table of ordinals, indexed from `least_id`. If
    // the ids are too sparse (`table_size` is 0): sorted pairs.
    rk_hlo_array ordinals;
    uint64_t least_id, table_size;
    uint32_t first_value, next_value; // of the current computation
    int64_t entry_computation_id;
    rk_span stack_frame_index;
    struct rk_hlo_frames *frames; // owned; NULL before the first location
} rk_hlo_reader;

// Memory (hlo/memory.c).

// Records why the program is bad. Keeps the first reason. Returns false.
bool rk_hlo_fail(rk_hlo_reader *reader, const char *static_reason);
// Makes space for `bytes` in the array. Keeps the content.
bool rk_hlo_grow(rk_hlo_reader *reader, rk_hlo_array *array, uint64_t bytes);
void rk_hlo_shrink(rk_hlo_reader *reader, rk_hlo_array *array); // frees the array
bool rk_hlo_prepare(rk_hlo_reader *reader, size_t code_bytes);
// Finds the slot for `data`, or for `number` if `data.data` is NULL. True if the slot holds it.
bool rk_hlo_find(rk_hlo_reader *reader, const void *owner, rk_span data, uint64_t number,
                 rk_hlo_memo **out_slot);
// Stores the id of the part that was read in the slot, unless reading failed (`id` is RK_NO_ID).
// Borrows `data`.
void rk_hlo_remember(rk_hlo_memo *slot, const void *owner, rk_span data, uint64_t number,
                     uint32_t id);
// Return string ids: for a static name of the tables; for a word.
uint32_t rk_hlo_name(rk_hlo_reader *reader, uint16_t name_id, const char *name);
uint32_t rk_hlo_word(rk_hlo_reader *reader, rk_hlo_words word);
bool rk_hlo_push(rk_hlo_reader *reader, uint32_t name, uint32_t node);
// Moves the fields pushed since `mark` into the model. Returns the index of the first.
uint32_t rk_hlo_take_fields(rk_hlo_reader *reader, uint32_t mark, uint32_t *out_count);
// The same, sorted by name.
uint32_t rk_hlo_take_attrs(rk_hlo_reader *reader, uint32_t mark, uint32_t *out_count);
// Turns the fields pushed since `mark` into attributes of the canonical form and removes them.
// `*out_content` is their content number. False if memory is short.
bool rk_hlo_take_content(rk_hlo_reader *reader, uint32_t mark, uint32_t *out_content);
// Makes a node with the fields pushed since `mark`.
uint32_t rk_hlo_add_node(rk_hlo_reader *reader, rk_node node, uint32_t mark);
// Makes an RK_NODE_INTS of the first `count` 64-bit integers in `reader->scratch`.
uint32_t rk_hlo_add_ints(rk_hlo_reader *reader, size_t count);
rk_span rk_hlo_keep_ints(rk_hlo_reader *reader, size_t count);
// Returns a copy of the text that lives as long as the model; empty if memory is short.
rk_span rk_hlo_keep_text(rk_hlo_reader *reader, const rk_buf *text);

// Ids (hlo/ids.c).

// Sorts by key. Stable. `scratch` must have space for `count` pairs.
void rk_hlo_sort(rk_hlo_pair *pairs, rk_hlo_pair *scratch, size_t count);
// Sorts an array of `count` pairs.
bool rk_hlo_sort_array(rk_hlo_reader *reader, rk_hlo_array *pairs, size_t count);
// Prepares rk_hlo_ordinal for the instructions of this computation.
bool rk_hlo_enter_computation(rk_hlo_reader *reader, const rk_hlo_computation *computation);
bool rk_hlo_ordinal(rk_hlo_reader *reader, const rk_hlo_computation *computation, int64_t id,
                    uint32_t *out_ordinal);
bool rk_hlo_index_computations(rk_hlo_reader *reader);
bool rk_hlo_computation_of(rk_hlo_reader *reader, int64_t id, uint32_t *out_index);
// Fills `order`: first the computations that the entry computation needs, callees before callers,
// and the entry computation itself; then the remaining computations in file order.
bool rk_hlo_find_order(rk_hlo_reader *reader);

// Fields (hlo/fields.c).

// Reads one field of kind RK_HLO_OWN. False if the program is bad or memory is short.
typedef bool rk_hlo_own_fn(rk_hlo_reader *reader, void *context, const rk_proto_field *field);
// Reads a message by its definition. Pushes one pending field per field number with a value to
// keep, in ascending order. Passes fields of kind RK_HLO_OWN to `own` as they occur (NULL: ignores
// them).
bool rk_hlo_read_fields(rk_hlo_reader *reader, const rk_hlo_message *message, rk_span bytes,
                        unsigned depth, rk_hlo_own_fn *own, void *context);
// Reads a message as an RK_NODE_STRUCT.
uint32_t rk_hlo_read_message(rk_hlo_reader *reader, const rk_hlo_message *message, rk_span bytes,
                             unsigned depth);

// Scalars and their types (hlo/scalars.c).

uint32_t rk_hlo_element_type(rk_hlo_reader *reader, uint64_t primitive_type);
uint32_t rk_hlo_add_int(rk_hlo_reader *reader, bool is_signed, uint16_t width, uint64_t value);
uint32_t rk_hlo_add_string(rk_hlo_reader *reader, rk_span text);
// Makes a number, boolean or enumeration value by the field's definition.
uint32_t rk_hlo_add_scalar(rk_hlo_reader *reader, const rk_hlo_field *field, uint64_t value);

// The same as rk_proto_next, with a fast path for the common fields: a varint, or bytes, with a
// short tag and a value or length of up to five bytes.
static inline bool rk_hlo_next(rk_span *message, rk_proto_field *out_field, bool *out_bad) {
    enum { MOST_BITS = 35 };
    const uint8_t *data = message->data;
    size_t at = 1, len = message->len;
    *out_bad = false;
    if (len == 0)
        return false;
    if (RK_UNLIKELY(len < 3))
        return rk_proto_next(message, out_field, out_bad);
    uint32_t tag = data[0];
    if (tag >= 0x80)
        tag = (tag & 0x7F) | (uint32_t)data[at++] << 7;
    uint64_t value = 0;
    uint8_t byte = 0x80;
    for (unsigned shift = 0; byte >= 0x80 && at < len && shift < MOST_BITS; shift += 7) {
        byte = data[at++];
        value |= (uint64_t)(byte & 0x7F) << shift;
    }
    uint32_t wire = tag & 7;
    size_t size = wire == RK_PROTO_BYTES ? (size_t)value : 0;
    if (RK_UNLIKELY(byte >= 0x80 || tag < 8 || tag >= 0x4000 || size > len - at ||
                    (wire != RK_PROTO_BYTES && wire != RK_PROTO_VARINT)))
        return rk_proto_next(message, out_field, out_bad);
    bool is_bytes = wire == RK_PROTO_BYTES;
    out_field->number = tag >> 3;
    out_field->wire = (rk_proto_wire)wire;
    out_field->value = is_bytes ? 0 : value;
    out_field->bytes = rk_span_of(is_bytes ? data + at : NULL, size);
    out_field->whole = rk_span_of(data, at + size);
    message->data += at + size;
    message->len -= at + size;
    return true;
}

// Iterates over the numbers in one occurrence of a repeated field, packed or not.
typedef struct rk_hlo_numbers {
    rk_span packed;
    uint64_t single;
    bool has_single;
    bool bad; // the packed bytes are damaged
} rk_hlo_numbers;

static inline rk_hlo_numbers rk_hlo_numbers_of(const rk_proto_field *field) {
    return (rk_hlo_numbers){field->bytes, field->value, field->wire == RK_PROTO_VARINT, false};
}

static inline bool rk_hlo_next_number(rk_hlo_numbers *numbers, uint64_t *out_value) {
    if (numbers->packed.len && numbers->packed.data[0] < 0x80) {
        *out_value = *numbers->packed.data++;
        numbers->packed.len--;
        return true;
    }
    if (numbers->packed.len) {
        numbers->bad = !rk_proto_take_varint(&numbers->packed, out_value);
        return !numbers->bad;
    }
    *out_value = numbers->single;
    bool has_one = numbers->has_single;
    numbers->has_single = false;
    return has_one;
}

// Types and literals (hlo/types.c, hlo/literal.c).

// Decodes all occurrences of a repeated number field into `reader->scratch`.
bool rk_hlo_collect_ints(rk_hlo_reader *reader, rk_span message, uint32_t number,
                         size_t *out_count);
uint32_t rk_hlo_read_shape(rk_hlo_reader *reader, rk_span shape, unsigned depth);
uint32_t rk_hlo_read_literal(rk_hlo_reader *reader, rk_span literal, unsigned depth);

// Instructions (hlo/instruction.c).

bool rk_hlo_read_computation(rk_hlo_reader *reader, uint32_t index, bool is_entry);

// Locations (hlo/locations.c). Returns the location of an instruction, or RK_NO_ID if there is
// none.
uint32_t rk_hlo_read_location(rk_hlo_reader *reader, rk_span metadata);
void rk_hlo_frames_free(struct rk_hlo_frames *frames); // accepts NULL
