// A program on its way into its canonical form, to be hashed. Internal to this room: canon*.c make
// the form, fingerprint.c writes a model into it, read_bytecode_stream.c a program as it is read.
//
// The program is cut into units: the module's own operation, and each operation in its block, with
// all that is inside of it. A unit is written as a run of numbers, in the order of the file, and
// hashed as it is written, so that nothing of it stays in memory:
//
// - Values are named by how many values ago they were defined.
// - Names, types and lists of attributes (content) are numbered, within the unit, in the order in
//   which it first has them. They are told apart by what they say alone, never by how the file
//   shares them.
//
// When all units are there, functions (and HLO computations) that only the program itself can name
// are renamed by the order in which they are first referred to, starting from the public ones. Then
// one hash goes over the units in that order: the hash of each, and the content that it has,
// written out where it is new and numbered otherwise.
#pragma once

#include "base/digest.h"
#include "program/interner.h"
#include "program/model.h"
#include "program/traits.h"

enum {
    RK_CANON_STREAM_BYTES = 1 << 14,
    RK_CANON_NONE = 0, // the content of no attributes
};

typedef enum rk_content_kind {
    RK_CONTENT_NAME, // of an operation
    RK_CONTENT_TYPE,
    RK_CONTENT_ATTRS,
    RK_CONTENT_NAMELESS, // attributes without the name of what has them
    RK_CONTENT_KIND_COUNT,
} rk_content_kind;

typedef struct rk_content {
    uint8_t kind;
    uint32_t node;                   // of types
    uint32_t first_attr, attr_count; // of attributes
} rk_content;

typedef struct rk_unit {
    rk_digest digest;
    uint32_t first_item, item_count; // content, in the order of its numbers
    rk_span name;                    // of a function
    uint32_t number;                 // of a function, by first reference; RK_NO_ID until then
    bool is_function, is_public, has_body;
    bool keeps_name; // it means something to others
} rk_unit;

// From ids of the model to content, one more than its number; zero where it is not known yet.
typedef struct rk_canon_map {
    uint32_t *items; // owned
    uint32_t capacity;
} rk_canon_map;

struct rk_canon {
    rk_model *model; // its budget is that of the form, too
    bool failed;     // memory was short
    // What the reader saw on its way that matters to rk_program_inspect; if it saw all of it.
    rk_traits traits;
    bool has_traits;
    // The unit that is being written, the last of `units`.
    rk_hasher hasher;
    uint8_t *stream; // what is yet to be hashed; owned, as all arrays here
    size_t stream_len;
    bool is_hashing; // some of it was
    rk_unit *units;
    uint32_t unit_count, unit_capacity;
    uint32_t next_number[RK_CONTENT_KIND_COUNT];
    uint32_t *items; // of all units
    uint32_t item_count, item_capacity;
    // Content.
    rk_interner interner; // by its form
    rk_content *contents;
    uint32_t content_capacity;
    uint64_t *stamps; // of content: how many units there were when it got its number << 32 | that
    uint32_t stamp_capacity;
    rk_canon_map maps[RK_CONTENT_KIND_COUNT]; // by string, by node, by first attribute
    // Nodes have forms of their own, made when they are first needed.
    rk_span *forms; // kept by the model
    uint32_t form_count, form_capacity;
    rk_buf scratch;    // the form being made
    rk_hasher spilled; // what of it was hashed already
    bool has_spilled;
    rk_interner larges; // texts and constants that are hashed on their own, by where they lie
    rk_buf large_digests;
    uint8_t *name_kinds; // of strings, once they were asked for
    uint32_t name_kind_capacity;
    // Functions, once all units are there.
    rk_interner symbol_names;
    uint32_t *symbols; // by the number of the name: the first unit that has it
    uint32_t *queue;   // the same in the order of their numbers
    uint32_t queued;
    uint8_t *followed; // of nodes: the functions that they name are in the queue
};

// `model` is borrowed for as long as the form lives.
RK_NODISCARD rk_err *rk_canon_open(rk_canon *canon, rk_model *model);
void rk_canon_cleanup(rk_canon *canon);

// Units (canon.c). The first is the module's operation. `op`: its head.
void rk_canon_begin_unit(rk_canon *canon, const rk_op *op);
// The first region of the unit's operation has blocks.
static inline void rk_canon_has_body(rk_canon *canon) {
    if (canon->unit_count)
        canon->units[canon->unit_count - 1].has_body = true;
}
// Functions (and the module) lose their names: the kind of their attributes.
rk_content_kind rk_canon_kind_of_head(const rk_canon *canon, const rk_op *op);
// A unit of the model (fingerprint.c): the module's own operation, with how many blocks it has and
// what their arguments are; an operation in its block, with all that is in it.
void rk_canon_put_head(rk_canon *canon);
bool rk_canon_put_unit(rk_canon *canon, uint32_t op);
// Of a unit of one block that has no arguments: the operation that has it, and each in the block,
// which have one result. rk_canon_end_block ends it.
void rk_canon_begin_block(rk_canon *canon, const rk_op *head);
typedef struct rk_canon_one {
    uint32_t name, attrs, type; // content
} rk_canon_one;
void rk_canon_put_one(rk_canon *canon, const rk_canon_one *one, const rk_op *op);
// Ends the last unit, and hashes all of them. Memory was short: RK_RESOURCE_EXHAUSTED.
RK_NODISCARD rk_err *rk_canon_finish(rk_canon *canon, rk_digest *out_digest);

