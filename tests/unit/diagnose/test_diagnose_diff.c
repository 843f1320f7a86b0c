// Pairs of programs that JAX made from one function: the cause, the differences, and the line.
// programs/make contains the jobs.
#include "diagnose/diff/diff.h"

#include <stdio.h>

#include "base/alloc.h"
#include "fixture.h"
#include "support/expect.h"
#include "support/faults.h"

typedef struct expected {
    const char *job;
    rk_cause cause;
    rk_difference_kind kind;
    const char *attribute; // NULL: no attribute
    const char *before, *after;
    unsigned line;
    size_t causes; // number of differences that are causes
} expected;

static const expected JOBS[] = {
    {"shape", RK_CAUSE_SHAPE, RK_DIFFERENCE_SHAPE, "x", "tensor<32x8xf32>", "tensor<24x8xf32>", 10,
     1},
    {"dtype", RK_CAUSE_DTYPE, RK_DIFFERENCE_DTYPE, "x", "tensor<16x8xf32>", "tensor<16x8xf16>", 9,
     1},
    {"counter", RK_CAUSE_CONSTANT, RK_DIFFERENCE_CONSTANT, "value", "3", "4", 8, 1},
    {"top_k", RK_CAUSE_CONSTANT, RK_DIFFERENCE_ATTRIBUTE, "k", "5", "6", 7, 1},
    {"capacity", RK_CAUSE_CONSTANT, RK_DIFFERENCE_SHAPE, NULL, "tensor<16x8xf32>",
     "tensor<20x8xf32>", 7, 1},
    {"branch", RK_CAUSE_STRUCTURE, RK_DIFFERENCE_OP_ADDED, NULL, NULL, "tensor<f32>", 9, 1},
    {"optional", RK_CAUSE_PARAMETERS, RK_DIFFERENCE_PARAMETER_ADDED, "batch['mask']", NULL,
     "tensor<8xf32>", 12, 1},
    {"accumulate", RK_CAUSE_PARAMETERS, RK_DIFFERENCE_PARAMETER_ADDED, "grads['a']", NULL,
     "tensor<8xf32>", 11, 2},
    {"sharding", RK_CAUSE_SHARDING, RK_DIFFERENCE_SHARDING, "x sdy.sharding", "[{\"data\"}, {}]",
     "[{\"model\"}, {}]", 10, 1},
    // Constants that both programs have are no causes if the inputs differ.
    {"swapped", RK_CAUSE_SHARDING, RK_DIFFERENCE_SHARDING, "x sdy.sharding", "[{\"data\"}, {}]",
     "[{\"model\"}, {}]", 10, 1},
    {"cast", RK_CAUSE_DTYPE, RK_DIFFERENCE_DTYPE, "of input x", "tensor<8x8xf32>",
     "tensor<8x8xbf16>", 7, 2},
    {"operands", RK_CAUSE_STRUCTURE, RK_DIFFERENCE_ATTRIBUTE, "operand 0", "input y", "input x", 7,
     1},
    {"captured", RK_CAUSE_STRUCTURE, RK_DIFFERENCE_ATTRIBUTE, "operand 0", "an argument",
     "another argument", 9, 1},
    {"blocks", RK_CAUSE_PARAMETERS, RK_DIFFERENCE_PARAMETER_ADDED, "ws[6]", NULL, "tensor<8x8xf32>",
     13, 1},
};

static void expect_text(const char *job, const char *actual, const char *wanted) {
    if ((actual == NULL) != (wanted == NULL) || (actual && strcmp(actual, wanted) != 0))
        fail_msg("%s: \"%s\" instead of \"%s\"", job, actual ? actual : "(none)",
                 wanted ? wanted : "(none)");
}

static void read_pair(const char *job, unsigned first, rk_test_indexed *a, rk_test_indexed *b) {
    char file[128];
    (void)snprintf(file, sizeof file, "%s.%u.mlir", job, first);
    rk_test_read(file, a);
    (void)snprintf(file, sizeof file, "%s.%u.mlir", job, first + 1);
    rk_test_read(file, b);
}

// Two programs and their differences.
typedef struct compared {
    rk_test_indexed a, b;
    rk_program_diff diff;
} compared;

static void compare(const char *job, unsigned first, compared *out) {
    read_pair(job, first, &out->a, &out->b);
    rk_expect_ok(rk_diff_programs(&out->a.index, &out->b.index, &out->diff));
}

static void compared_cleanup(compared *one) {
    rk_program_diff_cleanup(&one->diff);
    rk_test_indexed_cleanup(&one->a);
    rk_test_indexed_cleanup(&one->b);
}

