#include <errno.h>

#include "fixture.h"
#include "support/faults.h"

// If a call fails, loading either works or returns only an error.
static void loading_survives_every_failing_call(void **state) {
    fixture_write_config(*state, "mode = readonly # x\nnamespace = team\nplugin = ~/p.so\n");
    static const unsigned kinds[] = {RK_FAULT_EVERY_SYSCALL, RK_FAULT_ALLOC};
    for (size_t i = 0; i < RK_ARRAY_LEN(kinds); i++) {
        unsigned nth = 1;
        for (;; nth++) {
            rk_settings *settings = NULL;
            rk_fault_begin(&(rk_fault_plan){.nth = nth, .calls = kinds[i]});
            rk_err *err = rk_settings_load(NULL, &settings);
            bool reached = rk_fault_end();
            assert_true((err == NULL) == (settings != NULL));
            if (!reached)
                assert_null(err);
            rk_err_free(err);
            rk_settings_free(settings);
            if (!reached)
                break;
        }
        assert_true(nth > 2);
    }
}

// A job gets settings or an error. `trouble` is set only together with settings, and then rekindle
// is off.
static void loading_for_a_job_survives_every_failing_call(void **state) {
    fixture_write_config(*state, "mode = readonly # x\nnamespace = team\nplugin = ~/p.so\n");
    setenv("REKINDLE_MODE", "refresh", 1);
    setenv("REKINDLE_PLUGIN", "~/q.so", 1);
    rk_autofree char *absent = rk_path_join(*state, "absent");
    static const unsigned kinds[] = {RK_FAULT_EVERY_SYSCALL, RK_FAULT_ALLOC};
    for (size_t i = 0; i < 2 * RK_ARRAY_LEN(kinds); i++) {
        setenv("REKINDLE_DIR", i % 2 ? absent : (const char *)*state, 1);
        unsigned nth = 1;
        for (;; nth++) {
            rk_settings *settings = NULL;
            rk_err *trouble = NULL;
            rk_fault_begin(&(rk_fault_plan){.nth = nth, .calls = kinds[i / 2]});
            rk_err *err = rk_settings_load_for_job(NULL, &settings, &trouble);
            bool reached = rk_fault_end();
            assert_true((err == NULL) == (settings != NULL));
            assert_true(!trouble || settings);
            // Settings without a configured value, such as the plugin's path, are not returned.
            assert_int_not_equal(rk_err_errno(trouble), ENOMEM);
            if (trouble)
                assert_int_equal(rk_settings_get(settings)->mode, RK_MODE_OFF);
            if (!reached)
                assert_true(!err && !trouble);
            rk_err_free(err);
            rk_err_free(trouble);
            rk_settings_free(settings);
            if (!reached)
                break;
        }
        assert_true(nth > 2);
    }
}

static void deriving_a_job_survives_every_failing_allocation(void **state) {
    (void)state;
    const char *argv[] = {"python", "train.py", "--logdir", "/tmp/x",
                          "--lr",   "1e-3",     "--token",  "x"};
    unsigned nth = 1;
    for (;; nth++) {
        char *job = NULL;
        rk_fault_begin(&(rk_fault_plan){.nth = nth, .calls = RK_FAULT_ALLOC});
        rk_err *err = rk_job_derive((int)RK_ARRAY_LEN(argv), argv, &job);
        bool reached = rk_fault_end();
        assert_true((err == NULL) == (job != NULL));
        rk_err_free(err);
        rk_free(job);
        if (!reached)
            break;
    }
    assert_true(nth > 2);
}

// An unreadable config is an error, unlike a missing one.
static void an_unreadable_config_is_an_error(void **state) {
    fixture_write_config(*state, "mode = off\n");
    rk_settings *settings = NULL;
    rk_fault_begin(&(rk_fault_plan){.nth = 1, .calls = RK_FAULT_OPEN, .error_number = 13});
    rk_autoerr err = rk_settings_load(NULL, &settings);
    assert_true(rk_fault_end());
    assert_int_equal(rk_err_code(err), RK_PERMISSION_DENIED);
    assert_non_null(strstr(rk_err_message(err), "/config"));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_begin, fixture_end)
    const struct CMUnitTest tests[] = {
        TEST(loading_survives_every_failing_call),
        TEST(loading_for_a_job_survives_every_failing_call),
        TEST(deriving_a_job_survives_every_failing_allocation),
        TEST(an_unreadable_config_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
