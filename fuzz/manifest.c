// Decodes manifests of jobs: the input as it is, and as lines in a valid frame, so that the lines
// are parsed. A valid manifest encodes to a manifest that decodes to the same uses, the same latest
// run and as many options.
#include "fuzz.h"

#include "store/manifest.h"

static bool decode(rk_span data, rk_manifest *manifest, bool *out_sound) {
    bool ok = fuzz_ok(rk_manifest_decode(data, manifest, out_sound));
    if (!ok || !*out_sound)
        FUZZ_REQUIRE(manifest->use_count + manifest->options_count + manifest->run_count == 0);
    return ok;
}

static void check(rk_span data) {
    RK_AUTO(rk_manifest) first = {0};
    RK_AUTO(rk_manifest) second = {0};
    RK_AUTO(rk_buf) encoded = RK_BUF_INIT(RK_MANIFEST_MAX_BYTES);
    bool sound = false;
    if (!decode(data, &first, &sound) || !sound)
        return;
    if (!fuzz_ok(rk_manifest_encode(&first, &encoded)) ||
        !decode(rk_buf_span(&encoded), &second, &sound))
        return;
    FUZZ_REQUIRE(sound);
    FUZZ_REQUIRE(first.use_count == second.use_count);
    FUZZ_REQUIRE(first.options_count == second.options_count);
    FUZZ_REQUIRE(rk_manifest_latest_run(&first) == rk_manifest_latest_run(&second));
    for (size_t i = 0; i < first.use_count; i++) {
        FUZZ_REQUIRE(rk_key_equal(&first.uses[i].key, &second.uses[i].key));
        FUZZ_REQUIRE(first.uses[i].wanted_ns == second.uses[i].wanted_ns);
    }
}

static void check_framed(rk_span lines) {
    RK_AUTO(rk_buf) data = RK_BUF_INIT(RK_MANIFEST_MAX_BYTES);
    rk_digest digest;
    rk_buf_add_text(&data, "rekindle manifest 1\n");
    rk_buf_add_span(&data, lines);
    rk_digest_of(rk_buf_span(&data), &digest);
    rk_buf_add_text(&data, "digest ");
    rk_buf_add_hex(&data, rk_digest_span(&digest));
    rk_buf_add_byte(&data, '\n');
    if (fuzz_ok(rk_buf_status(&data)))
        check(rk_buf_span(&data));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_memory_begin(FUZZ_PARSER_LIMIT_BYTES(size), FUZZ_FAIL_ABOVE);
    check(rk_span_of(data, size));
    check_framed(rk_span_of(data, size));
    fuzz_memory_end();
    return 0;
}
