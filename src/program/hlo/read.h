// Reads HloModuleProto into a model or into the canonical form. Internal to this module.
#pragma once

#include "program/canon/canon.h"

// If the bytes are not of the format, `*out_good` is false and a reason is appended to
// `out_reason`. `with_config`: the bytes are a HloModuleProtoWithConfig. `canon`: receives the
// operations in place of the model; NULL: the model receives them. `flags`: rk_read_flags. The only
// error is RK_RESOURCE_EXHAUSTED.
RK_NODISCARD rk_err *rk_read_hlo(rk_span code, bool with_config, unsigned flags, rk_model *model,
                                 rk_canon *canon, bool *out_good, rk_buf *out_reason);
