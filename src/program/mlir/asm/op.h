// An operation of MLIR text under construction. Internal to mlir/asm/*.c.
#pragma once

#include "program/mlir/asm/op_table.h"
#include "program/mlir/asm/reader.h"
#include "program/mlir/asm/values.h"
#include "program/mlir/read.h"

// How an operation is written.
typedef enum rk_asm_style {
    RK_ASM_GENERIC, // "stablehlo.add"(%0, %1) : …
    RK_ASM_FORM,    // stablehlo.add %0, %1 : …
} rk_asm_style;

// What comes next in the text of an operation.
typedef enum rk_asm_next {
    RK_ASM_FAILED,
    RK_ASM_END,    // nothing: the operation is complete, except for its location
    RK_ASM_REGION, // a region; "{" is taken
} rk_asm_next;

typedef struct rk_asm_op {
    uint32_t id; // in the model
    const rk_asm_spec *spec;
    rk_asm_style style;
    // The operation's parts on the stacks of the reader: what follows the first item.
    uint32_t first_target; // names of its results; then, from `first_arg` on, of its regions' args
    uint32_t first_arg;
    uint32_t first_field;
    uint32_t first_type; // of its results
    uint32_t first_region;
    uint32_t location; // if `has_location`: it is read already
    bool has_location;
} rk_asm_op;

// Starts an operation, whose results have the names from `first_target` on.
bool rk_asm_begin_op(rk_asm *p, const rk_asm_spec *spec, rk_asm_style style, uint32_t name,
                     uint32_t first_target, rk_asm_op *out_op);
// Completes it: all its parts are on the stacks. Reads its location.
bool rk_asm_end_op(rk_asm *p, const rk_asm_op *op, bool with_programs, rk_payload_fn *read_payload);

// Continues an operation after the operations inside one of its regions: attributes have the
// operation's form again.
void rk_asm_resume_op(rk_asm *p, const rk_asm_op *op);

// Operands of the operation that was begun last.
bool rk_asm_operand(rk_asm *p);  // reads one
bool rk_asm_operands(rk_asm *p); // reads any number, separated by commas
bool rk_asm_add_operand(rk_asm *p, uint32_t value);
uint32_t rk_asm_operand_count(const rk_asm *p, const rk_asm_op *op);

// Types. These functions check that operands have the types in the text, and push the types of the
// results.
bool rk_asm_types_of_function(rk_asm *p, const rk_asm_op *op, uint32_t type);    // (a, b) -> c
bool rk_asm_check_operands(rk_asm *p, const rk_asm_op *op, uint32_t first_node); // on `p->nodes`
