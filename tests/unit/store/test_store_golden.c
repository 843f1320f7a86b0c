// Entries written once from docs/format.md alone, by a program that shares no code with this one.
// The files are never rewritten: entries of version 1 must stay readable.
#include "sample.h"

#include <stdio.h>

#include "base/fs.h"

static rk_buf golden(const char *name, const char *digest_hex) {
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", RK_TEST_GOLDEN_DIR, name);
    rk_buf data = RK_BUF_INIT(0);
    sample_ok(rk_fs_read(path, 1 << 20, &data));
    rk_digest digest;
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_digest_of(rk_buf_span(&data), &digest);
    rk_digest_to_hex(&digest, hex);
    assert_string_equal(hex, digest_hex);
    return data;
}

static void assert_bytes(const rk_buf *data, size_t at, const char *hex) {
    RK_AUTO(rk_buf) got = RK_BUF_INIT(0);
    assert_true(at + strlen(hex) / 2 <= data->len);
    rk_buf_add_hex(&got, rk_span_of(data->data + at, strlen(hex) / 2));
    assert_string_equal(rk_buf_text(&got), hex);
}

static void assert_text(rk_span got, const char *expected) {
    assert_true(rk_span_is(got, expected));
}

static void assert_digest(const rk_digest *digest, const char *of) {
    char text[64];
    int len = snprintf(text, sizeof text, "rekindle golden %s", of);
    rk_digest expected;
    rk_digest_of(rk_span_of(text, (size_t)len), &expected);
    assert_true(rk_digest_equal(digest, &expected));
}

static void assert_common_fields(const rk_entry *entry) {
    assert_digest(&entry->key.digest, "key");
    assert_digest(&entry->key.program, "program");
    assert_digest(&entry->key.options, "options");
    assert_digest(&entry->key.environment, "environment");
    assert_text(entry->components,
                "[{\"kind\":\"option\",\"name\":\"num_partitions\",\"value\":\"4\"},"
                "{\"kind\":\"flag\",\"name\":\"--xla_cpu_enable_fast_math\",\"value\":\"false\"}]");
    assert_text(entry->metadata, "{\"name\":\"jit_train_step\",\"platform\":\"cpu\"}");
}

static void assert_head_bytes(const rk_buf *data) {
    assert_bytes(data, 0, "89524b580d0a1a0a");
    assert_bytes(data, 8, "01000000");
    assert_bytes(data, 12, "00010000");
    assert_bytes(data, 40, "38160743cf78ccdeb834fae291aec459efb4177b674387c8f7eab34278ed043d");
    assert_bytes(data, 168, "7b000000000000007b00000000000000");
    assert_bytes(data, 184, "2a000000000000002a00000000000000");
    assert_bytes(data, 236, "0000000000000000000000000000000000000000");
}

static void executable(void **state) {
    (void)state;
    RK_AUTO(rk_buf)
    data =
        golden("entry-v1.rkx", "12eaf8e9ad5d2557ba28e9c005ec0742edc0e4ade74e5b2030f1f07703d6ed60");
    assert_head_bytes(&data);
    assert_bytes(&data, 16, "0100000001000000");
    assert_bytes(&data, 24, "15cd853dfe9c971701f9029500000000");
    assert_bytes(&data, 200, "ab00000000000000b603000000000000");
    assert_bytes(&data, 216, "00000000000000000000000000000000");
    assert_bytes(&data, 232, "00000100");
    assert_bytes(&data, data.len - 32,
                 "cbf2985e7ddc01d8b55098ef07e06721c7528a402db2e42c4484a2c737a45c03");

    RK_AUTO(rk_entry_view) view = {0};
    rk_entry_fault fault = RK_ENTRY_DAMAGED;
    sample_ok(rk_entry_decode(rk_buf_span(&data), NULL, RK_WANT_PAYLOAD, &view, &fault));
    assert_int_equal(fault, RK_ENTRY_OK);
    assert_int_equal(view.entry.kind, RK_ENTRY_EXECUTABLE);
    assert_int_equal(view.entry.flags, RK_ENTRY_FLAG_AOT);
    assert_int_equal(view.entry.created_ns, 1700000000123456789u);
    assert_int_equal(view.entry.compile_ns, 2500000001u);
    assert_common_fields(&view.entry);
    RK_AUTO(rk_buf) payload = RK_BUF_INIT(0);
    for (int i = 0; i < 64; i++)
        rk_buf_add_format(&payload, "instruction %d\n", i);
    assert_text(view.entry.payload, rk_buf_text(&payload));
    assert_int_equal(view.entry.options.len, 0);
    assert_int_equal(view.stored_bytes, 624);
    assert_int_equal(view.payload_raw_bytes, 950);
}

static void program(void **state) {
    (void)state;
    RK_AUTO(rk_buf)
    data = golden("program-v1.rkp",
                  "927d2c689e0528e5b9281751d091623b45f45c9c1cf26208e7afc3a4d75e7da3");
    assert_head_bytes(&data);
    assert_bytes(&data, 16, "0200000000000000");
    assert_bytes(&data, 24, "b1680871fe9c971702f9029500000000");
    assert_bytes(&data, 200, "2c000000000000002c00000000000000");
    assert_bytes(&data, 216, "1200000000000000c800000000000000");
    assert_bytes(&data, 232, "00000001");
    assert_bytes(&data, data.len - 32,
                 "5b149669620eea6c77b4285e5bb7fa5467f64f8514a86e1d1206d4e87acf6206");

    RK_AUTO(rk_entry_view) view = {0};
    rk_entry_fault fault = RK_ENTRY_DAMAGED;
    sample_ok(rk_entry_decode(rk_buf_span(&data), NULL, RK_WANT_PAYLOAD, &view, &fault));
    assert_int_equal(fault, RK_ENTRY_OK);
    assert_int_equal(view.entry.kind, RK_ENTRY_PROGRAM);
    assert_int_equal(view.entry.flags, 0);
    assert_int_equal(view.entry.created_ns, 1700000000987654321u);
    assert_int_equal(view.entry.compile_ns, 2500000002u);
    assert_common_fields(&view.entry);
    uint8_t payload[44] = {'M', 'L', 0xef, 'R'};
    for (unsigned i = 0; i < 40; i++)
        payload[4 + i] = (uint8_t)i;
    assert_true(rk_span_equal(view.entry.payload, rk_span_of(payload, sizeof payload)));
    assert_int_equal(view.entry.options.len, 200);
    for (size_t i = 0; i < 200; i++)
        assert_int_equal(view.entry.options.data[i], i % 2 ? 1 : 8);
}

