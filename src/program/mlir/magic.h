// Recognizes MLIR bytecode by its first bytes. Internal to this module.
// Source: llvm-project mlir/docs/BytecodeFormat.md
#pragma once

#include "base/span.h"

enum { RK_MLIR_MAGIC_BYTES = 4 };

// True if the bytes begin as MLIR bytecode does.
static inline bool rk_mlir_is_bytecode(rk_span code) {
    return code.len >= RK_MLIR_MAGIC_BYTES &&
           memcmp(code.data, "ML\xEFR", RK_MLIR_MAGIC_BYTES) == 0;
}
