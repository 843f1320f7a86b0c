// Bundles written once from docs/format.md alone (bundle_format.py, which shares no code with
// rekindle). The files are never rewritten: bundles of version 1 must stay readable.
#include "fixture.h"

#include <stdlib.h>

#include "support/tempdir.h"

static rk_buf golden(const char *name, const char *digest_hex) {
    char *path = fixture_path(RK_TEST_GOLDEN_DIR, name);
    rk_buf data = fixture_load(path);
    rk_digest digest;
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_digest_of(rk_buf_span(&data), &digest);
    rk_digest_to_hex(&digest, hex);
    assert_string_equal(hex, digest_hex);
    free(path);
    return data;
}

#define PLAIN "bundle-v1.rkb", "784a239d3f05c552c6804cad166f4aeb5c3d08554f21ae826b2440eb5999ff6a"
#define SIGNED                                                                                     \
    "bundle-v1-signed.rkb", "95268d5bd64dd51ddf151449309eff26afe92e6ec4aa230313bd0b9aee880a34"
#define COMPRESSED                                                                                 \
    "bundle-v1-compressed.rkb", "615c0be0ce46c7f9bebc61c8b149a94f9ce2a557f4518c9125dd9df5aa722763"
#define EMPTY                                                                                      \
    "bundle-v1-empty.rkb", "d36998b6f94700353475b20f2b49bf0d4d8c9d46fa379336df6633e3c83693ce"

static void assert_bytes(const rk_buf *data, size_t at, const char *hex) {
    RK_AUTO(rk_buf) got = RK_BUF_INIT(0);
    assert_true(at + strlen(hex) / 2 <= data->len);
    rk_buf_add_hex(&got, rk_span_of(data->data + at, strlen(hex) / 2));
    assert_string_equal(rk_buf_text(&got), hex);
}

// 64 bytes of BLAKE2b-512 for each of eight texts, as the script makes them; here from the file.
static rk_span noise(const rk_buf *data) {
    return rk_span_of(data->data + rk_load_u64le(data->data + data->len - FOOTER + 16) - 640, 512);
}

static void assert_content(const rk_bundle *bundle, const char *module_name, size_t number,
                           const char *name, rk_span expected) {
    const rk_bundle_module *module = rk_bundle_module_find(bundle, module_name);
    RK_AUTO(rk_buf) got = {0};
    assert_true(rk_span_is(module->items[number].name, name));
    rk_expect_ok(rk_bundle_read_whole(bundle, module, &module->items[number], 1 << 20, &got));
    assert_true(rk_span_equal(rk_buf_span(&got), expected));
}

static void assert_head(const rk_bundle *bundle) {
    const rk_bundle_head *head = rk_bundle_head_of(bundle);
    assert_int_equal(head->created_ns, 1700000000123456789u);
    assert_int_equal(head->made_with.count, 2);
    assert_true(rk_span_is(head->made_with.items[1].name, "plugin"));
    assert_true(rk_span_is(head->made_with.items[1].value, "xla_cpu_pjrt.so 0.0.1"));
    assert_int_equal(head->annotations.count, 1);
    assert_true(rk_span_is(head->annotations.items[0].name, "org.opencontainers.image.title"));
    assert_true(rk_span_is(head->annotations.items[0].value, "gr\xc3\xb6\xc3\x9f"
                                                             "er \"1\""));
}

static void assert_items(const rk_bundle *bundle, rk_span first) {
    rk_span value;
    assert_content(bundle, "pjrt", 0, "objects/ab/one.rkx", first);
    assert_content(bundle, "pjrt", 1, "jobs/train/manifest", rk_span_text("rekindle manifest 2\n"));
    assert_content(bundle, "inductor", 0, "c/kernel.so",
                   rk_span_text("\x7f"
                                "ELF, or so"));
    assert_content(bundle, "inductor", 1, "c/empty", (rk_span){0});
    assert_content(bundle, "inductor", 2, "c/h\xc3\xb6her", first);
    const rk_bundle_module *pjrt = rk_bundle_module_find(bundle, "pjrt");
    const rk_bundle_module *inductor = rk_bundle_module_find(bundle, "inductor");
    assert_true(inductor->items[0].is_executable);
    assert_false(pjrt->items[0].is_executable);
    assert_true(rk_bundle_attribute_find(pjrt->attributes, "jobs", &value));
    assert_true(rk_span_is(value, "1"));
    assert_int_equal(pjrt->items[0].attributes.count, 2);
    assert_true(rk_bundle_attribute_find(pjrt->items[0].attributes, "created", &value));
    assert_true(rk_span_is(value, "1700000000"));
    assert_int_equal(rk_bundle_blob_count(bundle), 4);
}

static void reads_the_plain_one(void **state) {
    (void)state;
    RK_AUTO(rk_buf) data = golden(PLAIN);
    assert_bytes(&data, 0, "89524b420d0a1a0a01000000");
    assert_bytes(&data, 16, "15cd853dfe9c9717");
    assert_bytes(&data, data.len - 8, "89524b420d0a1a0a");
    assert_bytes(&data, data.len - FOOTER, "89524b420d0a1a0a0100000000010000");
    assert_bytes(&data, data.len - FOOTER + AT_SIGNATURE_TYPE, "0000000000000000");
    rk_autobundle bundle = NULL;
    rk_expect_ok(fixture_open(rk_buf_span(&data), &bundle));
    rk_expect_ok(rk_bundle_check(bundle, NULL, NULL));
    assert_head(bundle);
    assert_items(bundle, noise(&data));
    assert_false(rk_bundle_signature_of(bundle).is_present);
}