// The encoder still writes that format. Only zstd's choice of compression may differ.
static void encoder_writes_the_same_head(void **state) {
    (void)state;
    RK_AUTO(rk_buf)
    data = golden("program-v1.rkp",
                  "927d2c689e0528e5b9281751d091623b45f45c9c1cf26208e7afc3a4d75e7da3");
    RK_AUTO(rk_entry_view) view = {0};
    rk_entry_fault fault = RK_ENTRY_DAMAGED;
    sample_ok(rk_entry_decode(rk_buf_span(&data), NULL, RK_WANT_PAYLOAD, &view, &fault));
    rk_entry entry = view.entry;
    // Too short to be compressed.
    entry.components = rk_span_of(entry.components.data, 20);
    entry.payload = rk_span_of(entry.payload.data, 20);
    entry.options = (rk_span){0};
    RK_AUTO(rk_buf) again = RK_BUF_INIT(0);
    sample_ok(rk_entry_encode(&entry, &again));
    assert_memory_equal(again.data, data.data, 168);
    assert_bytes(&again, 168, "14000000000000001400000000000000");
    assert_memory_equal(again.data + 184, data.data + 184, 16);
    assert_bytes(&again, 200, "14000000000000001400000000000000");
    assert_bytes(&again, 216, "00000000000000000000000000000000");
    assert_bytes(&again, 232, "000000000000000000000000000000000000000000000000");
    assert_memory_equal(again.data + 256, data.data + 256, 20);
    assert_memory_equal(again.data + 256 + 20, data.data + 256 + 123, 42 + 20);
    assert_int_equal(again.len, 256 + 20 + 42 + 20 + 32);
}

// The seed is BLAKE2b-256 of "rekindle golden signing key".
static const char signed_digest[] =
    "abeaf4be2a1eb50bee55b9ef8a133942e8dac48a7b1a54a92b01596302e5bd6d";
static const char signer_hex[] = "192348923185b9bc0cdf50c7a58df806b80cab989f6db10f1568ed7b7187a94e";

static void golden_key(rk_sign_secret *out_secret, rk_sign_public *out_public) {
    rk_digest seed;
    rk_digest_of(rk_span_text("rekindle golden signing key"), &seed);
    rk_sign_from_seed(seed.bytes, out_secret, out_public);
}

static void signed_entries(void **state) {
    (void)state;
    static const struct {
        const char *name, *digest;
        rk_entry_kind kind;
    } files[] = {
        {"entry-v1-signed.rkx", signed_digest, RK_ENTRY_EXECUTABLE},
        {"program-v1-signed.rkp",
         "fee941f6cc049a7c2e8d0af9f3187f6863deea57f1113272d8c552726abd966d", RK_ENTRY_PROGRAM},
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(files); i++) {
        RK_AUTO(rk_buf) data = golden(files[i].name, files[i].digest);
        assert_bytes(&data, 236, "010000008000000000000000");
        assert_bytes(&data, data.len - 128, signer_hex);
        RK_AUTO(rk_entry_view) view = {0};
        rk_entry_fault fault = RK_ENTRY_DAMAGED;
        sample_ok(rk_entry_decode(rk_buf_span(&data), NULL, RK_WANT_PAYLOAD, &view, &fault));
        assert_int_equal(fault, RK_ENTRY_OK);
        assert_int_equal(view.entry.kind, files[i].kind);
        assert_common_fields(&view.entry);
        assert_true(view.is_signed);
        assert_memory_equal(view.signer.bytes, data.data + data.len - 128, 32);
        char id[RK_KEY_ID_HEX_CHARS + 1];
        rk_key_id(&view.signer, id);
        assert_string_equal(id, "3f37a89e74834f2b");
    }
}

// Ed25519 gives one signature per key and message, so signing writes the same file.
static void signing_writes_the_same_bytes(void **state) {
    (void)state;
    rk_sign_secret secret;
    rk_sign_public public_key;
    golden_key(&secret, &public_key);
    RK_AUTO(rk_buf)
    data =
        golden("entry-v1.rkx", "12eaf8e9ad5d2557ba28e9c005ec0742edc0e4ade74e5b2030f1f07703d6ed60");
    RK_AUTO(rk_buf) expected = golden("entry-v1-signed.rkx", signed_digest);
    for (int round = 0; round < 2; round++) { // the second time replaces a signature
        sample_ok(rk_entry_sign(&secret, &public_key, &data));
        assert_int_equal(data.len, expected.len);
        assert_memory_equal(data.data, expected.data, data.len);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(executable),
        cmocka_unit_test(program),
        cmocka_unit_test(encoder_writes_the_same_head),
        cmocka_unit_test(signed_entries),
        cmocka_unit_test(signing_writes_the_same_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
