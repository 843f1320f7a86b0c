#include "bundle/signature_internal.h"

// So that no other signed message looks the same.
#define PURPOSE "rekindle bundle signature 1\n"
enum { PURPOSE_BYTES = sizeof PURPOSE - 1, MESSAGE_BYTES = PURPOSE_BYTES + RK_BUNDLE_SIGNED_BYTES };

static void make_message(const rk_bundle_footer *footer, uint8_t out[MESSAGE_BYTES]) {
    uint8_t encoded[RK_BUNDLE_FOOTER_BYTES];
    rk_bundle_footer_write(footer, encoded);
    memcpy(out, PURPOSE, PURPOSE_BYTES);
    memcpy(out + PURPOSE_BYTES, encoded, RK_BUNDLE_SIGNED_BYTES);
}

void rk_bundle_footer_sign(const rk_sign_secret *secret, const rk_sign_public *public_key,
                           rk_bundle_footer *footer) {
    footer->signature_type = RK_BUNDLE_SIGNATURE_ED25519;
    footer->key = *public_key;
    uint8_t message[MESSAGE_BYTES];
    make_message(footer, message);
    rk_sign(secret, rk_span_of(message, sizeof message), footer->signature);
}

bool rk_bundle_footer_verify(const rk_bundle_footer *footer) {
    uint8_t message[MESSAGE_BYTES];
    make_message(footer, message);
    return footer->signature_type == RK_BUNDLE_SIGNATURE_ED25519 &&
           rk_sign_verify(&footer->key, rk_span_of(message, sizeof message), footer->signature);
}
