// The canonical form of a program, built to be hashed. Internal to this module. canon/*.c build the
// form, canon/fingerprint.c writes a model into it, and mlir/read_stream.c writes a program while
// it reads it.
//
// The program is split into units: the module's own operation, and each operation in the module's
// block with everything inside it. A unit is a sequence of numbers in file order. The numbers are
// hashed as they are written, so that a unit takes no memory:
//
// - A value is written as the number of values defined since it.
// - Operation names, types and attribute lists (content) are numbered within the unit in the order
//   of first use. Content is compared by meaning: it does not matter whether the file stores equal
//   content once or several times.
//
// After the last unit, functions (and HLO computations) whose names have no meaning outside the
// program lose their names: they get numbers in the order of first reference, starting from the
// public functions. Then one hash covers all units: first the units that are not functions, in file
// order, then the functions in the order of their numbers. For each unit, it covers the unit's hash
// and the unit's content. Content is written in full when it first occurs, and as a number
// afterwards.
#pragma once

#include "base/digest.h"
#include "program/interner.h"
#include "program/model.h"
#include "program/program.h"
#include "program/traits.h"

enum {
    RK_CANON_STREAM_BYTES = 1 << 14,
    RK_CANON_NONE = 0, // content: no attributes
};

typedef enum rk_content_kind {
    RK_CONTENT_NAME, // of an operation
    RK_CONTENT_TYPE,
    RK_CONTENT_ATTRS,
    RK_CONTENT_NAMELESS, // attributes of a function or module, without its name
    RK_CONTENT_KIND_COUNT,
} rk_content_kind;

typedef struct rk_content {
    uint8_t kind;
    uint32_t node;                   // RK_CONTENT_TYPE: node; RK_CONTENT_NAME: string id
    uint32_t first_attr, attr_count; // of attribute lists
} rk_content;

typedef struct rk_unit {
    rk_digest digest;
    uint32_t first_item, item_count; // content used, in the order of its numbers in the unit
    rk_span name;                    // of the module, or of a function
    uint32_t number; // of a function, in the order of first reference; RK_NO_ID before
    bool is_function, is_public, has_body;
    bool keeps_name; // the name has a meaning outside the program
} rk_unit;

// Maps ids of the model to content: its number plus one, or zero if unknown.
typedef struct rk_canon_map {
    uint32_t *items; // owned
    uint32_t capacity;
} rk_canon_map;

typedef struct rk_canon {
    rk_model *model; // borrowed; its budget also covers the form
    bool failed;     // memory was short
    // For rk_program_inspect: traits that the reader found. Complete if `has_traits`.
    rk_traits traits;
    bool has_traits;
    rk_program_role role; // the same; MLIR only
    // The unit being written, the last of `units`.
    rk_hasher hasher;
    uint8_t *stream; // numbers not hashed yet; owned, like all arrays here
    size_t stream_len;
    bool is_hashing; // `hasher` has part of the unit
    rk_unit *units;
    uint32_t unit_count, unit_capacity;
    uint32_t next_number[RK_CONTENT_KIND_COUNT];
    uint32_t *items; // content numbers of all units
    uint32_t item_count, item_capacity;
    // Content.
    rk_interner interner; // by canonical form
    rk_content *contents;
    uint32_t content_capacity;
    uint64_t *stamps; // by content: unit_count at its last use << 32 | its number in that unit
    uint32_t stamp_capacity;
    rk_canon_map maps[RK_CONTENT_KIND_COUNT]; // keyed by string id, node, or first attribute
    // Canonical forms of nodes, made on first use.
    rk_span *forms; // bytes owned by the model
    uint32_t form_count, form_capacity;
    rk_buf scratch;    // the form being made
    rk_hasher spilled; // hash of the part that left `scratch`
    bool has_spilled;
    rk_interner larges; // long texts and constants, by address and length; hashed separately
    rk_buf large_digests;
    uint8_t *name_kinds; // by string id; zero before the first lookup
    uint32_t name_kind_capacity;
    // Functions, after the last unit.
    rk_interner symbol_names;
    uint32_t *symbols; // by number of the name: the first unit with that name
    uint32_t *queue;   // unit indices in the order of `rk_unit.number`
    uint32_t queued;
    uint8_t *followed; // by node: functions that it names are in the queue
    // By value, if the model has casts (casts.c); else NULL. The operand of the cast that defines
    // the value, or RK_NO_ID; the value's number without casts; the number of the next value.
    uint32_t *cast_operands, *value_numbers, *next_numbers;
} rk_canon;

// Prepares a form. `model` is borrowed until rk_canon_cleanup. Fails only with
// RK_RESOURCE_EXHAUSTED.
RK_NODISCARD rk_err *rk_canon_open(rk_canon *canon, rk_model *model);
void rk_canon_cleanup(rk_canon *canon);

