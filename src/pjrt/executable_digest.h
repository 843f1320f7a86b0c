// What an executable tells of itself, so that two can be compared: only what does not change
// between one compilation and the next of the same program, or between compiling and loading
// (docs/store.md has what is left out, and why).
#pragma once

#include "base/digest.h"
#include "pjrt/abi.h"

typedef enum rk_executable_digest_part {
    RK_EXECUTABLE_DIGEST_PROGRAM, // what the compiler made of the program, by its meaning
    RK_EXECUTABLE_DIGEST_FINGERPRINT,
    RK_EXECUTABLE_DIGEST_OUTPUTS, // how many
    RK_EXECUTABLE_DIGEST_TYPES,   // and of each of them
    RK_EXECUTABLE_DIGEST_DIMENSIONS,
    RK_EXECUTABLE_DIGEST_MEMORY_KINDS,
    RK_EXECUTABLE_DIGEST_REPLICAS,
    RK_EXECUTABLE_DIGEST_PARTITIONS,
    RK_EXECUTABLE_DIGEST_COUNT,
} rk_executable_digest_part;
const char *
rk_executable_digest_name(rk_executable_digest_part part); // "optimized program", …; static

typedef struct rk_executable_digest {
    uint32_t known; // a bit for each part that the plugin told
    rk_digest parts[RK_EXECUTABLE_DIGEST_COUNT];
} rk_executable_digest;

// Asks the plugin; what it does not tell is not known.
void rk_executable_digest_take(const PJRT_Api *api, PJRT_Executable *executable,
                               rk_executable_digest *out_likeness);

// A bit for each part that both know and that is not the same.
RK_NODISCARD uint32_t rk_executable_digest_compare(const rk_executable_digest *one,
                                                   const rk_executable_digest *other);