// Writing numbers.
void rk_canon_flush(rk_canon *canon);

// As a varint: seven bits a byte, lowest first.
static inline void rk_canon_put_number(rk_canon *c, uint32_t value) {
    enum { MOST_BYTES = 5 };
    if (RK_UNLIKELY(c->stream_len > RK_CANON_STREAM_BYTES - MOST_BYTES))
        rk_canon_flush(c);
    uint8_t *at = c->stream + c->stream_len;
    while (RK_UNLIKELY(value >= 0x80)) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    c->stream_len = (size_t)(at - c->stream);
}

// Content (canon_content.c): the number of what has this id, made if it is new. Attributes, of
// which there is one at least, have the id of the first.
uint32_t rk_canon_name(rk_canon *canon, uint32_t string);
uint32_t rk_canon_type(rk_canon *canon, uint32_t node);
uint32_t rk_canon_attrs(rk_canon *canon, rk_content_kind kind, uint32_t first_attr,
                        uint32_t attr_count);
// The first use of this content in the unit: the number that it has there.
uint32_t rk_canon_use(rk_canon *canon, uint32_t content);

static inline uint32_t rk_canon_known(const rk_canon *c, rk_content_kind kind, uint32_t id) {
    const rk_canon_map *map = &c->maps[kind];
    return RK_LIKELY(id < map->capacity) ? map->items[id] : 0;
}

static inline void rk_canon_put_content(rk_canon *c, uint32_t content) {
    uint64_t stamp = c->stamps[content];
    bool is_known = RK_LIKELY(stamp >> 32 == c->unit_count);
    rk_canon_put_number(c, is_known ? (uint32_t)stamp : rk_canon_use(c, content));
}

static inline uint32_t rk_canon_name_of(rk_canon *c, uint32_t string) {
    uint32_t known = rk_canon_known(c, RK_CONTENT_NAME, string);
    return RK_LIKELY(known) ? known - 1 : rk_canon_name(c, string);
}

static inline uint32_t rk_canon_type_of(rk_canon *c, uint32_t node) {
    uint32_t known = rk_canon_known(c, RK_CONTENT_TYPE, node);
    return RK_LIKELY(known) ? known - 1 : rk_canon_type(c, node);
}

static inline void rk_canon_put_name(rk_canon *c, uint32_t string) {
    rk_canon_put_content(c, rk_canon_name_of(c, string));
}

static inline void rk_canon_put_type(rk_canon *c, uint32_t node) {
    rk_canon_put_content(c, rk_canon_type_of(c, node));
}

static inline void rk_canon_put_attrs(rk_canon *c, rk_content_kind kind, uint32_t first,
                                      uint32_t count) {
    uint32_t known = count ? rk_canon_known(c, kind, first) : RK_CANON_NONE + 1;
    rk_canon_put_content(c, RK_LIKELY(known) ? known - 1 : rk_canon_attrs(c, kind, first, count));
}

// Ends a block. Names are numbered from one on.
static inline void rk_canon_end_block(rk_canon *c) {
    rk_canon_put_number(c, 0);
}

// What an operation has: where there are few results and operands and nothing else, one number;
// the results' types and the operands follow. Else RK_CANON_FULL, and each count before what it
// counts: results, operands, successors, regions.
enum { RK_CANON_FEW_RESULTS = 3, RK_CANON_FEW_OPERANDS = 7, RK_CANON_FULL = 0x1F };

static inline void rk_canon_put_few(rk_canon *c, uint32_t results, uint32_t operands) {
    rk_canon_put_number(c, results << 3 | operands);
}

// Memory within the model's budget; false and `failed` if there is none.
RK_NODISCARD bool rk_canon_grow(rk_canon *canon, void **array, uint32_t *capacity, uint32_t needed,
                                size_t item_bytes);

// Makes RK_CANON_NONE.
void rk_canon_add_none(rk_canon *canon);

// For finishing (canon_content.c, canon_symbols.c).

// Numbers every function; those that can be reached come first.
RK_NODISCARD rk_err *rk_canon_number_symbols(rk_canon *canon);
// The function of that name that loses it, or NULL.
const rk_unit *rk_canon_find_nameless(const rk_canon *canon, rk_span name);
// Makes the forms again that name functions which have numbers now.
void rk_canon_renumber_forms(rk_canon *canon);
// The final form of content, into `scratch`.
rk_span rk_canon_form_of(rk_canon *canon, uint32_t content);
