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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_curve_that_grows_again_is_not_called_flat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
