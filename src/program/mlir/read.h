// Reads MLIR bytecode into a model or into the canonical form. Internal to this module.
#pragma once

#include "program/canon/canon.h"

// Reads the payload of a custom call whose attributes are complete. `keeps_programs`: also stores
// the programs in it, for people. `flags`: rk_read_flags.
typedef void rk_payload_fn(rk_model *model, unsigned flags, bool keeps_programs, rk_op *op);

// If the bytes are not bytecode, `*out_good` is false and a reason is appended to `out_reason`.
// `canon`: receives the operations in place of the model; NULL: the model receives them.
// `read_payload`: called for each custom call; NULL: payloads stay unread. The only error is
// RK_RESOURCE_EXHAUSTED.
RK_NODISCARD rk_err *rk_read_bytecode(rk_span code, unsigned flags, rk_model *model,
                                      rk_canon *canon, rk_payload_fn *read_payload, bool *out_good,
                                      rk_buf *out_reason);
