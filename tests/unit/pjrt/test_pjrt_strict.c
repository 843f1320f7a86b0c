// Which late programs count as new functions, and which as versions of a function that the process
// had before. The programs are those of JAX (tests/unit/diagnose/programs).
#include "pjrt/strict.h"
#include "pjrt/strict_explain_internal.h"

#include <stdio.h>

#include "base/fs.h"
#include "pjrt/steps.h"
#include "support/expect.h"

static void read_program(const char *file, rk_buf *out_code, rk_request *out_request) {
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/%s.mlir", RK_TEST_DATA, file);
    rk_expect_ok(rk_fs_read(path, 1 << 20, out_code));
    *out_request =
        (rk_request){.code = rk_buf_span(out_code), .format = rk_span_text("mlir"), .seq = 1};
}

static void compile(const char *file, const char *name) {
    RK_AUTO(rk_buf) code = {0};
    rk_request r;
    static uintptr_t handle;
    read_program(file, &code, &r);
    rk_late_remember(&r);
    handle += 16;
    (void)rk_steps_add_executable(
        (PJRT_LoadedExecutable *)handle, // NOLINT(performance-no-int-to-ptr): never used
        NULL, r.code, name, &(rk_program_role){.operations = 1}, true);
}

static void expect(const char *file, const char *cause, bool is_new) {
    RK_AUTO(rk_buf) code = {0};
    RK_AUTO(rk_late) late = {0};
    rk_request r;
    read_program(file, &code, &r);
    rk_late_explain(&r, &late);
    assert_string_equal(rk_buf_text(&late.cause), cause);
    assert_int_equal(late.is_new, is_new);
}

// Warm-up is over, once more: nothing new came for some time.
static void settle(void) {
    rk_steps_state state;
    rk_steps_get_state(&state);
    rk_late_settle(state.programs);
}

static void a_version_of_a_function_is_not_new(void **state) {
    (void)state;
    expect("shape.1", "a new program", true);
    compile("shape.1", "jit_step");
    expect("shape.2", "another shape", false);
    expect("log.2", "other inputs or results", false); // whatever the difference is
}

// A branch of a static argument, optional inputs, and two lines that call one function.
static void a_branch_is_not_new(void **state) {
    (void)state;
    compile("log.1", "jit_step");
    expect("log.2", "other operations", false);
    compile("branch.1", "jit_step");
    expect("branch.2", "other operations", false);
    compile("optional.1", "jit_step");
    expect("optional.2", "other inputs or results", false);
    compile("turns.1", "jit_step");
    expect("turns.2", "another shape", false);
}

// An evaluation has the name of the training step, or a library gives one name to all functions.
static void another_function_with_a_known_name_is_new(void **state) {
    (void)state;
    compile("models.1", "jit_step");
    expect("models.2", "other inputs or results", true);
    compile("wrapped.1", "jit_step");
    expect("wrapped.2", "another shape", true);
    compile("unlike.1", "jit_step");
    expect("unlike.2", "other inputs or results", true);
    compile("unlike.2", "jit_step");
    expect("unlike.2", "another constant", false);
}

static void an_operation_of_jax_random_is_new(void **state) {
    (void)state;
    compile("drawn.1", "jit__normal");
    expect("drawn.1", "another constant", true);
}

// The last batch of the first evaluation is shorter than the others.
static void versions_of_a_new_function_are_new_until_warm_up_is_over_again(void **state) {
    (void)state;
    rk_late_settle(0); // before any program of this name
    expect("shape.2", "another shape", true);
    settle();
    expect("shape.2", "another shape", false);
    compile("models.2", "jit_step"); // shares the name only
    expect("models.2", "another constant", true);
    settle();
    expect("models.2", "another constant", false);
}

// JAX names a bare scan "jit_scan", whatever the function.
static void a_scan_over_another_function_is_new(void **state) {
    (void)state;
    expect("scans.1", "a new program", true);
    compile("scans.1", "jit_scan");
    settle();
    expect("scans.2", "a new program", true);
    compile("scans.2", "jit_scan");
    expect("scans.3", "another shape", true); // scans.2 came after warm-up
    settle();
    expect("scans.3", "another shape", false);
}

