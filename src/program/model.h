// One neutral program, whatever the format it came in: MLIR bytecode or HloModuleProto. The readers
// (program/read_*.c) fill it; fingerprint, text and diff read it.
//
// Everything lies in flat arrays and is named by index, so that a program of a hundred thousand
// operations is a handful of allocations and freeing is cheap. Strings and constants are borrowed
// from the program's own bytes, which must outlive the model, or from the model's scratch.
#pragma once

#include "base/buf.h"

#define RK_NO_ID UINT32_MAX

typedef struct rk_canon rk_canon; // program/canon/canon.h

// Types, attributes and locations are one kind of thing: nodes of a tree (shared, without cycles:
// children always have lower numbers than their parents).
typedef enum rk_node_kind {
    RK_NODE_UNIT,   // present, and that is all
    RK_NODE_BOOL,   // value: 0 or 1
    RK_NODE_INT,    // value: in `width` bits, zero-extended (wider than 64: bytes); field 0: type
    RK_NODE_FLOAT,  // value: the bit pattern in `width` bits (wider than 64: bytes); field 0: type
    RK_NODE_STRING, // bytes
    RK_NODE_SYMBOL, // bytes: the name of a function, a mesh, a computation; fields: nested names
    RK_NODE_ENUM,   // name: which enumeration ("precision"); bytes: the value ("HIGHEST")
    RK_NODE_LIST,   // fields without names
    RK_NODE_DICT,   // fields, sorted by name
    RK_NODE_INTS,   // bytes: signed 64-bit little-endian integers (dimensions, permutations)
    RK_NODE_ELEMENTS, // a constant. field 0: its type; bytes: row-major, little-endian, as they
                      // stood
    RK_NODE_STRUCT, // name: what it is ("conv"); fields with names, in the order of its definition
    RK_NODE_TYPE,   // name: "tensor", "f32", "tuple", …; fields: element types, encoding; for
                    // shaped types bytes: dimensions as in RK_NODE_INTS (INT64_MIN: dynamic)
    RK_NODE_OPAQUE, // name: dialect; bytes: what no reader understands, as it stood
    // A program inside the program. bytes: its canonical fingerprint; value: its number among
    // `payloads`, or RK_NO_ID where it was not kept
    RK_NODE_PROGRAM,
    // Locations, outermost first.
    RK_NODE_LOC_UNKNOWN,
    RK_NODE_LOC_FILE,  // bytes: path; value: line << 32 | column
    RK_NODE_LOC_NAME,  // bytes: name; field 0: the location it names
    RK_NODE_LOC_CALL,  // field 0: callee (inner); field 1: caller
    RK_NODE_LOC_FUSED, // fields: locations; then, named "metadata", an attribute
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
    uint32_t location; // node or RK_NO_ID; of block arguments
} rk_value;

// Operations stand in the order in which they are met (an operation before those in its regions),
// so that ops[i+1 .. ops[i].end) are inside ops[i], and ops[i].end is the next one beside it.
typedef struct rk_op {
    uint32_t name; // string id: "stablehlo.add", "func.func", "hlo.dot"; no dialect version
    uint32_t location;
    uint32_t first_attr, attr_count;       // fields, sorted by name
    uint32_t first_operand, operand_count; // indices of values, in `operands`
    // Values; where there are none, the next one to be defined in the region.
    uint32_t first_result, result_count;
    uint32_t first_region, region_count;
    uint32_t first_successor, successor_count; // block numbers within the region, in `successors`
    uint32_t end;
} rk_op;

typedef struct rk_region {
    uint32_t first_block, block_count;
} rk_region;

typedef struct rk_block {
    uint32_t first_arg, arg_count; // values
    uint32_t first_op, end_op;     // walk with i = ops[i].end
} rk_block;

