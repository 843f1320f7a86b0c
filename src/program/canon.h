// A program being written out in its canonical order, to be hashed. Internal to the fingerprint:
// fingerprint*.c.
#pragma once

#include "base/digest.h"
#include "program/interner.h"
#include "program/model.h"

enum { RK_CANON_STREAM_BYTES = 1 << 16 };

// A node's canonical form: a run of `forms`, or nothing where the node is never to be written.
typedef struct rk_form {
    uint32_t offset;
    uint32_t len;
} rk_form;

// A function, or a computation, by its name.
typedef struct rk_symbol {
    rk_span name;
    uint32_t op;
    uint32_t number; // by first reference; RK_NO_ID until then
    bool is_public;  // others than the program itself can call it
    bool keeps_name; // its name means something to others
} rk_symbol;

typedef struct rk_canon {
    const rk_model *model;
    rk_hasher hasher;
    uint8_t *stream; // what is yet to be hashed; owned, as all arrays here
    size_t stream_len;
    rk_form *node_forms; // of every node
    rk_buf forms;        // their bytes
    rk_buf scratch;      // the form being made
    rk_interner larges;  // texts and constants that are hashed on their own, by where they lie
    rk_buf large_digests;
    rk_interner names, types_and_attrs; // what was written, by content: its number is written then
    uint32_t *name_numbers;             // of every string; RK_NO_ID until it is written as a name
    uint8_t *name_kinds;                // of every string, once it was asked for
    uint32_t *node_numbers;             // of every node; RK_NO_ID until it is written
    uint32_t *numbers;                  // of every value; RK_NO_ID until it is met
    uint32_t next_number;
    rk_symbol *symbols; // sorted by name, then by where they stand
    uint32_t symbol_count;
    uint32_t *queue; // symbols in the order of their numbers
    uint32_t queued;
    uint8_t *followed;     // of every node: the functions that it names are in the queue
    const rk_op *nameless; // what is being written and has its name written elsewhere, if at all
} rk_canon;

// Functions (fingerprint_symbols.c): finds them, and numbers them in `queue`.
RK_NODISCARD rk_err *rk_canon_number_symbols(rk_canon *canon);
bool rk_canon_is_function(rk_span op_name);
// The function of that name, the first of several, or NULL.
rk_symbol *rk_canon_find_symbol(const rk_canon *canon, rk_span name);

// Forms of all nodes (fingerprint_nodes.c). The functions have their numbers.
RK_NODISCARD rk_err *rk_canon_form_nodes(rk_canon *canon);
