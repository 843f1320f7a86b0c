// The table of known MLIR operations and their properties.
#pragma once

#include "base/span.h"

typedef struct rk_op_spec {
    const char *key;  // in the file: "vhlo.dot_general_v2"
    const char *name; // in the model: "stablehlo.dot_general"
    // Its properties, separated by blanks. "?" after a name: may be absent. A digit after a name:
    // the release that added the property (counted per operation; no digit: 0). Files of older
    // releases lack the property. "@operands", "@results" at the end: has segment sizes.
    const char *properties;
} rk_op_spec;

// Returns the operation with that key, or NULL.
const rk_op_spec *rk_dialect_find_op(const char *key);

// True if `properties` (rk_op_spec) has a property of this name.
bool rk_dialect_has_property(const char *properties, rk_span name);
