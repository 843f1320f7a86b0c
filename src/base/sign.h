// Ed25519 signatures (RFC 8032), by libsodium.
#pragma once

#include "base/span.h"
#include "base/status.h"

enum { RK_SIGN_SEED_BYTES = 32, RK_SIGN_PUBLIC_BYTES = 32, RK_SIGNATURE_BYTES = 64 };

typedef struct rk_sign_public {
    uint8_t bytes[RK_SIGN_PUBLIC_BYTES];
} rk_sign_public;

// The seed and what follows from it. Wipe it when it is not needed any more: rk_sign_wipe.
typedef struct rk_sign_secret {
    uint8_t bytes[RK_SIGN_SEED_BYTES + RK_SIGN_PUBLIC_BYTES];
} rk_sign_secret;

static inline bool rk_sign_public_equal(const rk_sign_public *a, const rk_sign_public *b) {
    return memcmp(a->bytes, b->bytes, RK_SIGN_PUBLIC_BYTES) == 0;
}

// Thirty-two bytes that nobody can guess. May block until the kernel has enough to draw from, which
// on a machine that is up it has. RK_UNAVAILABLE where the kernel gives none.
RK_NODISCARD rk_err *rk_sign_make_seed(uint8_t out_seed[RK_SIGN_SEED_BYTES]);
void rk_sign_from_seed(const uint8_t seed[RK_SIGN_SEED_BYTES], rk_sign_secret *out_secret,
                       rk_sign_public *out_public);

void rk_sign(const rk_sign_secret *secret, rk_span message,
             uint8_t out_signature[RK_SIGNATURE_BYTES]);

// False for anything but a signature that the public key's owner made over this message. Strict: no
// other bytes pass as the same signature, and keys of small order pass for nothing.
RK_NODISCARD bool rk_sign_verify(const rk_sign_public *key, rk_span message,
                                 const uint8_t signature[RK_SIGNATURE_BYTES]);

// Overwrites memory that held a secret, which a compiler must not leave out.
void rk_sign_wipe(void *memory, size_t len);
