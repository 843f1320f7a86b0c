// Index of a program for diffs and sketches: its functions, and the items of each function (its
// operations in order). A constant is not an item but a literal, and so is an operation that only
// broadcasts, converts or reshapes a constant. A literal counts as a part of each operation that
// uses it, because compilers and frameworks share, move and merge constants without a change of the
// source.
#pragma once

#include "diagnose/diff/source.h"

typedef struct rk_program_index_function {
    rk_span name;          // as in the program; empty: the module itself
    uint64_t name_hash;    // of the name without a number at its end
    uint32_t op;           // operation of the model
    uint32_t first, count; // range in `items`
    uint32_t caller;       // first operation that refers to it; RK_NO_ID: none
} rk_program_index_function;

typedef struct rk_program_index_item {
    uint32_t op, function;
    uint64_t kind;   // hash of the name, the called function and the arity; no shapes, no constants
    uint64_t placed; // hash of `kind`, the scope and the source line
} rk_program_index_item;

typedef struct rk_program_index_parameter {
    uint32_t value; // of the model; RK_NO_ID: unknown
    rk_span name;   // the framework's name ("params['w1']"); empty if it gives none
    uint32_t attrs; // RK_NODE_DICT of sharding, donation, …; HLO: the sharding; RK_NO_ID: none
} rk_program_index_parameter;

typedef struct rk_program_index {
    const rk_model *model;                // borrowed
    rk_program_index_function *functions; // owned, as all arrays; [0]: module, [entry]: main
    uint32_t function_count, entry;
    rk_program_index_item *items;
    uint32_t item_count;
    rk_program_index_parameter *parameters; // of the entry function
    uint32_t parameter_count;
    uint32_t *results; // values that the entry function returns
    uint32_t result_count;
    uint64_t *node_hash;  // of each node, without layouts and private numbering
    uint32_t *item_of_op; // item of each operation; RK_NO_ID: none
    uint32_t *producer;   // operation that makes each value; RK_NO_ID: a block argument
    uint32_t *literal;    // by value: operation of the literal, if the value is one; else RK_NO_ID
    uint32_t *parameter;  // by value: index of the parameter, if the value is one; else RK_NO_ID
    uint32_t *user;       // first operation that uses a result of each operation; RK_NO_ID: none
    rk_source call;       // where the program was called; empty if unknown
    uint32_t call_location; // its stack in the model, also if it has frames of frameworks alone;
                            // RK_NO_ID: unknown
    uint32_t op_count;      // operations, literals included
} rk_program_index;

// Indexes a model, which must outlive the index. Fails only with RK_RESOURCE_EXHAUSTED. `out_index`
// is owned by the caller: rk_program_index_cleanup, also after an error.
RK_NODISCARD rk_err *rk_program_index_make(const rk_model *model, rk_program_index *out_index);
void rk_program_index_cleanup(rk_program_index *index);

// Finds the user's source line of an operation. If the operation has no line, takes the line of the
// first call of its function, then of the first call of the calling function, and so on. False if
// no line is found.
RK_NODISCARD bool rk_program_index_source(const rk_program_index *index, uint32_t op,
                                          rk_source *out_place);

// Dimensions (as in RK_NODE_INTS) and element type of a tensor type, borrowed from the model. False
// for other types.
RK_NODISCARD bool rk_program_index_tensor(const rk_model *model, uint32_t type, rk_span *out_dims,
                                          rk_span *out_element);

// Returns whether an operation only broadcasts, converts or reshapes its one operand.
RK_NODISCARD bool rk_program_index_spreads(const rk_model *model, const rk_op *op);

// Appends a type without its layout: "tensor<32x8xf32>".
void rk_program_index_write_type(const rk_model *model, uint32_t type, rk_buf *out);

// Returns the kind of an operation that calls no function.
uint64_t rk_program_index_kind(rk_span name, uint32_t operands, uint32_t results, uint32_t regions);

// Returns a name without the number that only makes the name unique: "relu_3" gives "relu",
// "AddComputation.40" gives "AddComputation". Borrowed.
rk_span rk_program_index_bare_name(rk_span name);
