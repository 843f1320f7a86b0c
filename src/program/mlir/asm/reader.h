// The state of a reader of MLIR text, and its smallest tools: characters, words and errors.
// Internal to mlir/asm/*.c. MLIR calls its text form "assembly", hence the prefix. Source:
// llvm-project mlir/docs/LangRef.md, mlir/lib/AsmParser/.
//
// The reader makes the model that the bytecode reader makes of the same program: types and
// attributes of StableHLO and func operations have the form of VHLO (forms.c). If the reader does
// not understand something with certainty, it stops: the fingerprint then covers the program's
// bytes.
#pragma once

#include "program/interner.h"
#include "program/mlir/words.h"
#include "program/model.h"

enum { RK_ASM_MAX_DEPTH = 64 }; // of types, attributes and locations

#define RK_ASM_ARRAY(type)                                                                         \
    struct {                                                                                       \
        type *items;                                                                               \
        uint32_t count, capacity;                                                                  \
    }

// What a name of a value stands for: the first of `count` results. Count 0: nothing.
typedef struct rk_asm_binding {
    uint32_t value, count;
    uint32_t undo; // its number in `undos`: names below the current `floor` are not visible
} rk_asm_binding;

typedef struct rk_asm_undo {
    uint32_t slot;
    rk_asm_binding before;
} rk_asm_undo;

// Values get their final numbers at the end of the text: the number of the region's first value
// plus the index in the region.
typedef struct rk_asm_place {
    uint32_t region, index;
} rk_asm_place;

// A name on the left of an operation or in a list of arguments, not yet bound.
typedef struct rk_asm_target {
    uint32_t slot;
    uint32_t count;
    uint32_t type, location; // of arguments
} rk_asm_target;

typedef struct rk_asm_resource {
    rk_span hex, bytes; // bytes: decoded on first use
} rk_asm_resource;

// A constant whose bytes are at the end of the text.
typedef struct rk_asm_pending {
    uint32_t node;
    rk_span key;
    size_t len; // bytes that its type needs
} rk_asm_pending;

typedef struct rk_asm {
    const uint8_t *start, *at, *end;
    rk_model *model;
    bool failed;              // `why` is set, or memory is short (the model records it)
    const char *why;          // static; the first failure
    const uint8_t *failed_at; // its place
    bool with_locations;
    unsigned depth;

    // How attributes are written: in the form of VHLO (attributes of StableHLO and func operations)
    // or as builtin attributes. `nesting`: lists and dictionaries around the attribute.
    bool is_vhlo, names_functions;
    unsigned nesting;
    const char *op_name; // the operation whose attributes are read; NULL: none
    rk_span key;         // the name of the outermost attribute

    rk_interner names;               // of attributes, enumerations and types
    RK_ASM_ARRAY(uint32_t) name_ids; // string ids, by number in `names`
    uint32_t *node_slots;            // a hash table of nodes; owned, like all arrays here
    uint32_t node_slot_count, node_count;
    rk_interner type_texts;
    RK_ASM_ARRAY(uint32_t) type_nodes;  // by number in `type_texts`
    rk_interner aliases;                // names with "#" or "!"
    RK_ASM_ARRAY(uint32_t) alias_nodes; // by number in `aliases`; RK_NO_ID: not defined yet
    rk_interner attr_lists;             // operations with their attributes in the text
    RK_ASM_ARRAY(uint32_t) attr_nodes;  // by number in `attr_lists`: all attributes (forms.c)
    RK_ASM_ARRAY(rk_field) fields;      // of the attributes under construction
    RK_ASM_ARRAY(uint32_t) nodes;       // of the lists of types under construction
    rk_buf ints;                        // lists of numbers and text under construction
    rk_interner resource_keys;
    RK_ASM_ARRAY(rk_asm_resource) resources; // by number in `resource_keys`
    RK_ASM_ARRAY(rk_asm_pending) pendings;

    // Values.
    rk_interner value_names;               // names that are not numbers
    RK_ASM_ARRAY(rk_asm_binding) named;    // by number in `value_names`
    RK_ASM_ARRAY(rk_asm_binding) numbered; // by number in the text: "%12"
    RK_ASM_ARRAY(rk_asm_undo) undos;
    uint32_t floor;
    RK_ASM_ARRAY(rk_asm_place) places; // by value
    RK_ASM_ARRAY(uint32_t) counts;     // values, by region
    RK_ASM_ARRAY(uint32_t) op_regions; // by operation: the region that contains it
    RK_ASM_ARRAY(rk_asm_target) targets;
    RK_ASM_ARRAY(rk_region) regions; // of the operations that are not complete
    uint32_t region;                 // the current one; RK_NO_ID outside all regions
} rk_asm;

