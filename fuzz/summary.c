// Reads summaries of runs: the input as it is, and as a first line with a matching digest, so that
// the line is parsed. A summary that was read is written and read again, and must stay the same.
#include "fuzz.h"

#include "journal/summary_text.h"

// jansson's own memory is not counted: the maximum size of the file limits it.
enum { MEMORY_FACTOR = 160 };

static void check(rk_span text) {
    RK_AUTO(rk_run_summary) first = {0};
    RK_AUTO(rk_run_summary) second = {0};
    RK_AUTO(rk_buf) written = RK_BUF_INIT(4 * RK_RUN_SUMMARY_MAX_BYTES);
    RK_AUTO(rk_buf) again = RK_BUF_INIT(4 * RK_RUN_SUMMARY_MAX_BYTES);
    if (!rk_summary_text_read(text, "one", &first) ||
        !fuzz_ok(rk_summary_text_write(&first, &written)))
        return;
    FUZZ_REQUIRE(first.was_kept && strcmp(first.run.run, "one") == 0);
    FUZZ_REQUIRE(rk_summary_text_read(rk_buf_span(&written), "one", &second));
    if (!fuzz_ok(rk_summary_text_write(&second, &again)))
        return;
    FUZZ_REQUIRE(written.len == again.len && memcmp(written.data, again.data, again.len) == 0);
    FUZZ_REQUIRE(rk_run_count_lost(&first.run) == rk_run_count_lost(&second.run));
}

static void check_framed(rk_span line) {
    RK_AUTO(rk_buf) text = RK_BUF_INIT(RK_RUN_SUMMARY_MAX_BYTES);
    rk_digest digest;
    rk_buf_add_span(&text, line);
    rk_buf_add_byte(&text, '\n');
    rk_digest_of(rk_buf_span(&text), &digest);
    rk_buf_add_text(&text, "{\"digest\":\"");
    rk_buf_add_hex(&text, rk_digest_span(&digest));
    rk_buf_add_text(&text, "\"}\n");
    if (fuzz_ok(rk_buf_status(&text)))
        check(rk_buf_span(&text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_memory_begin(size * MEMORY_FACTOR + ((size_t)256 << 10), FUZZ_FAIL_ABOVE);
    check(rk_span_of(data, size));
    check_framed(rk_span_of(data, size));
    fuzz_memory_end();
    return 0;
}
