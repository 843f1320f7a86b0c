// The canonical fingerprint: equal for two programs that differ only in what no compiler looks at
// (docs/keys.md), different otherwise. Internal to this room.
#pragma once

#include "base/digest.h"
#include "program/model.h"

// Linear in the program; no recursion. Valid only for a model without opaque parts
// (`model->opaque_count` 0): the caller falls back to the raw bytes otherwise.
// Fails only with RK_RESOURCE_EXHAUSTED. Takes memory from the model's budget.
RK_NODISCARD rk_err *rk_fingerprint(rk_model *model, rk_digest *out_fingerprint);
