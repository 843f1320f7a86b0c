// Reads programs of all formats, into a model or only to fingerprint them.
#pragma once

#include "base/digest.h"
#include "program/model.h"
#include "program/program.h"
#include "program/traits.h"

// Reads a program into a model. `code` and `format` are as in rk_program_inspect; `code` is
// borrowed until rk_model_free. If the bytes are not a program of that format, `*out_model` is
// NULL, and `*out_reason` (owned, rk_free) is the reason. The only error is RK_RESOURCE_EXHAUSTED.
// The model takes at most 60 bytes per byte of `code`, plus 64 KiB. Recursion is bounded; time is
// linear. `*out_model` is owned: rk_model_free.
RK_NODISCARD rk_err *rk_model_read(rk_span code, rk_span format, unsigned flags,
                                   rk_model **out_model, char **out_reason);

// Computes the same fingerprint as rk_fingerprint, without building a model in memory. If the
// program cannot be read completely, `*out_reason` (owned, rk_free) is the reason, else NULL.
// `*out_has_traits`: `*out_traits` has all traits of the program; else the caller must look for
// them. `*out_role`: the program's role; MLIR only. Fails only with RK_RESOURCE_EXHAUSTED. Internal
// to this module.
RK_NODISCARD rk_err *rk_fingerprint_program(rk_span code, rk_span format,
                                            rk_digest *out_fingerprint, char **out_reason,
                                            rk_traits *out_traits, bool *out_has_traits,
                                            rk_program_role *out_role);
