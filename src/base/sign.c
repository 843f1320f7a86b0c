#include "base/sign.h"

#include <errno.h>

#include <sodium.h>

#include "base/older_libc.h"

_Static_assert(sizeof(rk_sign_secret) == crypto_sign_SECRETKEYBYTES &&
                   RK_SIGN_PUBLIC_BYTES == crypto_sign_PUBLICKEYBYTES &&
                   RK_SIGN_SEED_BYTES == crypto_sign_SEEDBYTES &&
                   RK_SIGNATURE_BYTES == crypto_sign_BYTES,
               "the sizes of Ed25519");

rk_err *rk_sign_make_seed(uint8_t out_seed[RK_SIGN_SEED_BYTES]) {
    // libsodium's generator would end the process if the kernel provides no random bytes.
    ssize_t got;
    do
        got = rk_getrandom(out_seed, RK_SIGN_SEED_BYTES, 0);
    while (got < 0 && errno == EINTR);
    if (got != RK_SIGN_SEED_BYTES)
        return rk_error(RK_UNAVAILABLE, "the kernel provides no random bytes for a key");
    return NULL;
}

void rk_sign_from_seed(const uint8_t seed[RK_SIGN_SEED_BYTES], rk_sign_secret *out_secret,
                       rk_sign_public *out_public) {
    (void)crypto_sign_seed_keypair(out_public->bytes, out_secret->bytes, seed);
}

void rk_sign(const rk_sign_secret *secret, rk_span message,
             uint8_t out_signature[RK_SIGNATURE_BYTES]) {
    (void)crypto_sign_detached(out_signature, NULL, message.data, message.len, secret->bytes);
}

bool rk_sign_verify(const rk_sign_public *key, rk_span message,
                    const uint8_t signature[RK_SIGNATURE_BYTES]) {
    return crypto_sign_verify_detached(signature, message.data, message.len, key->bytes) == 0;
}

void rk_sign_wipe(void *memory, size_t len) {
    sodium_memzero(memory, len);
}
