// Ed25519 signatures (RFC 8032) with libsodium.
#pragma once

#include "base/span.h"
#include "base/status.h"

enum { RK_SIGN_SEED_BYTES = 32, RK_SIGN_PUBLIC_BYTES = 32, RK_SIGNATURE_BYTES = 64 };

typedef struct rk_sign_public {
    uint8_t bytes[RK_SIGN_PUBLIC_BYTES];
} rk_sign_public;

// The seed and the public key. Erase the struct after use with rk_sign_wipe.
typedef struct rk_sign_secret {
    uint8_t bytes[RK_SIGN_SEED_BYTES + RK_SIGN_PUBLIC_BYTES];
} rk_sign_secret;

static inline bool rk_sign_public_equal(const rk_sign_public *a, const rk_sign_public *b) {
    return memcmp(a->bytes, b->bytes, RK_SIGN_PUBLIC_BYTES) == 0;
}

// Writes 32 random bytes from the kernel. May block shortly after boot, until the kernel's random
// generator is ready. RK_UNAVAILABLE if the kernel provides no random bytes.
RK_NODISCARD rk_err *rk_sign_make_seed(uint8_t out_seed[RK_SIGN_SEED_BYTES]);
void rk_sign_from_seed(const uint8_t seed[RK_SIGN_SEED_BYTES], rk_sign_secret *out_secret,
                       rk_sign_public *out_public);

void rk_sign(const rk_sign_secret *secret, rk_span message,
             uint8_t out_signature[RK_SIGNATURE_BYTES]);

// True only if the owner of the public key made this signature over this message. Strict: a changed
// encoding of a valid signature is invalid, and so is every signature by a key of small order.
RK_NODISCARD bool rk_sign_verify(const rk_sign_public *key, rk_span message,
                                 const uint8_t signature[RK_SIGNATURE_BYTES]);

// Overwrites memory that held a secret. The compiler cannot optimize this away.
void rk_sign_wipe(void *memory, size_t len);
