// Fast 64-bit hash for comparisons inside one process. The hash is not secure, and need not be: the
// results of the comparisons are only shown to people. The values must not change, because stored
// sketches contain some of them (docs/format.md).
#pragma once

#include "base/buf.h"

#define RK_HASH_SEED ((uint64_t)0x9E3779B97F4A7C15u)

static inline uint64_t rk_hash_mix(uint64_t hash, uint64_t value) {
    hash ^= value * 0xFF51AFD7ED558CCDu;
    hash = (hash << 29) | (hash >> 35);
    hash *= 0xC4CEB9FE1A85EC53u;
    return hash ^ (hash >> 32);
}

// Hashes the length first: the same bytes, split into other spans, give another hash.
static inline uint64_t rk_hash_span(uint64_t hash, rk_span span) {
    hash = rk_hash_mix(hash, span.len);
    size_t i = 0;
    for (; i + 8 <= span.len; i += 8)
        hash = rk_hash_mix(hash, rk_load_u64le(span.data + i));
    uint64_t rest = 0;
    for (size_t shift = 0; i < span.len; i++, shift += 8)
        rest |= (uint64_t)span.data[i] << shift;
    return rk_hash_mix(hash, rest);
}

static inline uint64_t rk_hash_text(uint64_t hash, const char *text) {
    return rk_hash_span(hash, rk_span_text(text));
}