static void reads_the_signed_one(void **state) {
    (void)state;
    rk_sign_secret secret;
    rk_sign_public public_key;
    fixture_key("rekindle golden signing key", &secret, &public_key);
    RK_AUTO(rk_buf) data = golden(SIGNED);
    rk_autobundle bundle = NULL;
    rk_expect_ok(fixture_open(rk_buf_span(&data), &bundle));
    assert_items(bundle, noise(&data));
    rk_bundle_signature signature = rk_bundle_signature_of(bundle);
    assert_true(signature.is_valid);
    assert_true(rk_sign_public_equal(&signature.key, &public_key));
}

static void reads_the_compressed_one(void **state) {
    (void)state;
    RK_AUTO(rk_buf) data = golden(COMPRESSED);
    RK_AUTO(rk_buf) expected = {0};
    for (int i = 0; i < 5000; i++)
        rk_buf_add_byte(&expected, 'a');
    rk_autobundle bundle = NULL;
    rk_expect_ok(fixture_open(rk_buf_span(&data), &bundle));
    assert_head(bundle);
    assert_content(bundle, "pjrt", 0, "one", rk_buf_span(&expected));
}

static void reads_the_empty_one(void **state) {
    (void)state;
    RK_AUTO(rk_buf) data = golden(EMPTY);
    rk_autobundle bundle = NULL;
    size_t count = 1;
    rk_expect_ok(fixture_open(rk_buf_span(&data), &bundle));
    (void)rk_bundle_modules(bundle, &count);
    assert_int_equal(count, 0);
}

// Writes the content of a bundle again, with all contents stored as they are.
static rk_err *copy(const rk_bundle *bundle, const char *path, const char *signer) {
    rk_autobundle_writer writer = NULL;
    rk_sign_secret secret;
    rk_sign_public public_key;
    size_t count = 0;
    const rk_bundle_module *modules = rk_bundle_modules(bundle, &count);
    RK_TRY(rk_bundle_writer_begin(path, 0600, rk_bundle_head_of(bundle), &writer));
    for (size_t m = 0; m < count; m++) {
        char name[64] = {0};
        memcpy(name, modules[m].name.data, modules[m].name.len);
        rk_bundle_pair pairs[8];
        rk_bundle_pairs attributes = {pairs, 0};
        for (rk_bundle_attributes left = modules[m].attributes;
             rk_bundle_attribute_next(&left, &pairs[attributes.count]);)
            attributes.count++;
        RK_TRY(rk_bundle_writer_begin_module(writer, name, &attributes));
        for (size_t i = 0; i < modules[m].item_count; i++) {
            const rk_bundle_item *from = &modules[m].items[i];
            RK_AUTO(rk_buf) content = {0};
            rk_bundle_new_item item = {.name = from->name,
                                       .attributes.items = pairs,
                                       .is_executable = from->is_executable,
                                       .is_incompressible = true};
            for (rk_bundle_attributes left = from->attributes;
                 rk_bundle_attribute_next(&left, &pairs[item.attributes.count]);)
                item.attributes.count++;
            RK_TRY(rk_bundle_read_whole(bundle, &modules[m], from, 1 << 20, &content));
            RK_TRY(rk_bundle_writer_add(writer, &item, rk_buf_span(&content)));
        }
    }
    if (signer)
        fixture_key(signer, &secret, &public_key);
    return rk_bundle_writer_finish(writer, signer ? &secret : NULL, signer ? &public_key : NULL);
}

static void writer_writes_the_same_bytes(void **state) {
    (void)state;
    static const struct {
        const char *name, *digest, *signer;
    } files[] = {{PLAIN, NULL}, {SIGNED, "rekindle golden signing key"}, {EMPTY, NULL}};
    char *directory = rk_test_tempdir();
    char *path = fixture_path(directory, "a.rkb");
    for (size_t i = 0; i < RK_ARRAY_LEN(files); i++) {
        RK_AUTO(rk_buf) data = golden(files[i].name, files[i].digest);
        rk_autobundle bundle = NULL;
        rk_expect_ok(fixture_open(rk_buf_span(&data), &bundle));
        if (i == 2)
            assert_int_equal(rk_bundle_head_of(bundle)->made_with.count, 0);
        rk_expect_ok(copy(bundle, path, files[i].signer));
        RK_AUTO(rk_buf) written = fixture_load(path);
        assert_int_equal(written.len, data.len);
        assert_memory_equal(written.data, data.data, data.len);
    }
    free(path);
    rk_test_tempdir_remove(directory);
}

// No byte of a golden file can change or be missing.
static void damage_is_found(void **state) {
    (void)state;
    RK_AUTO(rk_buf) data = golden(SIGNED);
    for (size_t at = 0; at < data.len; at++) {
        rk_err *cut = fixture_check(rk_span_of(data.data, at));
        data.data[at] ^= 0x21;
        rk_err *changed = fixture_check(rk_buf_span(&data));
        data.data[at] ^= 0x21;
        assert_true(cut && changed);
        rk_err_free(cut);
        rk_err_free(changed);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_the_plain_one),          cmocka_unit_test(reads_the_signed_one),
        cmocka_unit_test(reads_the_compressed_one),     cmocka_unit_test(reads_the_empty_one),
        cmocka_unit_test(writer_writes_the_same_bytes), cmocka_unit_test(damage_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
