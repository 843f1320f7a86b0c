// What an executable tells of itself, so that two can be compared: only what does not change
// between one compilation and the next of the same program, or between compiling and loading
// (docs/store.md has what is left out, and why).
#pragma once

#include "base/digest.h"
#include "pjrt/abi.h"

typedef enum rk_likeness_part {
    RK_LIKENESS_PROGRAM, // what the compiler made of the program, by its meaning
    RK_LIKENESS_FINGERPRINT,
    RK_LIKENESS_OUTPUTS, // how many
    RK_LIKENESS_TYPES,   // and of each of them
    RK_LIKENESS_DIMENSIONS,
    RK_LIKENESS_MEMORY_KINDS,
    RK_LIKENESS_REPLICAS,
    RK_LIKENESS_PARTITIONS,
    RK_LIKENESS_COUNT,
} rk_likeness_part;
const char *rk_likeness_name(rk_likeness_part part); // "optimized program", …; static

typedef struct rk_likeness {
    uint32_t known; // a bit for each part that the plugin told
    rk_digest parts[RK_LIKENESS_COUNT];
} rk_likeness;

// Asks the plugin; what it does not tell is not known.
void rk_likeness_take(const PJRT_Api *api, PJRT_Executable *executable, rk_likeness *out_likeness);

// A bit for each part that both know and that is not the same.
RK_NODISCARD uint32_t rk_likeness_compare(const rk_likeness *one, const rk_likeness *other);
