// Ed25519 with the examples of RFC 8032.
#include "base/sign.h"

#include "support/expect.h"
#include <stdio.h>

static void from_hex(const char *hex, uint8_t *out, size_t len) {
    assert_int_equal(strlen(hex), 2 * len);
    for (size_t i = 0; i < len; i++) {
        unsigned byte = 0;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
        out[i] = (uint8_t)byte;
    }
}

// RFC 8032, 7.1: TEST 1 and TEST 3.
static const struct {
    const char *seed, *public_key, *message, *signature;
} examples[] = {
    {"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
     "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
     "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b"
     "4"
     "6bd25bf5f0595bbe24655141438e7a100b"},
    {"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
     "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
     "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc"
     "6"
     "594a7c15e9716ed28dc027beceea1ec40a"},
};

static void signs_as_the_standard_does(void **state) {
    (void)state;
    for (size_t i = 0; i < RK_ARRAY_LEN(examples); i++) {
        uint8_t seed[RK_SIGN_SEED_BYTES], message[2], expected[RK_SIGNATURE_BYTES];
        uint8_t signature[RK_SIGNATURE_BYTES], expected_key[RK_SIGN_PUBLIC_BYTES];
        size_t len = strlen(examples[i].message) / 2;
        from_hex(examples[i].seed, seed, sizeof seed);
        from_hex(examples[i].public_key, expected_key, sizeof expected_key);
        from_hex(examples[i].message, message, len);
        from_hex(examples[i].signature, expected, sizeof expected);
        rk_sign_secret secret;
        rk_sign_public key;
        rk_sign_from_seed(seed, &secret, &key);
        assert_memory_equal(key.bytes, expected_key, sizeof expected_key);
        rk_sign(&secret, rk_span_of(message, len), signature);
        assert_memory_equal(signature, expected, sizeof expected);
        assert_true(rk_sign_verify(&key, rk_span_of(message, len), signature));
        for (size_t bit = 0; bit < 8 * sizeof signature; bit++) {
            signature[bit / 8] ^= (uint8_t)(1u << bit % 8);
            assert_false(rk_sign_verify(&key, rk_span_of(message, len), signature));
            signature[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        assert_false(rk_sign_verify(&key, rk_span_text("another message"), signature));
        key.bytes[0] ^= 1;
        assert_false(rk_sign_verify(&key, rk_span_of(message, len), signature));
    }
}

// The neutral element of the curve as key would accept a signature of zeros for every message.
static void keys_of_small_order_pass_for_nothing(void **state) {
    (void)state;
    rk_sign_public neutral = {.bytes = {1}};
    uint8_t signature[RK_SIGNATURE_BYTES] = {1};
    assert_false(rk_sign_verify(&neutral, rk_span_text("anything"), signature));
    rk_sign_public zeros = {0};
    assert_false(rk_sign_verify(&zeros, rk_span_text("anything"), signature));
}

static void seeds_differ_and_secrets_are_wiped(void **state) {
    (void)state;
    uint8_t first[RK_SIGN_SEED_BYTES], second[RK_SIGN_SEED_BYTES];
    static const uint8_t zeros[RK_SIGN_SEED_BYTES];
    rk_expect_ok(rk_sign_make_seed(first));
    rk_expect_ok(rk_sign_make_seed(second));
    assert_memory_not_equal(first, second, sizeof first);
    rk_sign_wipe(first, sizeof first);
    assert_memory_equal(first, zeros, sizeof first);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signs_as_the_standard_does),
        cmocka_unit_test(keys_of_small_order_pass_for_nothing),
        cmocka_unit_test(seeds_differ_and_secrets_are_wiped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
