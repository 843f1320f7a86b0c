#include "base/digest.h"

#include <pthread.h>

#include <sodium.h>

_Static_assert(sizeof(crypto_generichash_state) <= sizeof(rk_hasher), "rk_hasher is too small");

// sodium_init selects libsodium's fastest implementation; without this call libsodium uses the
// portable one. sodium_init fails without a random source, which a hash does not need.
static void pick_implementation(void) {
    int already = sodium_init();
    (void)already;
}

static crypto_generichash_state *state_of(rk_hasher *hasher) {
    return (crypto_generichash_state *)(void *)hasher->opaque;
}

void rk_hasher_init(rk_hasher *hasher) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, pick_implementation);
    (void)crypto_generichash_init(state_of(hasher), NULL, 0, RK_DIGEST_BYTES);
}

void rk_hasher_add(rk_hasher *hasher, const void *data, size_t len) {
    if (len)
        (void)crypto_generichash_update(state_of(hasher), data, len);
}

void rk_hasher_add_u64(rk_hasher *hasher, uint64_t value) {
    uint8_t bytes[8];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    rk_hasher_add(hasher, bytes, sizeof bytes);
}

void rk_hasher_add_field(rk_hasher *hasher, rk_span field) {
    rk_hasher_add_u64(hasher, field.len);
    rk_hasher_add(hasher, field.data, field.len);
}

void rk_hasher_finish(rk_hasher *hasher, rk_digest *out_digest) {
    (void)crypto_generichash_final(state_of(hasher), out_digest->bytes, RK_DIGEST_BYTES);
}

void rk_digest_of(rk_span data, rk_digest *out_digest) {
    rk_hasher hasher;
    rk_hasher_init(&hasher);
    rk_hasher_add(&hasher, data.data, data.len);
    rk_hasher_finish(&hasher, out_digest);
}

void rk_digest_to_hex(const rk_digest *digest, char out_hex[RK_DIGEST_HEX_CHARS + 1]) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < RK_DIGEST_BYTES; i++) {
        out_hex[2 * i] = digits[digest->bytes[i] >> 4];
        out_hex[2 * i + 1] = digits[digest->bytes[i] & 15];
    }
    out_hex[RK_DIGEST_HEX_CHARS] = '\0';
}

static int hex_value(uint8_t c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

bool rk_digest_from_hex(rk_span hex, rk_digest *out_digest) {
    if (hex.len != RK_DIGEST_HEX_CHARS)
        return false;
    for (size_t i = 0; i < RK_DIGEST_BYTES; i++) {
        int high = hex_value(hex.data[2 * i]);
        int low = hex_value(hex.data[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out_digest->bytes[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}
