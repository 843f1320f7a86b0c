#include "cli/steps_view.h"
#include "support/cmocka.h"

static void expect_curve(uint64_t last_new, const char *text) {
    rk_step_point curve[] = {{1, 4}, {115, 6}};
    bool grows = last_new > 1;
    rk_process_steps process = {.count = 200,
                                .is_flat = true,
                                .flat_after = 1,
                                .last_new = last_new,
                                .curve = curve,
                                .point_count = grows ? 2 : 1};
    RK_AUTO(rk_buf) out = {0};
    rk_steps_print_curve(&process, &out);
    assert_string_equal(rk_buf_text(&out), text);
}

static void a_curve_that_grows_again_is_not_called_flat(void **state) {
    (void)state;
    expect_curve(1, "nothing new after step 1 (4 programs)");
    expect_curve(115, "nothing new after step 1 (4 programs) for 20 steps or more, then again up "
                      "to step 115 (6)");
    expect_curve(201, "nothing new after step 1 (4 programs) for 20 steps or more, then again "
                      "after the last step (6)");
}

// It was compiled after the last step, and the process ended without an execution.
static void an_equal_number_is_not_repeated(void **state) {
    (void)state;
    rk_step_point curve[] = {{1, 4}};
    rk_process_steps process = {.count = 200,
                                .is_flat = true,
                                .flat_after = 1,
                                .last_new = 201,
                                .curve = curve,
                                .point_count = 1};
    RK_AUTO(rk_buf) out = {0};
    rk_steps_print_curve(&process, &out);
    assert_string_equal(rk_buf_text(&out), "nothing new after step 1 (4 programs) for 20 steps or "
                                           "more, then again after the last step");
}

static void a_transfer_in_few_steps_has_no_size(void **state) {
    (void)state;
    rk_process_steps process = {.count = 100, .sums = {.executions = 100}};
    rk_journal_counts *transfers = &process.sums.transfers;
    RK_AUTO(rk_buf) out = {0};
    transfers->host_to_device = 10;
    transfers->host_to_device_bytes = 40;
    transfers->device_to_host = 4;
    transfers->device_to_host_bytes = 4000;
    rk_steps_print_average(&process, &out);
    assert_string_equal(rk_buf_text(&out), "1 execution, 0.1 to the device");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_curve_that_grows_again_is_not_called_flat),
        cmocka_unit_test(an_equal_number_is_not_repeated),
        cmocka_unit_test(a_transfer_in_few_steps_has_no_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