static void a_program_that_cannot_be_read_has_no_cause(void **state) {
    (void)state;
    RK_AUTO(rk_late) late = {0};
    const rk_request r = {.code = rk_span_text("a new format"), .format = rk_span_text("mlir")};
    rk_late_remember(&r);
    rk_late_explain(&r, &late);
    assert_int_equal(late.cause.len, 0);
    assert_false(late.is_new);
    assert_string_equal(rk_buf_text(&late.name), "a program of 12 bytes");
}

// What a process says at its end if its warm-up never ended.
static void expect_end(rk_warmup warmup, rk_steps_state state, const char *missing,
                       const char *remedy) {
    RK_AUTO(rk_buf) line = {0};
    const rk_settings_values settings = {.strict = RK_STRICT_FAIL, .warmup = warmup};
    const rk_runtime runtime = {.settings = &settings, .started_ns = rk_monotonic_ns()};
    rk_strict_write_end(&runtime, &state, &line);
    if (!missing) {
        assert_int_equal(line.len, 0);
        return;
    }
    assert_non_null(strstr(rk_buf_text(&line), "REKINDLE_STRICT=fail never began"));
    assert_non_null(strstr(rk_buf_text(&line), missing));
    assert_non_null(strstr(rk_buf_text(&line), remedy));
    assert_null(strchr(rk_buf_text(&line), '\n'));
}

static void the_end_says_why_strict_mode_never_began(void **state) {
    (void)state;
    const rk_warmup steps = {RK_WARMUP_STEPS, 20}, compiles = {RK_WARMUP_COMPILES, 9},
                    mark = {.kind = RK_WARMUP_MARK}, seconds = {RK_WARMUP_SECONDS, 60000000000};
    const rk_steps_state some = {.steps = 7, .compiles = 3}, none = {.compiles = 3};
    expect_end(steps, some, ": 7 of 20 steps;", "fewer steps");
    expect_end(steps, none, "the steps of this process are not known", "rekindle.step()");
    expect_end((rk_warmup){.kind = RK_WARMUP_AUTO}, none, "not known", "rekindle.step()");
    expect_end((rk_warmup){.kind = RK_WARMUP_AUTO}, some, "at most 0 steps and 0.0 s;", "N steps");
    const rk_steps_state flat = {
        .steps = 50, .compiles = 3, .flat_steps = 47, .since_growth_ns = 1500000000};
    expect_end((rk_warmup){.kind = RK_WARMUP_AUTO}, flat,
               "it needs 20 steps in a row and 3 s without a new program; as far as the steps "
               "were recognized, the longest such time was 1.5 s;",
               "N steps");
    const rk_steps_state few = {
        .steps = 50, .compiles = 3, .flat_steps = 15, .since_growth_ns = 5700000000};
    expect_end((rk_warmup){.kind = RK_WARMUP_AUTO}, few, "there were at most 15 steps;", "N steps");
    expect_end(compiles, some, "3 of 9 compilations", "fewer compilations");
    expect_end(mark, some, "did not call rekindle.mark_warm()", "rekindle.mark_warm()");
    expect_end(seconds, some, "0 of 60 s", "fewer seconds");
}

static void the_end_says_nothing_without_need(void **state) {
    (void)state;
    const rk_warmup steps = {RK_WARMUP_STEPS, 20};
    expect_end(steps, (rk_steps_state){.steps = 20, .compiles = 3}, NULL, NULL);
    expect_end(steps, (rk_steps_state){.steps = 7}, NULL, NULL); // compiled nothing
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_version_of_a_function_is_not_new),
        cmocka_unit_test(a_branch_is_not_new),
        cmocka_unit_test(another_function_with_a_known_name_is_new),
        cmocka_unit_test(an_operation_of_jax_random_is_new),
        cmocka_unit_test(versions_of_a_new_function_are_new_until_warm_up_is_over_again),
        cmocka_unit_test(a_scan_over_another_function_is_new),
        cmocka_unit_test(a_program_that_cannot_be_read_has_no_cause),
        cmocka_unit_test(the_end_says_why_strict_mode_never_began),
        cmocka_unit_test(the_end_says_nothing_without_need),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
