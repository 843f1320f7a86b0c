// Reads MLIR text into a model. Internal to this module.
#pragma once

#include "program/canon/canon.h"
#include "program/mlir/read.h"

// If the text is not understood with certainty, `*out_good` is false and a reason is appended to
// `out_reason`. The model must be empty. `canon`: also receives the program, with its traits; NULL:
// none. `read_payload`: called for each custom call; NULL: payloads stay unread. Time is linear;
// there is no recursion over operations. The only error is RK_RESOURCE_EXHAUSTED.
RK_NODISCARD rk_err *rk_read_mlir_text(rk_span code, unsigned flags, rk_model *model,
                                       rk_canon *canon, rk_payload_fn *read_payload, bool *out_good,
                                       rk_buf *out_reason);
