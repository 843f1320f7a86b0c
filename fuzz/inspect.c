// Inspects a program as rekindle does in the user's process. Any bytes in any format give a
// fingerprint and a verdict, the same ones twice.
#include "fuzz.h"

#include "program/program.h"

static void inspect(rk_span code, const char *format) {
    rk_program_info first, second;
    fuzz_memory_begin(FUZZ_PARSER_LIMIT_BYTES(code.len), FUZZ_FAIL_ABOVE);
    if (fuzz_ok(rk_program_inspect(code, rk_span_text(format), &first))) {
        if (fuzz_ok(rk_program_inspect(code, rk_span_text(format), &second))) {
            FUZZ_REQUIRE(rk_digest_equal(&first.fingerprint, &second.fingerprint));
            FUZZ_REQUIRE(!first.by_bytes == !second.by_bytes);
            FUZZ_REQUIRE(!first.uncacheable == !second.uncacheable);
            rk_program_info_cleanup(&second);
        }
        rk_program_info_cleanup(&first);
    }
    fuzz_memory_end();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    inspect(rk_span_of(data, size), "mlir");
    inspect(rk_span_of(data, size), "hlo");
    inspect(rk_span_of(data, size), "hlo_with_config");
    return 0;
}
