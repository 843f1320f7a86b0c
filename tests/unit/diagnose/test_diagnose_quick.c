// The immediate verdict on a program that is about to be compiled.
#include "diagnose/diff/quick.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "support/expect.h"
#include "support/faults.h"
#include "support/work.h"

static rk_buf read_file(const char *job, unsigned number) {
    char path[1024];
    rk_buf data = {0};
    (void)snprintf(path, sizeof path, "%s/%s.%u.mlir", RK_TEST_DATA, job, number);
    rk_expect_ok(rk_fs_read(path, 1 << 20, &data));
    return data;
}

static rk_quick_program *make(const char *job, unsigned number) {
    rk_buf data = read_file(job, number);
    rk_quick_program *program = NULL;
    rk_expect_ok(rk_quick_program_make(rk_buf_span(&data), rk_span_text("mlir"), &program));
    assert_non_null(program);
    rk_buf_cleanup(&data);
    return program;
}

static void expect(const char *job, rk_cause cause, const char *words, unsigned line) {
    rk_quick_program *seen[] = {make("blocks", 1), NULL, make(job, 1), make("top_k", 1)};
    rk_quick_program *now = make(job, 2);
    rk_quick_verdict verdict;
    rk_quick_classify(now, (const rk_quick_program *const *)seen, RK_ARRAY_LEN(seen), &verdict);
    assert_string_equal(rk_cause_name(verdict.cause), rk_cause_name(cause));
    assert_string_equal(verdict.words, words);
    assert_string_equal(verdict.file, "/job/train.py");
    assert_int_equal(verdict.line, line);
    for (size_t i = 0; i < RK_ARRAY_LEN(seen); i++)
        rk_quick_program_free(seen[i]);
    rk_quick_program_free(now);
}

static void each_cause_is_reported_in_a_line(void **unused) {
    (void)unused;
    expect("shape", RK_CAUSE_SHAPE, "input x: tensor<32x8xf32> → tensor<24x8xf32>", 10);
    expect("dtype", RK_CAUSE_DTYPE, "input x: tensor<16x8xf32> → tensor<16x8xf16>", 9);
    expect("counter", RK_CAUSE_CONSTANT, "constant: 3 → 4", 8);
    expect("optional", RK_CAUSE_PARAMETERS, "input batch['mask'] added: tensor<8xf32>", 12);
    expect("branch", RK_CAUSE_STRUCTURE, "different operations: 17 instead of 7", 9);
}

static void sizes_in_common_decide(void **unused) {
    (void)unused;
    rk_quick_program *seen[2], *program = make("axes", 3);
    rk_quick_verdict verdict;
    for (unsigned i = 0; i < 2; i++)
        seen[i] = make("axes", i + 1);
    rk_quick_classify(program, (const rk_quick_program *const *)seen, 2, &verdict);
    assert_string_equal(verdict.words, "input x: tensor<13x9xf32> → tensor<10x9xf32>");
    for (unsigned i = 0; i < 2; i++)
        rk_quick_program_free(seen[i]);
    rk_quick_program_free(program);
}

static void what_is_like_nothing_is_first(void **unused) {
    (void)unused;
    rk_quick_program *now = make("unlike", 2), *other = make("unlike", 1);
    const rk_quick_program *seen[] = {other};
    rk_quick_verdict verdict;
    rk_quick_classify(now, seen, 0, &verdict);
    assert_int_equal(verdict.cause, RK_CAUSE_FIRST);
    assert_true(verdict.nearest == SIZE_MAX);
    // Another function with the same name.
    rk_quick_classify(now, seen, 1, &verdict);
    assert_int_equal(verdict.cause, RK_CAUSE_FIRST);
    rk_quick_program_free(now);
    rk_quick_program_free(other);
}

static void what_is_no_program_is_none(void **unused) {
    (void)unused;
    rk_quick_program *program;
    rk_expect_ok(rk_quick_program_make(rk_span_text("nonsense"), rk_span_text("mlir"), &program));
    assert_null(program);
}

static void without_memory_there_is_an_error(void **unused) {
    (void)unused;
    rk_buf data = read_file("branch", 1);
    for (unsigned nth = 1;; nth++) {
        rk_quick_program *program = NULL;
        rk_fault_begin(&(rk_fault_plan){.nth = nth, .calls = RK_FAULT_ALLOC});
        rk_err *err = rk_quick_program_make(rk_buf_span(&data), rk_span_text("mlir"), &program);
        bool failed = rk_fault_end();
        rk_quick_program_free(program);
        rk_code code = rk_err_code(err);
        rk_err_free(err);
        if (!failed)
            break;
        assert_true(code == RK_OK || code == RK_RESOURCE_EXHAUSTED);
    }
    rk_buf_cleanup(&data);
}

// A process with many programs.
static void it_takes_less_than_fifty_milliseconds(void **unused) {
    (void)unused;
    enum { SEEN = 2000 };
    static const rk_quick_program *seen[SEEN];
    rk_quick_program *a = make("blocks", 1), *b = make("shape", 1), *now = NULL;
    for (size_t i = 0; i < SEEN; i++)
        seen[i] = i % 2 ? a : b;
    rk_buf data = read_file("blocks", 2);
    uint64_t start_ns = rk_test_work_ns();
    rk_quick_verdict verdict;
    rk_expect_ok(rk_quick_program_make(rk_buf_span(&data), rk_span_text("mlir"), &now));
    rk_quick_classify(now, seen, SEEN, &verdict);
    uint64_t took_ns = rk_test_work_ns() - start_ns;
    assert_int_equal(verdict.cause, RK_CAUSE_PARAMETERS);
    // The limit is ten times higher, for sanitizers. Without them it takes a few milliseconds.
    assert_true(took_ns < 500 * (uint64_t)1000000);
    rk_buf_cleanup(&data);
    rk_quick_program_free(a);
    rk_quick_program_free(b);
    rk_quick_program_free(now);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_cause_is_reported_in_a_line),
        cmocka_unit_test(sizes_in_common_decide),
        cmocka_unit_test(what_is_like_nothing_is_first),
        cmocka_unit_test(what_is_no_program_is_none),
        cmocka_unit_test(without_memory_there_is_an_error),
        cmocka_unit_test(it_takes_less_than_fifty_milliseconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
