// Makes MLIR bytecode by hand, of forms that no framework writes.
#pragma once

#include "base/buf.h"
#include "program/model.h"

// Strings, dialects and operations of every file made here, by their numbers.
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
    unsigned version; // 6 unless set
    rk_buf attr_offsets, attrs, type_offsets, types, ir, properties, resource_offsets, resources;
    unsigned attr_count, type_count, property_count;
} maker;

void maker_cleanup(maker *m);

void add_varint(rk_buf *out, uint64_t value);
void add_svarint(rk_buf *out, int64_t value);
void add_flagged(rk_buf *out, uint64_t value, bool flag);

// An attribute, a type, properties: their bytes, as numbers that are written as varints, up to END.
// Yields its number.
#define END (-1)
unsigned make_attr(maker *m, unsigned dialect, ...);
unsigned make_type(maker *m, unsigned dialect, ...);
unsigned make_properties(maker *m, ...);
// The same with bytes that are there already.
unsigned make_attr_bytes(maker *m, unsigned dialect, bool is_binary, rk_span bytes);

// An operation's name, mask and location 0. What the mask promises follows, by the caller.
void make_op(maker *m, unsigned op, unsigned mask);

// The whole file; the module holds `ops` operations, which are in m->ir, whose results are `values`
// values. Owned: rk_buf_cleanup.
rk_buf make_file(maker *m, unsigned ops, unsigned values);

// The model of the file, which it borrows from; NULL and the reason in `out_reason` (owned, free).
rk_model *read_made(const rk_buf *file, unsigned flags, char **out_reason);
