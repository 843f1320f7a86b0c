// Executable digests: digests of what a plugin reports about an executable, to compare two
// executables. Covers only properties that do not change between two compilations of the same
// program, or between compiling and loading. docs/store.md lists what is left out, and why.
#pragma once

#include "base/digest.h"
#include "pjrt/abi.h"

typedef enum rk_executable_digest_part {
    RK_EXECUTABLE_DIGEST_PROGRAM, // the optimized program, by its meaning
    RK_EXECUTABLE_DIGEST_FINGERPRINT,
    RK_EXECUTABLE_DIGEST_OUTPUTS, // their number
    RK_EXECUTABLE_DIGEST_TYPES,   // of each output, like the next two
    RK_EXECUTABLE_DIGEST_DIMENSIONS,
    RK_EXECUTABLE_DIGEST_MEMORY_KINDS,
    RK_EXECUTABLE_DIGEST_REPLICAS,
    RK_EXECUTABLE_DIGEST_PARTITIONS,
    RK_EXECUTABLE_DIGEST_COUNT,
} rk_executable_digest_part;
const char *
rk_executable_digest_name(rk_executable_digest_part part); // "optimized program", …; static

typedef struct rk_executable_digest {
    uint32_t known; // a bit for each part that the plugin reports
    rk_digest parts[RK_EXECUTABLE_DIGEST_COUNT];
} rk_executable_digest;

// Queries the plugin. Parts that the plugin does not report stay unknown.
void rk_executable_digest_take(const PJRT_Api *api, PJRT_Executable *executable,
                               rk_executable_digest *out_digest);

// Returns a bit for each part that both digests have and that differs.
RK_NODISCARD uint32_t rk_executable_digest_compare(const rk_executable_digest *one,
                                                   const rk_executable_digest *other);
