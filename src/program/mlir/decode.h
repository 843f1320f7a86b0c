// What the decoders of the dialects (dialect_*.c) are written with. A decoder reads one entry from
// `file->in` and makes one node. Where it meets a reference to an entry that is not decoded yet, it
// gets RK_NO_ID and `file->missing` is set: it may go on to name the others that it needs, must
// return before it asks anything of those nodes, and is called again when they are there. Anything
// wrong: rk_decode_bad, and the entry becomes an opaque node.
#pragma once

#include "program/mlir/bytecode.h"

// How a field of a structure is encoded.
typedef enum rk_read {
    RK_READ_NOTHING, // ends a recipe
    RK_READ_INT,     // svarint
    RK_READ_VARINT,
    RK_READ_INTS,   // count, svarints
    RK_READ_BOOL,   // a byte
    RK_READ_BOOLS,  // count, bytes
    RK_READ_DOUBLE, // the bits of an f64
    RK_READ_DOUBLES,
    RK_READ_STRING,        // of the string table
    RK_READ_ATTR,          // a reference
    RK_READ_FLAGGED_ATTR,  // with a flag; absent without
    RK_READ_VARINT_ATTR,   // a varint 0: absent; 1: a reference follows
    RK_READ_BYTE_ATTR,     // the same with a byte
    RK_READ_FLAGGED_VALUE, // a varint with a flag; absent without
    RK_READ_TYPE,
    RK_READ_ATTRS, // a list of references
    RK_READ_TYPES,
} rk_read;

enum { RK_RECIPE_FIELDS = 12 };

// A structure: its code in the encoding, its name, its fields in the order of the encoding.
typedef struct rk_recipe {
    uint8_t code;
    uint16_t word;
    struct {
        uint16_t word; // RK_WORD_COUNT: the field has no name
        rk_read how;
    } fields[RK_RECIPE_FIELDS];
} rk_recipe;

// An enumeration: its code, its name, its values from zero on. NULL: no such value.
typedef struct rk_enumeration {
    uint8_t code;
    uint16_t word;
    const char *values[6];
} rk_enumeration;

static inline uint32_t rk_decode_bad(rk_bytecode *file) {
    file->in.bad = true;
    return RK_NO_ID;
}

// References. The node of entry `index`, or RK_NO_ID and `missing`.
uint32_t rk_decode_child(rk_bytecode *file, uint32_t index);
uint32_t rk_decode_attr(rk_bytecode *file);
uint32_t rk_decode_type(rk_bytecode *file);
rk_span rk_decode_string(rk_bytecode *file); // of the string table
// A reference to an attribute that is a string, of builtin or VHLO: its string id or RK_NO_ID.
uint32_t rk_decode_string_attr(rk_bytecode *file);

// Count, svarints: as bytes of RK_NODE_INTS, borrowed until the next list.
rk_span rk_decode_int_bytes(rk_bytecode *file);

// Whole nodes.
uint32_t rk_decode_list(rk_bytecode *file, bool of_types);       // count, references
uint32_t rk_decode_dict(rk_bytecode *file);                      // count, pairs of references
uint32_t rk_decode_ints(rk_bytecode *file);                      // count, svarints
uint32_t rk_decode_number(rk_bytecode *file, rk_node_kind kind); // type, bits
uint32_t rk_decode_elements(rk_bytecode *file);                  // type, blob
// By the recipe or enumeration of that code among `count`; RK_NO_ID and bad if there is none.
// `kind`: RK_NODE_STRUCT or RK_NODE_TYPE.
uint32_t rk_decode_struct(rk_bytecode *file, rk_node_kind kind, uint64_t code,
                          const rk_recipe *recipes, size_t count);
uint32_t rk_decode_enum(rk_bytecode *file, uint64_t code, const rk_enumeration *enumerations,
                        size_t count);
// Dimensions, element type. `encoding`: a node, or RK_NO_ID.
uint32_t rk_decode_shaped(rk_bytecode *file, uint32_t word, uint32_t encoding);

// Nodes out of what was read.
uint32_t rk_decode_bytes_node(rk_bytecode *file, rk_node_kind kind, rk_span bytes);
uint32_t rk_decode_scalar_type(rk_bytecode *file, uint32_t word);
uint32_t rk_decode_int64(rk_bytecode *file, int64_t value);
// A node with these fields; RK_NO_ID if one of them has no node.
uint32_t rk_decode_with_fields(rk_bytecode *file, rk_node node, const rk_field *fields,
                               size_t count);

// The dialects.
uint32_t rk_dialect_builtin_attr(rk_bytecode *file);
uint32_t rk_dialect_builtin_type(rk_bytecode *file);
uint32_t rk_dialect_affine_map(rk_bytecode *file);
uint32_t rk_dialect_vhlo_attr(rk_bytecode *file);
uint32_t rk_dialect_vhlo_type(rk_bytecode *file);
uint32_t rk_dialect_stablehlo_attr(rk_bytecode *file);
uint32_t rk_dialect_stablehlo_type(rk_bytecode *file);
uint32_t rk_dialect_chlo_attr(rk_bytecode *file);
uint32_t rk_dialect_sdy_attr(rk_bytecode *file);
// The word of a scalar type that older producers wrote as text; RK_WORD_COUNT if it is none.
uint32_t rk_dialect_builtin_scalar(rk_span text);
