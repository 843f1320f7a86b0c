// The operations that the reader of MLIR bytecode knows.
#pragma once

typedef struct rk_op_spec {
    const char *key;  // as in the file: "vhlo.dot_general_v2"
    const char *name; // as in the model: "stablehlo.dot_general"
    // Its properties, blank-separated. After a name, "?": it may be absent; a digit: the release of
    // its dialect that brought it, counted from 0 (none), so that files of older ones lack it. Then
    // "@operands", "@results": it has segment sizes.
    const char *properties;
} rk_op_spec;

// NULL if there is none.
const rk_op_spec *rk_dialect_find_op(const char *key);
