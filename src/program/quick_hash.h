// A fast hash for lookups. Equal hashes do not prove equality: the caller compares the bytes.
// Internal to this module.
#pragma once

#include <string.h>

#include "base/span.h"

// Returns the hash of the bytes. The same `seed` gives the same hash in every process.
static inline uint64_t rk_quick_hash(uint64_t seed, rk_span bytes) {
    const uint64_t odd = 0x9E3779B97F4A7C15u;
    uint64_t sum = seed * odd ^ bytes.len, word = 0;
    size_t at = 0;
    for (; at + sizeof word <= bytes.len; at += sizeof word) {
        memcpy(&word, bytes.data + at, sizeof word);
        sum = (sum ^ (sum >> 29) ^ word) * odd;
    }
    for (word = 0; at < bytes.len; at++)
        word = word << 8 | bytes.data[at];
    sum = (sum ^ (sum >> 29) ^ word) * odd;
    return sum ^ (sum >> 32);
}
