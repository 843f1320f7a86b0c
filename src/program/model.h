// A program in one neutral form, read from MLIR bytecode or HloModuleProto. The readers
// (mlir/read*.c, hlo/*.c; read.h calls them) fill the model; fingerprint, text and diff read it.
//
// All parts are in flat arrays and refer to each other by index. A program of a hundred thousand
// operations needs only a few allocations and is freed quickly. Strings and constants are borrowed
// from the program's bytes, which must outlive the model, or from the model's scratch memory.
#pragma once

#include "base/buf.h"

#define RK_NO_ID UINT32_MAX

// Types, attributes and locations are nodes of one tree. Nodes may be shared. There are no cycles:
// children have lower numbers than their parents.
typedef enum rk_node_kind {
    RK_NODE_UNIT,     // present, without a value
    RK_NODE_BOOL,     // value: 0 or 1
    RK_NODE_INT,      // value: `width` bits, zero-extended; bytes if wider than 64; field 0: type
    RK_NODE_FLOAT,    // value: the bits of the float; bytes if wider than 64; field 0: type
    RK_NODE_STRING,   // bytes
    RK_NODE_SYMBOL,   // bytes: the name of a function, a mesh, a computation; fields: nested names
    RK_NODE_ENUM,     // name: the enumeration ("precision"); bytes: the value ("HIGHEST")
    RK_NODE_LIST,     // fields without names
    RK_NODE_DICT,     // fields, sorted by name
    RK_NODE_INTS,     // bytes: signed 64-bit little-endian integers (dimensions, permutations)
    RK_NODE_ELEMENTS, // a constant. field 0: its type; bytes: row-major, little-endian
    RK_NODE_STRUCT,   // name: its kind ("conv"); fields: with names, in the order of the definition
    RK_NODE_TYPE, // name: "tensor", "f32", "tuple", …; fields: element types, encoding; bytes of
                  // shaped types: dimensions as in RK_NODE_INTS (INT64_MIN: dynamic)
    RK_NODE_OPAQUE, // name: dialect; bytes: as in the program, because no reader understands them
    // A program inside the program. bytes: its canonical fingerprint; value: its index in
    // `payloads`, or RK_NO_ID if it is not in the model
    RK_NODE_PROGRAM,
    // Locations. Some locations contain other locations as fields.
    RK_NODE_LOC_UNKNOWN,
    RK_NODE_LOC_FILE,  // bytes: path; value: line << 32 | column
    RK_NODE_LOC_NAME,  // bytes: name; field 0: the location with that name
    RK_NODE_LOC_CALL,  // field 0: callee (inner); field 1: caller
    RK_NODE_LOC_FUSED, // fields: locations, then optionally an attribute named "metadata"
} rk_node_kind;

typedef struct rk_field {
    uint32_t name; // string id; RK_NO_ID in lists
    uint32_t node;
} rk_field;

typedef struct rk_node {
    uint8_t kind;   // rk_node_kind
    uint16_t width; // bits, of RK_NODE_INT and RK_NODE_FLOAT
    uint32_t name;  // string id or RK_NO_ID
    uint32_t first_field, field_count;
    uint64_t value;
    rk_span bytes;
} rk_node;

typedef struct rk_value {
    uint32_t type;     // node
    uint32_t location; // node of a block argument, or RK_NO_ID
} rk_value;

// Operations are in pre-order: an operation comes before the operations in its regions. Operations
// ops[i+1] to ops[ops[i].end - 1] are inside ops[i]. ops[ops[i].end] is its next sibling.
typedef struct rk_op {
    uint32_t name; // string id: "stablehlo.add", "func.func", "hlo.dot"; without dialect version
    uint32_t location;
    uint32_t first_attr, attr_count;       // fields, sorted by name
    uint32_t first_operand, operand_count; // indices of values, in `operands`
    // Values. If there are no results: the index of the region's next value.
    uint32_t first_result, result_count;
    uint32_t first_region, region_count;
    uint32_t first_successor, successor_count; // block indices within the region, in `successors`
    uint32_t end;
} rk_op;

typedef struct rk_region {
    uint32_t first_block, block_count;
} rk_region;

typedef struct rk_block {
    uint32_t first_arg, arg_count; // values
    uint32_t first_op, end_op;     // next operation of the block: i = ops[i].end
} rk_block;

