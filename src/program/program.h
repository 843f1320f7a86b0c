// Inspects the program that a framework passes to PJRT_Client_Compile: computes its fingerprint and
// finds out whether its executable may be kept. Uses only src/base.
#pragma once

#include <stdbool.h>

#include "base/digest.h"

// The role that a program may have in a job, for step detection. All zero: not known.
typedef struct rk_program_role {
    uint32_t operations;
    uint32_t inputs, results;
    // Results that have the type of an input, each of a different input. A training step returns
    // the parameters that it got; an evaluation does not. Unsigned integers do not count: these are
    // random keys.
    uint32_t carried;
    uint32_t carried_types; // hash of the set of their types
    uint64_t carried_set;   // one bit for each of their types, by its hash
    uint64_t carried_bytes; // their size; an estimate, with four bytes per element
    // JAX made the program of a function that a transformation such as jax.grad called, not the
    // user: the forward and the backward pass, which have the name of the function.
    bool is_transformed;
} rk_program_role;

typedef struct rk_program_info {
    // Digest of the program's meaning (docs/keys.md): equal for programs that differ only in
    // locations, names, numbering and encoding.
    rk_digest fingerprint;
    // NULL if `fingerprint` covers the meaning. Else the reason why it covers the raw bytes
    // instead. Two programs of the same meaning may then have different fingerprints, but programs
    // of different meaning never have the same one. Owned: rk_program_info_cleanup.
    char *by_bytes;
    // NULL if the executable may be kept. Else the reason against it, as text for people (for
    // example "host callback (xla_ffi_python_cpu_callback)"). Owned: rk_program_info_cleanup.
    char *uncacheable;
    char *name; // of the module ("jit_step"); NULL: none, or not known. Owned as above.
    rk_program_role role;
} rk_program_info;

// `code` and `format` are the fields of PJRT_Program ("mlir", "hlo", "hlo_with_config"; programs of
// other formats are opaque bytes). Accepts any bytes. Takes linear time. Fails only with
// RK_RESOURCE_EXHAUSTED; then `*out_info` owns nothing.
RK_NODISCARD rk_err *rk_program_inspect(rk_span code, rk_span format, rk_program_info *out_info);
void rk_program_info_cleanup(rk_program_info *info);

// True if a custom call with target `name`, or an operation with an attribute `name`, refers to
// this process, so that the executable cannot be kept. Covers the reasons in `uncacheable` except
// addresses.
bool rk_program_is_process_reference(rk_span name);
