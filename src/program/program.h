// The program that a framework hands to PJRT_Client_Compile: its fingerprint, and whether the
// executable made from it may be kept. Knows only src/base.
//
// The fingerprint is a digest of the format and the bytes as they came. This header is the seam
// where a fingerprint over the meaning of the program takes its place.
#pragma once

#include <stdbool.h>

#include "base/digest.h"

typedef struct rk_program_info {
    rk_digest fingerprint;
    // NULL if the executable may be kept; else why not, in words for a person (for example
    // "host callback (xla_ffi_python_cpu_callback)"). Owned: rk_program_info_cleanup.
    char *uncacheable;
} rk_program_info;

// `code` and `format` are the fields of PJRT_Program ("mlir", "hlo", "hlo_with_config"; anything
// else is treated as opaque bytes). Any bytes at all give an answer; linear time; no recursion.
// Fails only with RK_RESOURCE_EXHAUSTED.
RK_NODISCARD rk_err *rk_program_inspect(rk_span code, rk_span format, rk_program_info *out_info);
void rk_program_info_cleanup(rk_program_info *info);
