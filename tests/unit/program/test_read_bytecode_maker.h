// Makes MLIR bytecode by hand, in forms that no framework writes.
#pragma once

#include "base/buf.h"
#include "program/model.h"

// Numbers of the strings, dialects and operations in every file.
enum {
    STRING_BUILTIN,
    STRING_VHLO,
    STRING_OTHER,
    STRING_MODULE,
    STRING_OP,
    STRING_CONSTANT,
    STRING_TEXT,
    STRING_PAD,
    STRING_COUNT
};
enum { DIALECT_BUILTIN, DIALECT_VHLO, DIALECT_OTHER, DIALECT_COUNT };
enum { OP_MODULE, OP_OTHER, OP_CONSTANT, OP_PAD, OP_COUNT };

enum {
    ATTRS = 0x01,
    RESULTS = 0x02,
    OPERANDS = 0x04,
    SUCCESSORS = 0x08,
    REGIONS = 0x10,
    USE_LISTS = 0x20,
    PROPERTIES = 0x40
};

typedef struct maker {
    unsigned version; // 0: version 6
    rk_buf attr_offsets, attrs, type_offsets, types, ir, properties, resource_offsets, resources;
    unsigned attr_count, type_count, property_count;
} maker;

void maker_cleanup(maker *m);

void add_varint(rk_buf *out, uint64_t value);
void add_svarint(rk_buf *out, int64_t value);
void add_flagged(rk_buf *out, uint64_t value, bool flag);

// Adds an attribute, a type, or properties: numbers, written as varints, up to END. Returns its
// number.
#define END (-1)
unsigned make_attr(maker *m, unsigned dialect, ...);
unsigned make_type(maker *m, unsigned dialect, ...);
unsigned make_properties(maker *m, ...);
// The same with given bytes.
unsigned make_attr_bytes(maker *m, unsigned dialect, bool is_binary, rk_span bytes);

// Adds an operation's name, mask and location 0. The caller then adds the parts that the mask
// announces.
void make_op(maker *m, unsigned op, unsigned mask);

// Makes the whole file. The module holds the `ops` operations in m->ir, with `values` results.
// Owned: rk_buf_cleanup.
rk_buf make_file(maker *m, unsigned ops, unsigned values);

// Reads the file. The model borrows from `file`. NULL on failure, with the reason in `out_reason`
// (owned: free).
rk_model *read_made(const rk_buf *file, unsigned flags, char **out_reason);