// A growable array of the model; `items` is owned by it.
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
    RK_MODEL_ARRAY(struct rk_model *) payloads; // owned; they have none themselves
    RK_MODEL_ARRAY(uint32_t) payload_nodes;     // for payload.c
    size_t payload_bytes_left;                  // how many bytes of payloads may still be read
    struct rk_model_scratch *scratch;           // owned: bytes that are not in the program as such
    const char *producer;                       // borrowed from the scratch or static; for people
    uint32_t opaque_count;     // things that were kept as bytes: the fingerprint falls back
    const char *opaque_reason; // the first of them, in words; borrowed; NULL if none
    size_t budget_bytes;       // what the arrays may still take
    bool out_of_room;          // the budget is spent, or memory was short
} rk_model;

typedef enum rk_read_flags {
    RK_READ_LOCATIONS = 1 << 0, // else all locations are RK_NO_ID
} rk_read_flags;

// Reads a program. `code` and `format` as in rk_program_inspect. A program that is not of its
// format is a value: `*out_model` is NULL and `out_reason` (owned, rk_free) says why;
// RK_RESOURCE_EXHAUSTED is the only error. Never allocates more than 64 times `code`, never
// recurses without a bound, takes linear time. `out_model` is owned: rk_model_free.
RK_NODISCARD rk_err *rk_model_read(rk_span code, rk_span format, unsigned flags,
                                   rk_model **out_model, char **out_reason);
void rk_model_free(rk_model *model); // NULL is fine
// Reading.
static inline rk_span rk_model_string(const rk_model *model, uint32_t id) {
    return id == RK_NO_ID ? (rk_span){0} : model->strings.items[id];
}
// The attribute of that name, or RK_NO_ID. Binary search.
uint32_t rk_model_attr(const rk_model *model, const rk_op *op, const char *name);

// Building, for the readers. All return RK_NO_ID (or false) when memory is short or the budget is
// spent; rk_model_status then says so.
uint32_t rk_model_add_string(rk_model *model, rk_span text); // borrowed text
uint32_t rk_model_add_node(rk_model *model, rk_node node);
uint32_t rk_model_add_field(rk_model *model, uint32_t name, uint32_t node);
uint32_t rk_model_add_value(rk_model *model, rk_value value);
uint32_t rk_model_add_values(rk_model *model, uint32_t count); // without types
uint32_t rk_model_add_op(rk_model *model, rk_op op);
uint32_t rk_model_add_operand(rk_model *model, uint32_t value);
uint32_t rk_model_add_successor(rk_model *model, uint32_t block);
uint32_t rk_model_add_regions(rk_model *model, uint32_t count); // the first of them, zeroed
uint32_t rk_model_add_blocks(rk_model *model, uint32_t count);
uint32_t rk_model_add_payload(rk_model *model, rk_model *payload); // consumed, unless RK_NO_ID
// For payload.c: what it remembers of a node, RK_NO_ID at first; NULL as above.
uint32_t *rk_model_payload_node(rk_model *model, uint32_t node);
// Room for about so many, so that arrays need not grow; only a hint.
void rk_model_reserve(rk_model *model, size_t ops, size_t values, size_t operands);
void rk_model_reserve_nodes(rk_model *model, size_t nodes, size_t fields);
// A copy that lives as long as the model; empty when memory is short.
rk_span rk_model_keep(rk_model *model, rk_span bytes);
// Memory that somebody else takes on the model's account; false when the budget is spent.
RK_NODISCARD bool rk_model_take_budget(rk_model *model, size_t bytes);
void rk_model_sort_fields(rk_model *model, uint32_t first, uint32_t count); // by name
void rk_model_count_opaque(rk_model *model, const char *static_reason);
RK_NODISCARD rk_err *rk_model_status(const rk_model *model);

// The readers. `false` in `*out_good` and a reason in `out_reason` (appended text) where the bytes
// are not of the format. With a `canon` (else NULL) operations go there, and not into the model.
RK_NODISCARD rk_err *rk_read_bytecode(rk_span code, unsigned flags, rk_model *model,
                                      rk_canon *canon, bool *out_good, rk_buf *out_reason);
RK_NODISCARD rk_err *rk_read_hlo(rk_span code, bool with_config, unsigned flags, rk_model *model,
                                 rk_canon *canon, bool *out_good, rk_buf *out_reason);