// Units (canon.c). Starts a unit and ends the previous one. The first unit is the module's
// operation. `op` is the unit's operation.
void rk_canon_begin_unit(rk_canon *canon, const rk_op *op);
// Records that the first region of the unit's operation has blocks.
static inline void rk_canon_has_body(rk_canon *canon) {
    if (canon->unit_count)
        canon->units[canon->unit_count - 1].has_body = true;
}
// Returns the content kind of the attributes of a unit's operation: RK_CONTENT_NAMELESS for
// functions and the module, else RK_CONTENT_ATTRS.
rk_content_kind rk_canon_kind_of_head(const rk_canon *canon, const rk_op *op);
// Writes a whole model (fingerprint.c). The model must not change any more.
void rk_canon_put_model(rk_canon *canon);
// Finds casts without a meaning, which are not written (casts.c). For rk_canon_put_model.
void rk_canon_fold_casts(rk_canon *canon);
// Write a unit from the model (fingerprint.c). rk_canon_put_head: the module's own operation with
// the number of its blocks and the types of their arguments. rk_canon_put_unit: an operation of the
// module's block with everything inside it; false if memory is short.
void rk_canon_put_head(rk_canon *canon);
bool rk_canon_put_unit(rk_canon *canon, uint32_t op);
// Start and write a unit with one block without arguments, as in HLO: the operation `head`, then
// each operation of the block. Each of these operations has one result. rk_canon_end_block ends the
// block.
void rk_canon_begin_block(rk_canon *canon, const rk_op *head);
typedef struct rk_canon_one {
    uint32_t name, attrs, type; // content numbers
} rk_canon_one;
void rk_canon_put_one(rk_canon *canon, const rk_canon_one *one, const rk_op *op);
// Ends the last unit and hashes all units. Fails only with RK_RESOURCE_EXHAUSTED.
RK_NODISCARD rk_err *rk_canon_finish(rk_canon *canon, rk_digest *out_digest);

// Writing numbers. rk_canon_flush hashes the stream and empties it.
void rk_canon_flush(rk_canon *canon);

// Writes a varint: seven bits per byte, lowest first.
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

// Content (content.c). Return the number of the content for an id, and add it if it is new.
// `first_attr` is the id of an attribute list, which must not be empty.
uint32_t rk_canon_name(rk_canon *canon, uint32_t string);
uint32_t rk_canon_type(rk_canon *canon, uint32_t node);
uint32_t rk_canon_attrs(rk_canon *canon, rk_content_kind kind, uint32_t first_attr,
                        uint32_t attr_count);
// Records the first use of the content in the current unit. Returns its number in that unit.
uint32_t rk_canon_use(rk_canon *canon, uint32_t content);

// Returns the content number plus one for an id, or zero if the id is not known yet.
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

// Ends a block. Zero is free for this because names are numbered from one on.
static inline void rk_canon_end_block(rk_canon *c) {
    rk_canon_put_number(c, 0);
}

// The encoding of an operation after its name and attributes. With fewer than RK_CANON_FEW_RESULTS
// results, fewer than RK_CANON_FEW_OPERANDS operands and nothing else: one number for both counts,
// then the result types and the operands. Else RK_CANON_FULL, then each count followed by its
// items: results, operands, successors, regions.
enum { RK_CANON_FEW_RESULTS = 3, RK_CANON_FEW_OPERANDS = 7, RK_CANON_FULL = 0x1F };

static inline void rk_canon_put_few(rk_canon *c, uint32_t results, uint32_t operands) {
    rk_canon_put_number(c, results << 3 | operands);
}

// Memory (memory.c). Grows an array within the model's budget, zeroed. Returns false and sets
// `failed` if memory is short.
RK_NODISCARD bool rk_canon_grow(rk_canon *canon, void **array, uint32_t *capacity, uint32_t needed,
                                size_t item_bytes);

// For canon.c, which starts and finishes the form (content.c, symbols.c).

// Adds the content RK_CANON_NONE.
void rk_canon_add_none(rk_canon *canon);

// Numbers every function; reachable functions first.
RK_NODISCARD rk_err *rk_canon_number_symbols(rk_canon *canon);
// Returns the function of that name, or NULL if there is none or it keeps its name.
const rk_unit *rk_canon_find_nameless(const rk_canon *canon, rk_span name);
// Remakes the forms of nodes that name numbered functions.
void rk_canon_renumber_forms(rk_canon *canon);
// Returns the final form of the content, in `scratch`. Borrowed until the next form is made.
rk_span rk_canon_form_of(rk_canon *canon, uint32_t content);
