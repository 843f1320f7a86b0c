// A program as text for people and for diff: one operation a line, generic MLIR form, locations as
// comments. Programs inside the program, kernels in custom calls, follow it as `program#0`, ….
// Stable: the same program always gives the same text.
#pragma once

#include "program/model.h"

typedef struct rk_text_options {
    bool locations;      // "// file.py:12 name" after each operation that has one
    size_t elements_max; // constants of more elements are cut, with their number
} rk_text_options;

// Appends the text to `out`; its maximum bounds the whole. Fails only with RK_RESOURCE_EXHAUSTED.
RK_NODISCARD rk_err *rk_program_print(const rk_model *model, const rk_text_options *options,
                                      rk_buf *out);

// Appends one node, as it would stand in the text of an operation.
void rk_node_print(const rk_model *model, uint32_t node, size_t elements_max, rk_buf *out);
