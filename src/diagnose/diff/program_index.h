// A program as diffs and sketches look at it: its functions, each a run of operations in order,
// with constants apart. Constants, and what only spreads or converts them, are no items of their
// own but literals, part of the operations that use them: compilers and frameworks share, move and
// merge them for reasons of their own.
#pragma once

#include "diagnose/diff/source.h"

typedef struct rk_program_index_function {
    rk_span name;          // as it stands; empty: the module itself
    uint64_t name_hash;    // less the number at its end
    uint32_t op;           // of the model
    uint32_t first, count; // in `items`
    uint32_t caller;       // the operation that refers to it first; RK_NO_ID: none does
} rk_program_index_function;

typedef struct rk_program_index_item {
    uint32_t op, function;
    uint64_t kind;   // name and arity, less what shapes and constants decide
    uint64_t placed; // the same with the line it comes from
} rk_program_index_item;

typedef struct rk_program_index_parameter {
    uint32_t value; // of the model
    rk_span name;   // as the framework calls it ("params['w1']"); empty if it does not
    uint32_t attrs; // RK_NODE_DICT with sharding, donation, …; RK_NO_ID
} rk_program_index_parameter;

typedef struct rk_program_index {
    const rk_model *model; // borrowed
    rk_program_index_function
        *functions; // owned, as all that follow; 0 is the module, `entry` the main one
    uint32_t function_count, entry;
    rk_program_index_item *items;
    uint32_t item_count;
    rk_program_index_parameter *parameters; // of the entry
    uint32_t parameter_count;
    uint32_t *results; // of the entry: values
    uint32_t result_count;
    uint64_t *node_hash;  // of what each node says, less layouts and private numbering
    uint32_t *item_of_op; // RK_NO_ID: it has none
    uint32_t *producer;   // of each value: the operation; RK_NO_ID: an argument of a block
    uint32_t *literal;    // of each value: the constant that it is; RK_NO_ID: it is none
    uint32_t *parameter;  // of each value: which parameter it is; RK_NO_ID: none
    uint32_t *user;       // of each operation: the first item that uses it; RK_NO_ID
    rk_source call;       // where the program was called, as far as it is known
    uint32_t op_count;    // operations in all, literals too
} rk_program_index;

// The model must outlive the view. Fails only with RK_RESOURCE_EXHAUSTED. `out_view` is owned:
// rk_program_index_cleanup, also after an error.
RK_NODISCARD rk_err *rk_program_index_make(const rk_model *model, rk_program_index *out_view);
void rk_program_index_cleanup(rk_program_index *view);

// The user's place of an operation; of one that has none, of what calls its function.
RK_NODISCARD bool rk_program_index_source(const rk_program_index *view, uint32_t op,
                                          rk_source *out_place);

// Dimensions (as in RK_NODE_INTS) and element type of a tensor; false for other types.
RK_NODISCARD bool rk_program_index_tensor(const rk_model *model, uint32_t type, rk_span *out_dims,
                                          rk_span *out_element);

// Appends a type without layouts: "tensor<32x8xf32>".
void rk_program_index_write_type(const rk_model *model, uint32_t type, rk_buf *out);

// Less a number that was only added to tell names apart: "relu_3", "AddComputation.40".
rk_span rk_program_index_bare_name(rk_span name);