// Sets `failed`. Only the first reason is kept.
void rk_asm_fail(rk_asm *p, const char *static_why);
// Appends the reason and the line number.
void rk_asm_describe_failure(const rk_asm *p, rk_buf *out_reason);
// Sets `failed` because memory is short.
void rk_asm_out_of_memory(rk_asm *p);
void rk_asm_cleanup(rk_asm *p);

// Grows an array to at least `needed` items, within the model's budget. New items are zero. False
// and `failed` if memory is short.
RK_NODISCARD bool rk_asm_grow(rk_asm *p, void **items, uint32_t *capacity, uint64_t needed,
                              size_t item_bytes);

// Makes space for `needed` items in all. False and `failed` if memory is short.
#define RK_ASM_RESERVE(p, array, needed)                                                           \
    (__extension__({                                                                               \
        void *items_ = (array).items;                                                              \
        bool ok_ = rk_asm_grow((p), &items_, &(array).capacity, (needed), sizeof *(array).items);  \
        (array).items = items_;                                                                    \
        ok_;                                                                                       \
    }))

// Appends an item. False and `failed` if memory is short.
#define RK_ASM_PUSH(p, array, ...)                                                                 \
    (__extension__({                                                                               \
        bool has_ = RK_LIKELY((array).count < (array).capacity) ||                                 \
                    RK_ASM_RESERVE((p), (array), (uint64_t)(array).count + 1);                     \
        if (has_)                                                                                  \
            (array).items[(array).count++] = (__VA_ARGS__);                                        \
        has_;                                                                                      \
    }))

static inline bool rk_asm_is_digit(uint8_t c) {
    return (uint8_t)(c - '0') < 10;
}

static inline bool rk_asm_is_letter(uint8_t c) {
    return (uint8_t)((c | 0x20) - 'a') < 26;
}

static inline bool rk_asm_is_word_start(uint8_t c) {
    return rk_asm_is_letter(c) || c == '_';
}

static inline bool rk_asm_is_word(uint8_t c) {
    return rk_asm_is_letter(c) || rk_asm_is_digit(c) || c == '_' || c == '.' || c == '$';
}

// Returns the next byte; 0 at the end.
static inline uint8_t rk_asm_here(const rk_asm *p) {
    return RK_LIKELY(p->at < p->end) ? *p->at : 0;
}

void rk_asm_skip_blanks(rk_asm *p);

// Skips blanks and comments. Returns the next byte; 0 at the end.
static inline uint8_t rk_asm_peek(rk_asm *p) {
    uint8_t c = rk_asm_here(p);
    if (RK_LIKELY(c > ' ' && c != '/'))
        return c;
    rk_asm_skip_blanks(p);
    return rk_asm_here(p);
}

static inline bool rk_asm_accept(rk_asm *p, char c) {
    if (rk_asm_peek(p) != (uint8_t)c)
        return false;
    p->at++;
    return true;
}

// Takes the character. Sets `failed` if it does not come next.
static inline bool rk_asm_expect(rk_asm *p, char c) {
    if (RK_LIKELY(rk_asm_accept(p, c)))
        return true;
    rk_asm_fail(p, "unexpected text");
    return false;
}

// Take a token of punctuation ("->").
bool rk_asm_accept_text(rk_asm *p, const char *text);
bool rk_asm_expect_text(rk_asm *p, const char *text);

// Takes a word: letters, digits, "_", "." and "$". Empty if none comes next.
rk_span rk_asm_word(rk_asm *p);
// Take exactly this word.
bool rk_asm_accept_word(rk_asm *p, const char *word);
bool rk_asm_expect_word(rk_asm *p, const char *word);

// Takes a string in quotes and decodes it. False and `failed` if none comes next. The bytes live as
// long as the model.
RK_NODISCARD bool rk_asm_string(rk_asm *p, rk_span *out_text);
// Takes the name of a symbol after "@": a word or a string.
RK_NODISCARD bool rk_asm_symbol(rk_asm *p, rk_span *out_name);

// Skips to the bracket that closes an open one of the given kind ("(" or "{"), past strings.
// `p->at` is behind the open bracket, then behind the closing one. False and `failed` if there is
// none.
bool rk_asm_skip_bracket(rk_asm *p, char open, char close);
