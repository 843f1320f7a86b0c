// Signatures: who signed, and whether header, index and blobs are the signed ones.
#include "fixture.h"

#include <stdlib.h>

#include "support/tempdir.h"

static rk_buf sample(const char *signer) {
    char *directory = rk_test_tempdir();
    char *path = fixture_path(directory, "a.rkb");
    fixture_write(path, signer);
    rk_buf data = fixture_load(path);
    free(path);
    rk_test_tempdir_remove(directory);
    return data;
}

static rk_bundle_signature signature_of(const rk_buf *data) {
    rk_autobundle bundle = NULL;
    rk_expect_ok(fixture_open(rk_buf_span(data), &bundle));
    return rk_bundle_signature_of(bundle);
}

static void none(void **state) {
    (void)state;
    RK_AUTO(rk_buf) data = sample(NULL);
    rk_bundle_signature signature = signature_of(&data);
    assert_false(signature.is_present);
    assert_false(signature.is_valid);
    for (size_t i = 0; i < RK_SIGN_PUBLIC_BYTES; i++)
        assert_int_equal(signature.key.bytes[i], 0);
}

static void valid(void **state) {
    (void)state;
    rk_sign_secret secret;
    rk_sign_public public_key;
    fixture_key("signer", &secret, &public_key);
    RK_AUTO(rk_buf) data = sample("signer");
    rk_bundle_signature signature = signature_of(&data);
    assert_true(signature.is_present);
    assert_true(signature.is_valid);
    assert_true(rk_sign_public_equal(&signature.key, &public_key));
}

// Signing changes nothing before the footer.
static void covers_the_rest(void **state) {
    (void)state;
    RK_AUTO(rk_buf) data = sample("signer");
    RK_AUTO(rk_buf) without = sample(NULL);
    assert_int_equal(data.len, without.len);
    assert_memory_equal(data.data, without.data, data.len - FOOTER + AT_SIGNATURE_TYPE);
}

// The file is sound, and the signature belongs to other bytes.
static void assert_not_valid(const rk_buf *data) {
    rk_bundle_signature signature = signature_of(data);
    assert_true(signature.is_present);
    assert_false(signature.is_valid);
}

static void by_another_key(void **state) {
    (void)state;
    rk_sign_secret secret;
    rk_sign_public public_key;
    fixture_key("another", &secret, &public_key);
    RK_AUTO(rk_buf) data = sample("signer");
    memcpy(data.data + data.len - FOOTER + AT_KEY, public_key.bytes, RK_SIGN_PUBLIC_BYTES);
    fixture_seal(&data);
    assert_not_valid(&data);
    // A good signature by that key: valid, and the caller sees whose it is.
    RK_AUTO(rk_buf) other = sample("another");
    rk_bundle_signature signature = signature_of(&other);
    assert_true(signature.is_valid);
    assert_true(rk_sign_public_equal(&signature.key, &public_key));
}

static void over_a_changed_signature(void **state) {
    (void)state;
    RK_AUTO(rk_buf) data = sample("signer");
    for (size_t i = 0; i < RK_SIGNATURE_BYTES; i++) {
        data.data[data.len - FOOTER + AT_SIGNATURE + i] ^= 1;
        fixture_seal(&data);
        assert_not_valid(&data);
        data.data[data.len - FOOTER + AT_SIGNATURE + i] ^= 1;
    }
}

static void over_a_changed_header(void **state) {
    (void)state;
    RK_AUTO(rk_buf) data = sample("signer");
    data.data[16] ^= 1; // the creation time
    fixture_seal(&data);
    assert_not_valid(&data);
    data.data[16] ^= 1;
    fixture_seal(&data);
    assert_true(signature_of(&data).is_valid);
    uint8_t *version = data.data + PREFACE;
    while (memcmp(version, "0.10.2", 6) != 0)
        version++;
    version[5] = '3';
    fixture_seal(&data);
    assert_not_valid(&data);
}

static void over_a_changed_index(void **state) {
    (void)state;
    RK_AUTO(rk_buf) data = sample("signer");
    uint8_t *name = data.data + rk_load_u64le(data.data + data.len - FOOTER + AT_INDEX_OFFSET);
    while (memcmp(name, "kernel.so", 9) != 0)
        name++;
    name[0] = 'K';
    fixture_seal(&data);
    assert_not_valid(&data);
}

// A changed blob with a changed digest in the index.
static void over_a_changed_blob(void **state) {
    (void)state;
    RK_AUTO(rk_buf) data = sample("signer");
    uint8_t *index = data.data + rk_load_u64le(data.data + data.len - FOOTER + AT_INDEX_OFFSET);
    uint8_t *row = index + INDEX_HEAD + ROW; // "a short text"
    uint8_t *content = data.data + rk_load_u64le(row);
    rk_digest digest;
    assert_memory_equal(content, "a short text", 12);
    content[0] = 'A';
    rk_digest_of(rk_span_of(content, 12), &digest);
    memcpy(row + 32, digest.bytes, sizeof digest.bytes);
    memcpy(row + 64, digest.bytes, sizeof digest.bytes);
    fixture_seal(&data);
    rk_expect_ok(fixture_check(rk_buf_span(&data)));
    assert_not_valid(&data);
}

static void of_another_bundle(void **state) {
    (void)state;
    RK_AUTO(rk_buf) data = sample("signer");
    RK_AUTO(maker) other = maker_begin(FIXTURE_HEADER);
    maker_end(&other);
    uint8_t *footer = other.file.data + other.file.len - FOOTER;
    memcpy(footer + AT_SIGNATURE_TYPE, data.data + data.len - FOOTER + AT_SIGNATURE_TYPE,
           AT_CHECK - AT_SIGNATURE_TYPE);
    fixture_seal(&other.file);
    assert_not_valid(&other.file);
}

static void fields_without_meaning_are_refused(void **state) {
    (void)state;
    RK_AUTO(rk_buf) data = sample(NULL);
    uint8_t *footer = data.data + data.len - FOOTER;
    for (size_t at = AT_SIGNATURE_TYPE; at < AT_CHECK; at++) {
        for (unsigned bit = at == AT_SIGNATURE_TYPE ? 1 : 0; bit < 8; bit++) {
            footer[at] ^= (uint8_t)(1u << bit);
            fixture_seal(&data);
            fixture_expect(fixture_check(rk_buf_span(&data)), RK_DATA_LOSS,
                           "the footer is damaged");
            footer[at] ^= (uint8_t)(1u << bit);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(none),
        cmocka_unit_test(valid),
        cmocka_unit_test(covers_the_rest),
        cmocka_unit_test(by_another_key),
        cmocka_unit_test(over_a_changed_signature),
        cmocka_unit_test(over_a_changed_header),
        cmocka_unit_test(over_a_changed_index),
        cmocka_unit_test(over_a_changed_blob),
        cmocka_unit_test(of_another_bundle),
        cmocka_unit_test(fields_without_meaning_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