// A growable array of the model, which owns `items`.
#define RK_MODEL_ARRAY(type)                                                                       \
    struct {                                                                                       \
        type *items;                                                                               \
        uint32_t count, capacity;                                                                  \
    }

typedef struct rk_model {
    RK_MODEL_ARRAY(rk_span) strings;
    RK_MODEL_ARRAY(rk_node) nodes;
    RK_MODEL_ARRAY(rk_field) fields;
    RK_MODEL_ARRAY(rk_op) ops; // ops[0] is the module
    RK_MODEL_ARRAY(rk_value) values;
    RK_MODEL_ARRAY(uint32_t) operands;
    RK_MODEL_ARRAY(uint32_t) successors;
    RK_MODEL_ARRAY(rk_region) regions;
    RK_MODEL_ARRAY(rk_block) blocks;
    RK_MODEL_ARRAY(struct rk_model *) payloads; // owned; payloads have no payloads of their own
    RK_MODEL_ARRAY(uint32_t) payload_nodes;     // see rk_model_payload_node
    size_t payload_bytes_left;                  // payload bytes that may still be read
    struct rk_model_scratch *scratch;           // owned: bytes that the program does not contain
    const char *producer;  // for people; borrowed from the scratch memory, or static
    uint32_t opaque_count; // parts kept as bytes; if not 0, the fingerprint covers the raw bytes
    const char *opaque_reason; // why the first of them was not understood; borrowed; NULL if none
    size_t budget_bytes;       // memory that the model may still allocate
    bool out_of_memory;        // the budget is used up, or an allocation failed
} rk_model;

// Flags of rk_model_read (program/read.h) and of the readers.
typedef enum rk_read_flags {
    RK_READ_LOCATIONS = 1 << 0, // otherwise all locations are RK_NO_ID
} rk_read_flags;

void rk_model_free(rk_model *model); // accepts NULL

// Looking up.
static inline rk_span rk_model_string(const rk_model *model, uint32_t id) {
    return id == RK_NO_ID ? (rk_span){0} : model->strings.items[id];
}
// Returns the attribute `name` of the operation, or RK_NO_ID. Binary search.
uint32_t rk_model_attr(const rk_model *model, const rk_op *op, const char *name);

// Building, for the readers. Each function returns RK_NO_ID (or false) if memory is short or the
// budget is used up; rk_model_status then returns an error.
uint32_t rk_model_add_string(rk_model *model, rk_span text); // borrows the text
uint32_t rk_model_add_node(rk_model *model, rk_node node);
uint32_t rk_model_add_field(rk_model *model, uint32_t name, uint32_t node);
uint32_t rk_model_add_value(rk_model *model, rk_value value);
uint32_t rk_model_add_values(rk_model *model, uint32_t count); // without types
uint32_t rk_model_add_op(rk_model *model, rk_op op);
uint32_t rk_model_add_operand(rk_model *model, uint32_t value);
uint32_t rk_model_add_successor(rk_model *model, uint32_t block);
uint32_t rk_model_add_regions(rk_model *model, uint32_t count); // returns the first region, zeroed
uint32_t rk_model_add_blocks(rk_model *model, uint32_t count);
uint32_t rk_model_add_payload(rk_model *model,
                              rk_model *payload); // consumed if added
// For payload.c: the slot for a node's substitute, initially RK_NO_ID. NULL if memory is short.
// Borrowed until the next call.
uint32_t *rk_model_payload_node(rk_model *model, uint32_t node);
// Reserves space for the given numbers of items. Only a hint.
void rk_model_reserve(rk_model *model, size_t ops, size_t values, size_t operands);
void rk_model_reserve_nodes(rk_model *model, size_t nodes, size_t fields);
// Returns `len` bytes to be filled, which live as long as the model; NULL if memory is short.
uint8_t *rk_model_space(rk_model *model, size_t len);
// Returns a copy that lives as long as the model; empty if memory is short.
rk_span rk_model_keep(rk_model *model, rk_span bytes);
// Charges memory outside the model to the model's budget. False if the budget is used up.
RK_NODISCARD bool rk_model_take_budget(rk_model *model, size_t bytes);
void rk_model_sort_fields(rk_model *model, uint32_t first, uint32_t count); // by name
void rk_model_count_opaque(rk_model *model, const char *static_reason);
RK_NODISCARD rk_err *rk_model_status(const rk_model *model);
