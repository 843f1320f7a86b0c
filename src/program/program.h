// The program that a framework hands to PJRT_Client_Compile: its fingerprint, and whether the
// executable made from it may be kept. Knows only src/base.
#pragma once

#include <stdbool.h>

#include "base/digest.h"

typedef struct rk_program_info {
    // Of the program's meaning (docs/keys.md): equal for programs that differ only in locations,
    // names, numbering and encoding.
    rk_digest fingerprint;
    // NULL if the fingerprint is that; else why it is of the raw bytes instead, which can only miss
    // where the other would hit. Owned: rk_program_info_cleanup.
    char *by_bytes;
    // NULL if the executable may be kept; else why not, in words for a person (for example
    // "host callback (xla_ffi_python_cpu_callback)"). Owned: rk_program_info_cleanup.
    char *uncacheable;
} rk_program_info;

// `code` and `format` are the fields of PJRT_Program ("mlir", "hlo", "hlo_with_config"; anything
// else is treated as opaque bytes). Any bytes at all give an answer; linear time.
// Fails only with RK_RESOURCE_EXHAUSTED.
RK_NODISCARD rk_err *rk_program_inspect(rk_span code, rk_span format, rk_program_info *out_info);
void rk_program_info_cleanup(rk_program_info *info);

// Whether a custom call with that target, or an operation with an attribute of that name, cannot be
// kept: what `uncacheable` names, less addresses.
bool rk_program_is_process_reference(rk_span name);
