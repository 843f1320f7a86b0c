// The canonical fingerprint: equal for two programs that differ only in what no compiler looks at
// (docs/keys.md), different otherwise. Internal to this room.
#pragma once

#include "base/digest.h"
#include "program/model.h"
#include "program/traits.h"

// Linear in the program; no recursion. Valid only for a model without opaque parts
// (`model->opaque_count` 0): the caller falls back to the raw bytes otherwise.
// Fails only with RK_RESOURCE_EXHAUSTED. Takes memory from the model's budget.
RK_NODISCARD rk_err *rk_fingerprint(rk_model *model, rk_digest *out_fingerprint);

// The same of a program, without a model of it in memory. Where that cannot be told, `out_reason`
// (owned, rk_free) says why. `out_has_traits`: `out_traits` are all that it has; else nobody
// looked.
RK_NODISCARD rk_err *rk_fingerprint_program(rk_span code, rk_span format,
                                            rk_digest *out_fingerprint, char **out_reason,
                                            rk_traits *out_traits, bool *out_has_traits);
