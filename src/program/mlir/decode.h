// Tools for the dialects' decoders (dialect_*.c). A decoder reads one entry from `file->in` and
// makes one node.
//
// If a decoder meets a reference to an entry that is not decoded yet, it gets RK_NO_ID, and
// `file->missing` is set. The decoder may then continue, to collect further references, but it must
// return before it uses their nodes. It is called again when these nodes exist.
//
// On any other error, the decoder calls rk_decode_bad; the entry then becomes an opaque node.
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
    RK_READ_STRING,        // from the string table
    RK_READ_ATTR,          // a reference
    RK_READ_FLAGGED_ATTR,  // a reference with a flag; absent if the flag is 0
    RK_READ_VARINT_ATTR,   // a varint; 0: absent; 1: a reference follows
    RK_READ_BYTE_ATTR,     // a byte; 0: absent; 1: a reference follows
    RK_READ_FLAGGED_VALUE, // a varint with a flag; absent if the flag is 0
    RK_READ_TYPE,
    RK_READ_ATTRS, // a list of references
    RK_READ_TYPES,
} rk_read;

enum { RK_RECIPE_FIELDS = 12 };

// A structure: its code in the encoding, its name, and its fields in encoding order.
typedef struct rk_recipe {
    uint8_t code;
    uint16_t word;
    struct {
        uint16_t word; // RK_WORD_COUNT: the field has no name
        rk_read how;
    } fields[RK_RECIPE_FIELDS];
} rk_recipe;

// An enumeration: its code in the encoding, its name, and its values from zero on. NULL: no such
// value.
typedef struct rk_enumeration {
    uint8_t code;
    uint16_t word;
    const char *values[6];
} rk_enumeration;

static inline uint32_t rk_decode_bad(rk_bytecode *file) {
    file->in.bad = true;
    return RK_NO_ID;
}

// References. Return the node of an entry, or RK_NO_ID and `missing`.
uint32_t rk_decode_child(rk_bytecode *file, uint32_t index);
uint32_t rk_decode_attr(rk_bytecode *file);
uint32_t rk_decode_type(rk_bytecode *file);
rk_span rk_decode_string(rk_bytecode *file); // from the string table
// Returns the string id of a referenced string attribute (builtin or VHLO); RK_NO_ID and bad if it
// is no string.
uint32_t rk_decode_string_attr(rk_bytecode *file);

// Reads a count and svarints. Returns them as the bytes of an RK_NODE_INTS, borrowed until the next
// list.
rk_span rk_decode_int_bytes(rk_bytecode *file);

// Whole nodes.
uint32_t rk_decode_list(rk_bytecode *file, bool of_types);       // count, references
uint32_t rk_decode_dict(rk_bytecode *file);                      // count, pairs of references
uint32_t rk_decode_ints(rk_bytecode *file);                      // count, svarints
uint32_t rk_decode_number(rk_bytecode *file, rk_node_kind kind); // type, bits
uint32_t rk_decode_elements(rk_bytecode *file);                  // type, blob
// Decodes with the recipe or enumeration of that code, one of `count`. RK_NO_ID and bad if there is
// none. `kind`: RK_NODE_STRUCT or RK_NODE_TYPE.
uint32_t rk_decode_struct(rk_bytecode *file, rk_node_kind kind, uint64_t code,
                          const rk_recipe *recipes, size_t count);
uint32_t rk_decode_enum(rk_bytecode *file, uint64_t code, const rk_enumeration *enumerations,
                        size_t count);
// Reads dimensions and element type. `encoding`: a node, or RK_NO_ID.
uint32_t rk_decode_shaped(rk_bytecode *file, uint32_t word, uint32_t encoding);

// Make nodes from decoded values.
uint32_t rk_decode_bytes_node(rk_bytecode *file, rk_node_kind kind, rk_span bytes);
uint32_t rk_decode_scalar_type(rk_bytecode *file, uint32_t word);
uint32_t rk_decode_int64(rk_bytecode *file, int64_t value);
// Makes a node with these fields. RK_NO_ID if a field has no node.
uint32_t rk_decode_with_fields(rk_bytecode *file, rk_node node, const rk_field *fields,
                               size_t count);

// Decoders of the dialects.
uint32_t rk_dialect_builtin_attr(rk_bytecode *file);
uint32_t rk_dialect_builtin_type(rk_bytecode *file);
uint32_t rk_dialect_affine_map(rk_bytecode *file);
uint32_t rk_dialect_vhlo_attr(rk_bytecode *file);
uint32_t rk_dialect_vhlo_type(rk_bytecode *file);
uint32_t rk_dialect_stablehlo_attr(rk_bytecode *file);
uint32_t rk_dialect_stablehlo_type(rk_bytecode *file);
uint32_t rk_dialect_chlo_attr(rk_bytecode *file);
uint32_t rk_dialect_sdy_attr(rk_bytecode *file);
// Returns the word of a scalar type that older MLIR writes as text; RK_WORD_COUNT if the text is
// not such a type.
uint32_t rk_dialect_builtin_scalar(rk_span text);
