// Canonicalizes compile options. The canonical form of any bytes is its own canonical form, with
// the same components.
#include "fuzz.h"

#include "identity/options.h"

static void require_same_components(const rk_components *a, const rk_components *b) {
    rk_digest left, right;
    rk_components_digest(a, &left);
    rk_components_digest(b, &right);
    FUZZ_REQUIRE(rk_digest_equal(&left, &right));
}

// Up to 65,536 fields have a name each, which is a whole path.
enum { NAMES_MAX_BYTES = 8 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    rk_buf once = {0}, twice = {0};
    rk_components parts = {0}, parts_again = {0};
    fuzz_memory_begin(FUZZ_PARSER_LIMIT_BYTES(size) + NAMES_MAX_BYTES, FUZZ_FAIL_ABOVE);
    bool ok = fuzz_ok(rk_options_canonicalize(rk_span_of(data, size), &once, &parts));
    if (ok && fuzz_ok(rk_options_canonicalize(rk_buf_span(&once), &twice, &parts_again))) {
        FUZZ_REQUIRE(rk_span_equal(rk_buf_span(&once), rk_buf_span(&twice)));
        require_same_components(&parts, &parts_again);
    }
    rk_buf_cleanup(&once);
    rk_buf_cleanup(&twice);
    rk_components_cleanup(&parts);
    rk_components_cleanup(&parts_again);
    fuzz_memory_end();
    return 0;
}
