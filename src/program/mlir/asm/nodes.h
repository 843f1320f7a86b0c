// Makes names and nodes of the model, each content once: equal parts of the text get the same node.
// Internal to mlir/asm/*.c.
#pragma once

#include "program/mlir/asm/reader.h"

// Adds the words to an empty model. False and `failed` if memory is short.
RK_NODISCARD bool rk_asm_open_nodes(rk_asm *p);

// Returns the string id of a name. Borrows the text as long as the model lives. RK_NO_ID and
// `failed` if memory is short.
uint32_t rk_asm_name(rk_asm *p, rk_span text);

// Returns a node with this content and these fields. The node's bytes live as long as the model.
// RK_NO_ID if memory is short or a field has no node.
uint32_t rk_asm_node(rk_asm *p, rk_node node, const rk_field *fields, uint32_t count);
// The same for a node without fields whose bytes may change later.
uint32_t rk_asm_copied_node(rk_asm *p, rk_node node);

// Common nodes.
uint32_t rk_asm_word_node(rk_asm *p, rk_node_kind kind, uint32_t name); // without bytes
uint32_t rk_asm_bytes_node(rk_asm *p, rk_node_kind kind, rk_span bytes);
uint32_t rk_asm_bool(rk_asm *p, bool value);
uint32_t rk_asm_int64(rk_asm *p, int64_t value);
uint32_t rk_asm_float64(rk_asm *p, uint64_t bits);
uint32_t rk_asm_enum(rk_asm *p, uint32_t word, const char *value);
// A type without parts.
uint32_t rk_asm_scalar_type(rk_asm *p, uint32_t word);
// tensor<COUNTxELEMENT> and so on. `dims`: as in RK_NODE_INTS, copied.
uint32_t rk_asm_tensor_type(rk_asm *p, rk_span dims, uint32_t element);

// Pop the nodes from `first` on from `p->nodes` and return them as a list, or as a node of that
// kind.
uint32_t rk_asm_pop_nodes(rk_asm *p, rk_node_kind kind, uint32_t first);
uint32_t rk_asm_pop_list(rk_asm *p, uint32_t first);
// Pops the fields from `first` on from `p->fields` and returns them as a dictionary, sorted by
// name. RK_NO_ID and `failed` if a name occurs twice.
uint32_t rk_asm_pop_dict(rk_asm *p, uint32_t first);
// Pops the fields from `first` on and returns them as a structure of that kind, in their order.
uint32_t rk_asm_pop_struct(rk_asm *p, uint32_t word, uint32_t first);

// Appends a number to `p->ints`; returns its numbers as a list (RK_NODE_INTS).
void rk_asm_add_int(rk_asm *p, int64_t value);
uint32_t rk_asm_take_ints(rk_asm *p);
