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

// What is known of a program without a model in memory. Internal to this module.
typedef struct rk_program_facts {
    rk_digest fingerprint; // the same as of rk_fingerprint; valid if `reason` is NULL
    char *reason;          // why the program cannot be read completely; owned
    char *name;            // of the module; owned; NULL: none, or not known
    rk_traits traits;
    bool has_traits;      // `traits` is complete; else the caller must look for traits
    rk_program_role role; // MLIR only
} rk_program_facts;

// Reads a program without building a model. Fails only with RK_RESOURCE_EXHAUSTED. `*out_facts`:
// rk_program_facts_cleanup.
RK_NODISCARD rk_err *rk_program_facts_read(rk_span code, rk_span format,
                                           rk_program_facts *out_facts);
void rk_program_facts_cleanup(rk_program_facts *facts);
