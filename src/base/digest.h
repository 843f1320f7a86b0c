// BLAKE2b-256 (RFC 7693) with libsodium: the hash for all keys, digests and fingerprints.
#pragma once

#include "base/span.h"
#include "base/status.h"

enum { RK_DIGEST_BYTES = 32, RK_DIGEST_HEX_CHARS = 64 };

typedef struct rk_digest {
    uint8_t bytes[RK_DIGEST_BYTES];
} rk_digest;

// An unfinished hash. A plain value that needs no cleanup.
typedef struct rk_hasher {
    _Alignas(64) uint8_t opaque[384];
} rk_hasher;

void rk_hasher_init(rk_hasher *hasher);
void rk_hasher_add(rk_hasher *hasher, const void *data, size_t len);
void rk_hasher_add_u64(rk_hasher *hasher, uint64_t value); // eight bytes, little endian
// Adds the length, then the bytes, so that ("ab","c") and ("a","bc") give different digests.
void rk_hasher_add_field(rk_hasher *hasher, rk_span field);
void rk_hasher_finish(rk_hasher *hasher, rk_digest *out_digest);

void rk_digest_of(rk_span data, rk_digest *out_digest);
static inline bool rk_digest_equal(const rk_digest *a, const rk_digest *b) {
    return memcmp(a->bytes, b->bytes, RK_DIGEST_BYTES) == 0;
}
static inline rk_span rk_digest_span(const rk_digest *digest) {
    return rk_span_of(digest->bytes, RK_DIGEST_BYTES);
}

// Writes 64 lower-case hex digits and a NUL.
void rk_digest_to_hex(const rk_digest *digest, char out_hex[RK_DIGEST_HEX_CHARS + 1]);
// False unless `hex` is exactly 64 lower-case hex digits.
RK_NODISCARD bool rk_digest_from_hex(rk_span hex, rk_digest *out_digest);
