// MLIR bytecode, opened: its tables, and attributes and types that are decoded when they are first
// asked for. Internal to this room: bytecode*.c, dialect_*.c and read_bytecode*.c work on it.
// Source: llvm-project mlir/docs/BytecodeFormat.md and mlir/lib/Bytecode/Encoding.h, versions 0-6.
#pragma once

#include "program/mlir/cursor.h"
#include "program/mlir/words.h"
#include "program/model.h"

enum {
    RK_SECTION_STRING,
    RK_SECTION_DIALECT,
    RK_SECTION_ATTR_TYPE,
    RK_SECTION_ATTR_TYPE_OFFSET,
    RK_SECTION_IR,
    RK_SECTION_RESOURCE,
    RK_SECTION_RESOURCE_OFFSET,
    RK_SECTION_DIALECT_VERSIONS,
    RK_SECTION_PROPERTIES,
    RK_SECTION_COUNT,
};

typedef enum rk_dialect_kind {
    RK_DIALECT_OTHER,
    RK_DIALECT_BUILTIN,
    RK_DIALECT_VHLO,
    RK_DIALECT_STABLEHLO,
    RK_DIALECT_CHLO,
    RK_DIALECT_SDY,
} rk_dialect_kind;

typedef struct rk_dialect {
    uint32_t name; // string id
    rk_dialect_kind kind;
} rk_dialect;

typedef enum rk_entry_state { RK_ENTRY_NEW, RK_ENTRY_OPEN, RK_ENTRY_DONE } rk_entry_state;

// An attribute or a type: attributes first, then types, then a sentinel at the end of the section.
// Its bytes end where the next entry's begin.
typedef struct rk_bytecode_entry {
    uint64_t offset : 40; // in the section
    uint64_t dialect : 10;
    uint64_t is_binary : 1; // in its dialect's own encoding, else text
    uint64_t state : 2;     // rk_entry_state
    uint64_t depth : 11;    // of what it is made of
    uint32_t node;          // once it is done
    uint32_t other;         // the same, in the form that operations want it; or RK_NO_ID
} rk_bytecode_entry;

enum { RK_MAX_PROPERTIES = 32 }; // of an operation

// An operation's name, looked up when it is first used.
typedef struct rk_op_name {
    uint32_t dialect;
    uint32_t text;                 // string id, without dialect
    uint32_t name;                 // string id: "stablehlo.add"; RK_NO_ID before the first use
    uint32_t content;              // of the canonical form: one more than its number, or zero
    const struct rk_op_spec *spec; // NULL: an operation that no table knows
    bool is_registered;            // its properties have no names in the file
    bool has_other_forms;          // its attributes are brought to one form (read_bytecode_forms.c)
    bool is_return;                // VHLO has one for functions and for regions
    bool is_func;
    bool is_custom_call; // its attributes may hold a payload
    // Its properties, once some were met.
    bool has_properties, operand_segments, result_segments;
    uint8_t property_count;
    uint32_t first_property; // string id; the others follow
    uint32_t optional;       // bits: those that may be absent
} rk_op_name;

// Properties, decoded for the operation that used them last.
typedef struct rk_properties {
    rk_span bytes;
    uint32_t op_name; // or RK_NO_ID
    uint32_t first_field, field_count;
    // Together with a dictionary of attributes: its number, or RK_NO_ID.
    uint32_t merged_with, first_merged;
    // Their content in the canonical form, one more than its number, for an operation of this name
    // with this dictionary.
    uint32_t content_name, content;
    uint64_t content_dictionary;
} rk_properties;

typedef struct rk_bytecode {
    rk_span code;
    rk_model *model;
    rk_buf *reason;
    uint64_t version;
    rk_span sections[RK_SECTION_COUNT];
    bool has_section[RK_SECTION_COUNT], resources_opened;
    bool without_debug; // what says nothing to a compiler is left out of dictionaries
    bool failed;        // not bytecode (the reason says why), or out of room (the model says so)
    uint32_t first_string, string_count; // the file's strings, in the model
    rk_dialect *dialects;                // owned, as all arrays here
    uint32_t dialect_count;
    rk_op_name *op_names;
    uint32_t op_name_count;
    rk_bytecode_entry *entries;
    uint32_t attr_count, type_count;
    rk_properties *properties;
    uint32_t property_count;
    rk_span *resources; // the bytes of resource blobs, in order; opened when first used
    uint32_t resource_count;
    uint32_t i64_type, f64_type; // nodes, of numbers that have no type of their own
    rk_cursor ir;                // where the walk over the operations is
    // Decoding an entry.
    rk_cursor in;
    uint32_t depth; // of the deepest that it refers to
    bool missing;   // it refers to entries that are on the stack now, and is to be decoded again
    uint32_t *stack;
    uint32_t stack_count, stack_capacity;
    rk_buf ints; // lists of numbers and texts, while they are put together
} rk_bytecode;

// Reads the tables. False if the bytes are not bytecode or memory is short: `failed` is set then.
RK_NODISCARD bool rk_bytecode_open(rk_bytecode *file);
void rk_bytecode_cleanup(rk_bytecode *file);

// Sets `failed`; the first reason counts. `at` is where in the file.
void rk_bytecode_fail(rk_bytecode *file, const char *section, const uint8_t *at, const char *why);

// A section's id and payload, off the front of a cursor; false and `bad` if it is cut.
bool rk_bytecode_take_section(rk_bytecode *file, rk_cursor *cursor, uint8_t *out_id,
                              rk_span *out_payload);

// Zeroed memory that counts towards the model's budget; NULL and `failed` if there is none.
RK_NODISCARD void *rk_bytecode_allocate(rk_bytecode *file, uint64_t count, size_t item_bytes);
// Grows an array that rk_bytecode_allocate began, or NULL, to at least one more item.
RK_NODISCARD bool rk_bytecode_grow(rk_bytecode *file, void **array, uint32_t *capacity,
                                   size_t item_bytes);

// What was put together in `ints`; `failed` if there was no room for it.
rk_span rk_bytecode_gathered(rk_bytecode *file);

// The node of an attribute or type, by its number. RK_NO_ID and `failed` if there is no such
// number, or memory is short.
uint32_t rk_bytecode_resolve_attr(rk_bytecode *file, uint64_t index);
uint32_t rk_bytecode_resolve_type(rk_bytecode *file, uint64_t index);

static inline uint32_t rk_bytecode_attr(rk_bytecode *file, uint64_t index) {
    if (RK_LIKELY(index < file->attr_count && file->entries[index].state == RK_ENTRY_DONE))
        return file->entries[index].node;
    return rk_bytecode_resolve_attr(file, index);
}

static inline uint32_t rk_bytecode_type(rk_bytecode *file, uint64_t index) {
    uint64_t entry = file->attr_count + index;
    if (RK_LIKELY(index < file->type_count && file->entries[entry].state == RK_ENTRY_DONE))
        return file->entries[entry].node;
    return rk_bytecode_resolve_type(file, index);
}

// The bytes of an entry.
rk_span rk_bytecode_entry_bytes(const rk_bytecode *file, const rk_bytecode_entry *entry);
// The bytes of a resource; false if there are none. Not of the format: `failed`.
bool rk_bytecode_resource(rk_bytecode *file, uint64_t handle, rk_span *out_bytes);
