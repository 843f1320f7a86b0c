#include "cli/steps_view.h"
#include "support/cmocka.h"

// A run of 200 steps that was flat after the first one; the curve ends with a point at step 0.
static void expect_curve(const rk_step_point *points, uint64_t last_new, const char *text) {
    rk_step_point curve[8];
    rk_process_steps process = {
        .count = 200, .is_flat = true, .flat_after = 1, .last_new = last_new, .curve = curve};
    for (; points[process.point_count].programs; process.point_count++)
        curve[process.point_count] = points[process.point_count];
    RK_AUTO(rk_buf) out = {0};
    rk_steps_print_curve(&process, &out);
    assert_string_equal(rk_buf_text(&out), text);
}

#define POINTS(...)                                                                                \
    (const rk_step_point[]) {                                                                      \
        __VA_ARGS__, {                                                                             \
            0, 0                                                                                   \
        }                                                                                          \
    }

static void a_curve_that_grows_again_names_the_steps(void **state) {
    (void)state;
    expect_curve(POINTS({0, 3}, {1, 4}), 1, "nothing new after step 1 (4 programs)");
    expect_curve(POINTS({0, 3}, {1, 4}, {115, 6}), 115,
                 "new programs in steps 1 and 115 (6 programs); nothing new since");
    expect_curve(POINTS({0, 3}, {115, 6}), 115,
                 "new programs in step 115 (6 programs); nothing new since");
    expect_curve(POINTS({1, 4}, {30, 5}, {115, 6}, {200, 7}), 200,
                 "new programs in steps 1, 30, 115 and 200 (7 programs)");
    expect_curve(
        POINTS({1, 4}, {30, 5}, {31, 6}, {32, 7}, {115, 9}), 115,
        "new programs in 5 steps, from step 1 to step 115 (9 programs); nothing new since");
}

static void what_comes_after_the_last_step_is_no_step(void **state) {
    (void)state;
    expect_curve(POINTS({1, 4}, {201, 6}), 201,
                 "new programs in step 1 and after the last step (6 programs)");
    expect_curve(POINTS({0, 4}, {201, 6}), 201, "new programs after the last step (6 programs)");
}

// It was compiled, and the process ended without an execution; or the program is not a new one.
static void a_compilation_alone_is_no_new_program(void **state) {
    (void)state;
    expect_curve(
        POINTS({1, 4}), 201,
        "new programs in step 1 (4 programs); the last compilation was after the last step");
    expect_curve(POINTS({1, 4}), 115,
                 "new programs in step 1 (4 programs); the last compilation was in step 115");
    expect_curve(POINTS({0, 4}), 115,
                 "no new programs in the steps (4 programs); the last compilation was in step 115");
}

// A log reads a number in each tenth step. One step in fifty has a validation.
static void a_usual_step_is_the_median(void **state) {
    (void)state;
    rk_step_span spans[] = {
        {.steps = 88, .executions = 88, .transfers = {.host_to_device = 440}},
        {.steps = 10,
         .executions = 10,
         .transfers = {.host_to_device = 50, .device_to_host = 10, .device_to_host_bytes = 40}},
        {.steps = 2, .executions = 60, .transfers = {.host_to_device = 900}},
    };
    rk_process_steps process = {.count = 100, .spans = spans, .span_count = RK_ARRAY_LEN(spans)};
    RK_AUTO(rk_buf) out = {0};
    rk_steps_print_usual(&process, &out);
    assert_string_equal(rk_buf_text(&out), "1 execution, 5 transfers to the device");
    rk_buf_clear(&out);
    spans[0].executions = 132; // the steps of a range are not told apart
    spans[0].transfers.host_to_device_bytes = 880;
    rk_steps_print_usual(&process, &out);
    assert_string_equal(rk_buf_text(&out), "1.5 executions, 5 transfers to the device (10 B)");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_curve_that_grows_again_names_the_steps),
        cmocka_unit_test(what_comes_after_the_last_step_is_no_step),
        cmocka_unit_test(a_compilation_alone_is_no_new_program),
        cmocka_unit_test(a_usual_step_is_the_median),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
