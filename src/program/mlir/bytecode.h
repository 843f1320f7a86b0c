// An open MLIR bytecode file: its tables, and its attributes and types, which are decoded on first
// use. Internal to this module: bytecode.c, entries.c, decode.c, dialect_*.c and read*.c work on
// it.
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

// An attribute or a type. The table has the attributes first, then the types, then a sentinel at
// the end of the section. An entry's bytes end at the next entry's offset.
typedef struct rk_bytecode_entry {
    uint64_t offset : 40; // in the section
    uint64_t dialect : 10;
    uint64_t is_binary : 1; // encoded by its dialect, else text
    uint64_t state : 2;     // rk_entry_state
    uint64_t depth : 11;    // nesting depth, saturated
    uint32_t node;          // valid once decoded
    uint32_t other;         // the node in the form that operations use (read_forms.c); or RK_NO_ID
} rk_bytecode_entry;

enum { RK_MAX_PROPERTIES = 32 }; // per operation

// An operation's name. The other members are set when the name is first used.
typedef struct rk_op_name {
    uint32_t dialect;
    uint32_t text;    // string id, without dialect
    uint32_t name;    // string id: "stablehlo.add"; RK_NO_ID before the first use
    uint32_t content; // in the canonical form: the name's content number plus one, or zero
    const struct rk_op_spec *spec; // NULL: the operation is in no table
    bool is_registered;            // its properties have no names in the file
    bool has_other_forms;          // its attributes are converted to one form (read_forms.c)
    bool is_return;                // vhlo.return: its name in the model depends on the parent
    bool is_func;
    bool is_custom_call; // its attributes may hold a payload
    // Set when properties of this operation are first read.
    bool has_properties, operand_segments, result_segments;
    uint8_t property_count;
    uint32_t first_property; // string id; the other properties have the next ids
    uint32_t optional;       // bit i: property i may be absent
} rk_op_name;

// Properties, decoded for the operation that used them last.
typedef struct rk_properties {
    rk_span bytes;
    uint32_t op_name; // index in `op_names`, or RK_NO_ID
    uint32_t first_field, field_count;
    // The properties merged with an attribute dictionary: the dictionary's number (RK_NO_ID: none),
    // and the first field of the merged run.
    uint32_t merged_with, first_merged;
    // Content number plus one of the attributes of an operation with name `content_name`, these
    // properties and dictionary `content_dictionary`.
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
    bool failed; // not bytecode (`reason` has text), or out of memory (the model records it)
    uint32_t first_string, string_count; // the file's strings: first string id, count
    rk_dialect *dialects;                // owned, like all arrays here
    uint32_t dialect_count;
    rk_op_name *op_names;
    uint32_t op_name_count;
    rk_bytecode_entry *entries;
    uint32_t attr_count, type_count;
    rk_properties *properties;
    uint32_t property_count;
    rk_span *resources; // the bytes of resource blobs, in order; filled on first use
    uint32_t resource_count;
    uint32_t i64_type, f64_type; // nodes; types of numbers that are encoded without a type
    rk_cursor ir;                // position of the walk over the operations
    // Decoding an entry.
    rk_cursor in;
    uint32_t depth; // maximum depth of the entries that this entry refers to
    bool missing;   // this entry refers to entries that are not decoded yet; it is decoded again
                    // after them
    uint32_t *stack;
    uint32_t stack_count, stack_capacity;
    rk_buf ints; // lists of numbers and text under construction
} rk_bytecode;

// Opens the file and reads its tables. False if the bytes are not bytecode or memory is short;
// `failed` is set then. Set `code`, `model` and `reason` first; these are borrowed.
RK_NODISCARD bool rk_bytecode_open(rk_bytecode *file);
void rk_bytecode_cleanup(rk_bytecode *file);

// Sets `failed`. Only the first reason is kept. `at` is the position in the file.
void rk_bytecode_fail(rk_bytecode *file, const char *section, const uint8_t *at, const char *why);

// Takes a section's id and payload from a cursor. False and `bad` if the section is truncated.
bool rk_bytecode_take_section(rk_bytecode *file, rk_cursor *cursor, uint8_t *out_id,
                              rk_span *out_payload);

// Returns zeroed memory, charged to the model's budget. NULL and `failed` if memory is short. Owned
// by the caller: rk_free.
RK_NODISCARD void *rk_bytecode_allocate(rk_bytecode *file, uint64_t count, size_t item_bytes);
// Grows an array (NULL, or from rk_bytecode_allocate) by at least one item. False and `failed` if
// memory is short.
RK_NODISCARD bool rk_bytecode_grow(rk_bytecode *file, void **array, uint32_t *capacity,
                                   size_t item_bytes);

// Returns the bytes of an entry.
static inline rk_span rk_bytecode_entry_bytes(const rk_bytecode *file,
                                              const rk_bytecode_entry *entry) {
    uint64_t offset = entry->offset;
    return rk_span_of(file->sections[RK_SECTION_ATTR_TYPE].data + offset,
                      (size_t)(entry[1].offset - offset));
}

// Sets `failed` with the position of an entry.
void rk_bytecode_fail_entry(rk_bytecode *file, uint32_t index, const char *why);
// Pushes an entry to be decoded (entries.c). Sets `failed` if memory is short.
void rk_bytecode_push_entry(rk_bytecode *file, uint32_t index);

// Returns the content of `ints`, borrowed until `ints` changes. Sets `failed` if memory was short.
rk_span rk_bytecode_gathered(rk_bytecode *file);

// Returns the node of an attribute or type, by its number. RK_NO_ID and `failed` if there is no
// such number or memory is short.
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

// Finds the bytes of a resource. False if there are none. Sets `failed` if the section is damaged.
bool rk_bytecode_resource(rk_bytecode *file, uint64_t handle, rk_span *out_bytes);