static void expect(const expected *e) {
    compared of;
    compare(e->job, 1, &of);
    expect_text(e->job, rk_cause_name(of.diff.cause), rk_cause_name(e->cause));
    assert_true(of.diff.list.count > 0);
    const rk_difference *d = &of.diff.list.items[0];
    expect_text(e->job, rk_difference_kind_name(d->kind), rk_difference_kind_name(e->kind));
    expect_text(e->job, d->attribute, e->attribute);
    expect_text(e->job, d->before, e->before);
    expect_text(e->job, d->after, e->after);
    expect_text(e->job, d->file, "/job/train.py");
    assert_int_equal(d->line, e->line);
    if (of.diff.list.cause_count != e->causes)
        fail_msg("%s: %zu causes instead of %zu", e->job, of.diff.list.cause_count, e->causes);
    assert_int_equal(of.diff.accumulates, strcmp(e->job, "accumulate") == 0);
    compared_cleanup(&of);
}

static void each_cause_is_found_at_its_line(void **unused) {
    (void)unused;
    for (size_t i = 0; i < RK_ARRAY_LEN(JOBS); i++)
        expect(&JOBS[i]);
}

// A counter has the same value as another constant of the program, so XLA's builder shares one
// constant.
static void a_constant_that_is_shared_is_still_one(void **unused) {
    (void)unused;
    compared counter;
    compare("counter", 2, &counter);
    const rk_difference *first = &counter.diff.list.items[0];
    assert_int_equal(counter.diff.cause, RK_CAUSE_CONSTANT);
    assert_int_equal(counter.diff.list.cause_count, 1);
    expect_text("counter", first->before, "4");
    expect_text("counter", first->after, "2");
    assert_int_equal(first->line, 8);
    compared_cleanup(&counter);
}

static void another_constant_of_the_line_is_noted(void **unused) {
    (void)unused;
    compared rates, counter;
    compare("rates", 1, &rates);
    compare("counter", 2, &counter);
    assert_int_equal(rates.diff.list.cause_count, 1);
    expect_text("rates", rates.diff.list.items[0].before, "0.100000001");
    assert_true(rates.diff.list.items[0].has_others);
    assert_false(counter.diff.list.items[0].has_others);
    compared_cleanup(&rates);
    compared_cleanup(&counter);
}

static void a_program_is_like_itself(void **unused) {
    (void)unused;
    for (size_t i = 0; i < RK_ARRAY_LEN(JOBS); i++) {
        rk_test_indexed a, b;
        rk_program_diff diff;
        read_pair(JOBS[i].job, 1, &a, &b);
        rk_expect_ok(rk_diff_programs(&b.index, &b.index, &diff));
        assert_int_equal(diff.cause, RK_CAUSE_FIRST);
        assert_int_equal(diff.list.count, 0);
        rk_program_diff_cleanup(&diff);
        rk_test_indexed_cleanup(&a);
        rk_test_indexed_cleanup(&b);
    }
}

// Compares all pairs: no crash, and the reverse diff matches the same number of operations. The
// operations that one diff adds, the other removes.
static void any_two_can_be_compared(void **unused) {
    (void)unused;
    for (size_t i = 0; i < RK_ARRAY_LEN(JOBS); i++) {
        for (size_t k = 0; k < RK_ARRAY_LEN(JOBS); k++) {
            rk_test_indexed a, b, other;
            rk_program_diff there, back;
            read_pair(JOBS[i].job, 1, &a, &other);
            rk_test_indexed_cleanup(&other);
            read_pair(JOBS[k].job, 1, &other, &b);
            rk_expect_ok(rk_diff_programs(&a.index, &b.index, &there));
            rk_expect_ok(rk_diff_programs(&b.index, &a.index, &back));
            assert_int_equal(there.matched, back.matched);
            assert_int_equal(there.added, back.removed);
            rk_program_diff_cleanup(&there);
            rk_program_diff_cleanup(&back);
            rk_test_indexed_cleanup(&a);
            rk_test_indexed_cleanup(&b);
            rk_test_indexed_cleanup(&other);
        }
    }
}

static void without_memory_there_is_an_error(void **unused) {
    (void)unused;
    rk_test_indexed a, b;
    read_pair("branch", 1, &a, &b);
    for (unsigned nth = 1;; nth++) {
        rk_program_diff diff;
        rk_fault_begin(&(rk_fault_plan){.nth = nth, .calls = RK_FAULT_ALLOC});
        rk_err *err = rk_diff_programs(&a.index, &b.index, &diff);
        rk_program_diff_cleanup(&diff);
        bool failed = rk_fault_end();
        rk_code code = rk_err_code(err);
        rk_err_free(err);
        if (!failed)
            break;
        assert_true(code == RK_OK || code == RK_RESOURCE_EXHAUSTED);
    }
    rk_test_indexed_cleanup(&a);
    rk_test_indexed_cleanup(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_cause_is_found_at_its_line),
        cmocka_unit_test(a_constant_that_is_shared_is_still_one),
        cmocka_unit_test(another_constant_of_the_line_is_noted),
        cmocka_unit_test(a_program_is_like_itself),
        cmocka_unit_test(any_two_can_be_compared),
        cmocka_unit_test(without_memory_there_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
