// Prints a program as text for people and for diff: one operation per line, generic MLIR form,
// locations as comments. Programs inside the program (kernels in custom calls) follow it as
// `program#0`, `program#1`, …. Stable: the same program always gives the same text.
#pragma once

#include "program/model.h"

typedef struct rk_text_options {
    bool locations;      // appends "// file.py:12 name" to each operation that has a location
    size_t elements_max; // longer constants are cut and end with their element count
} rk_text_options;

// Appends the text to `out`. The maximum of `out` bounds the text. Fails only with
// RK_RESOURCE_EXHAUSTED.
RK_NODISCARD rk_err *rk_program_print(const rk_model *model, const rk_text_options *options,
                                      rk_buf *out);

// Appends one node as in the text of an operation.
void rk_node_print(const rk_model *model, uint32_t node, size_t elements_max, rk_buf *out);
