// The operations that the reader of MLIR text knows. Internal to mlir/asm/*.c.
#pragma once

#include <stdbool.h>

#include "base/span.h"

typedef struct rk_asm_spec {
    const char *name; // "stablehlo.add"
    // Its text behind the name, where it has a form of its own; NULL: only the generic form. "":
    // read by functions of special.c. Items, separated by blanks:
    //   %  an operand; %* any number of operands; %,* operands, each followed by a comma
    //   {} attributes, if any
    //   KIND:NAME  an attribute (pretty.c)
    //   :KIND      types behind a colon (pretty.c)
    //   others     themselves
    const char *form;
    // Attributes that VHLO has always and StableHLO may leave out: NAME=VALUE (forms.c).
    const char *defaults;
} rk_asm_spec;

// Returns the operation, or NULL.
const rk_asm_spec *rk_asm_find_spec(rk_span name);

// True if VHLO has the operation: its attributes have the form of VHLO.
bool rk_asm_is_vhlo(const rk_asm_spec *spec);
// Returns the attributes of the operation, as in mlir/dialect_ops.h; NULL if they are not known.
const char *rk_asm_spec_properties(const rk_asm_spec *spec);
