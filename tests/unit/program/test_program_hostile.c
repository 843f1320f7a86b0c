// Bytes that no framework sends: every prefix of real programs, random damage, wrong lengths. The
// reader must return any result without a read out of bounds.
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "fixture.h"

enum { ROUNDS = 400 }; // rounds of damage per program and format

static const char *const FORMATS[] = {"mlir", "hlo", "hlo_with_config"};

// Uses a block of exactly this size, so that the sanitizer detects reads outside of it.
static void inspect(rk_span code, const char *format) {
    rk_program_info info;
    uint8_t *copy = malloc(code.len ? code.len : 1);
    assert_non_null(copy);
    if (code.len)
        memcpy(copy, code.data, code.len);
    assert_null(rk_program_inspect(rk_span_of(copy, code.len), rk_span_text(format), &info));
    rk_program_info_cleanup(&info);
    free(copy);
}

static uint64_t next_random(uint64_t *state) { // xorshift64
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void damage(rk_buf *data, uint64_t *random) {
    static const uint8_t NASTY[] = {0x00, 0x01, 0x7F, 0x80, 0xFE, 0xFF};
    for (uint64_t count = 1 + next_random(random) % 4; count; count--) {
        size_t at = (size_t)(next_random(random) % data->len);
        uint64_t how = next_random(random);
        data->data[at] = how & 1 ? NASTY[how / 2 % sizeof NASTY] : (uint8_t)(how >> 8);
    }
}

static void with_each_program(void (*visit)(rk_buf *data, uint64_t *random)) {
    uint64_t random = 88172645463325252u;
    size_t seen = 0;
    DIR *directory = opendir(RK_TEST_DATA);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));) {
        const char *suffix = strrchr(entry->d_name, '.');
        if (!suffix || (strcmp(suffix, ".mlir") != 0 && strcmp(suffix, ".hlo") != 0))
            continue;
        rk_buf data = rk_test_program(entry->d_name);
        visit(&data, &random);
        rk_buf_cleanup(&data);
        seen++;
    }
    (void)closedir(directory);
    assert_true(seen > 30);
}

static void cut(rk_buf *data, uint64_t *random) {
    (void)random;
    for (size_t len = 0; len <= data->len; len++)
        for (size_t i = 0; i < RK_ARRAY_LEN(FORMATS); i++)
            inspect(rk_span_of(data->data, len), FORMATS[i]);
}

static void spoil(rk_buf *data, uint64_t *random) {
    RK_AUTO(rk_buf) spoiled = {0};
    for (size_t round = 0; round < ROUNDS; round++) {
        rk_buf_clear(&spoiled);
        rk_buf_add_span(&spoiled, rk_buf_span(data));
        damage(&spoiled, random);
        for (size_t i = 0; i < RK_ARRAY_LEN(FORMATS); i++)
            inspect(rk_buf_span(&spoiled), FORMATS[i]);
    }
}

static void cut_programs(void **state) {
    (void)state;
    with_each_program(cut);
}

static void spoiled_programs(void **state) {
    (void)state;
    with_each_program(spoil);
}

// One attribute without bytes, in a section that is missing.
static void missing_section(void **state) {
    (void)state;
    static const char CODE[] = "ML\xEFR\x0Dp\0"
                               "\x00\x0F\x03\x0Bvhlo\0"        // one string
                               "\x01\x05\x03\x01"              // one dialect
                               "\x03\x0B\x03\x01\x01\x03\x03"; // one attribute
    for (size_t len = 0; len < sizeof CODE; len++)
        inspect(rk_span_of(CODE, len), "mlir");
}

static size_t allocations_left;

static void *failing_malloc(size_t size_bytes) {
    return allocations_left && allocations_left-- ? malloc(size_bytes) : NULL;
}

static void *failing_realloc(void *ptr, size_t size_bytes) {
    return allocations_left && allocations_left-- ? realloc(ptr, size_bytes) : NULL;
}

static const rk_alloc_table failing = {failing_malloc, failing_realloc, free};

// The only possible error is failed memory, at any allocation.
static void short_memory(void **state) {
    (void)state;
    rk_buf data = rk_test_program("jax-0.12.0-pure_callback.mlir");
    size_t failures = 0;
    for (size_t n = 0;; n++) {
        rk_program_info info;
        allocations_left = n;
        rk_alloc_replace(&failing);
        rk_err *err = rk_program_inspect(rk_buf_span(&data), rk_span_text("mlir"), &info);
        rk_alloc_replace(NULL);
        if (!err) {
            assert_non_null(info.uncacheable);
            rk_program_info_cleanup(&info);
            break;
        }
        assert_int_equal(rk_err_code(err), RK_RESOURCE_EXHAUSTED);
        rk_err_free(err);
        failures++;
    }
    assert_true(failures >= 2);
    rk_buf_cleanup(&data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_programs),
        cmocka_unit_test(spoiled_programs),
        cmocka_unit_test(missing_section),
        cmocka_unit_test(short_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
