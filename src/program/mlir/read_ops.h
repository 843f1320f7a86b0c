// Reads names, attributes and properties of operations in MLIR bytecode. Internal to mlir/read*.c.
#pragma once

#include "program/mlir/bytecode.h"

// Looks up an operation's name by its number. NULL if there is no such number. Sets `failed` if
// memory is short.
rk_op_name *rk_read_op_name(rk_bytecode *file, uint64_t index);

// Returns the node of an attribute, by its number, in the form for the value of `key` (a string
// id). RK_NO_ID and `failed` if there is none.
uint32_t rk_read_attr(rk_bytecode *file, const rk_op_name *op, uint32_t key, uint64_t index);

// Returns a dictionary by its number, with sorted fields. NULL and `failed` if the number is not a
// dictionary. Borrowed until the next node is made.
const rk_node *rk_read_dictionary(rk_bytecode *file, const rk_op_name *op, uint64_t index);

// Sets the attributes of an operation, sorted by name: the entries of `dictionary` (the number of
// an attribute; UINT64_MAX: none) and the properties (their number; UINT64_MAX: none). Sets
// `failed` on error.
void rk_read_op_attrs(rk_bytecode *file, uint32_t op_name, uint64_t dictionary, uint64_t properties,
                      rk_op *out_op);
