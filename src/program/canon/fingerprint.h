// Computes the canonical fingerprint: equal for two programs that differ only in parts that no
// compiler uses (docs/keys.md), different otherwise. Internal to this module.
#pragma once

#include "base/digest.h"
#include "program/model.h"

// Fingerprints a model. Linear time; no recursion. Valid only for a model without opaque parts
// (`model->opaque_count` is 0): otherwise the caller uses the raw bytes. Takes memory from the
// model's budget. Fails only with RK_RESOURCE_EXHAUSTED.
RK_NODISCARD rk_err *rk_fingerprint(rk_model *model, rk_digest *out_fingerprint);
