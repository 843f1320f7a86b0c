#include <limits.h>
#include <unistd.h>

#include "fixture.h"

#define AUTO_SETTINGS __attribute__((cleanup(rk_settings_cleanup))) rk_settings *

static void expect_directory(const char *expected, rk_setting_source source) {
    AUTO_SETTINGS settings = fixture_load();
    assert_string_equal(rk_settings_get(settings)->dir, expected);
    assert_string_equal(rk_settings_describe(settings, RK_SETTING_DIR).value, expected);
    assert_int_equal(rk_settings_describe(settings, RK_SETTING_DIR).source, source);
}

static void the_default_follows_xdg(void **state) {
    char expected[PATH_MAX];
    unsetenv("REKINDLE_DIR");
    setenv("HOME", *state, 1);
    (void)snprintf(expected, sizeof expected, "%s/.cache/rekindle", (const char *)*state);
    expect_directory(expected, RK_SOURCE_DEFAULT);
    setenv("XDG_CACHE_HOME", "relative/is/ignored", 1);
    expect_directory(expected, RK_SOURCE_DEFAULT);
    setenv("REKINDLE_DIR", "", 1);
    expect_directory(expected, RK_SOURCE_DEFAULT);
    (void)snprintf(expected, sizeof expected, "%s/xdg/rekindle", (const char *)*state);
    char xdg[PATH_MAX];
    (void)snprintf(xdg, sizeof xdg, "%s/xdg/", (const char *)*state);
    setenv("XDG_CACHE_HOME", xdg, 1);
    expect_directory(expected, RK_SOURCE_DEFAULT);
}

static void home_comes_from_the_account_where_the_variable_is_missing(void **state) {
    (void)state;
    unsetenv("REKINDLE_DIR");
    unsetenv("HOME");
    AUTO_SETTINGS settings = fixture_load();
    const char *directory = rk_settings_get(settings)->dir;
    assert_int_equal(directory[0], '/');
    assert_non_null(strstr(directory, "/.cache/rekindle"));
}

static void tilde_is_home(void **state) {
    char expected[PATH_MAX];
    setenv("HOME", *state, 1);
    (void)snprintf(expected, sizeof expected, "%s/a/b", (const char *)*state);
    setenv("REKINDLE_DIR", "~/a/b/", 1);
    expect_directory(expected, RK_SOURCE_ENVIRONMENT);
    setenv("REKINDLE_DIR", "~", 1);
    expect_directory(*state, RK_SOURCE_ENVIRONMENT);
    setenv("REKINDLE_DIR", "~root/a", 1);
    EXPECT_REFUSED("~root/a");
}

static void relative_paths_become_absolute(void **state) {
    char here[PATH_MAX], expected[PATH_MAX + 16];
    assert_int_equal(chdir(*state), 0);
    assert_non_null(getcwd(here, sizeof here));
    (void)snprintf(expected, sizeof expected, "%s/cache", here);
    setenv("REKINDLE_DIR", "cache", 1);
    expect_directory(expected, RK_SOURCE_ENVIRONMENT);
    setenv("REKINDLE_DIR", ".//./cache//", 1);
    expect_directory(expected, RK_SOURCE_ENVIRONMENT);
    setenv("REKINDLE_DIR", "./", 1);
    expect_directory(here, RK_SOURCE_ENVIRONMENT);
    setenv("REKINDLE_DIR", "/", 1);
    expect_directory("/", RK_SOURCE_ENVIRONMENT);
    assert_int_equal(chdir("/"), 0);
}

static void addresses_are_refused_with_the_right_variable(void **state) {
    (void)state;
    static const char *const addresses[] = {"gs://bucket/x", "s3://b", "file:///tmp/x",
                                            "redis://user:canary@host"};
    for (size_t i = 0; i < RK_ARRAY_LEN(addresses); i++) {
        setenv("REKINDLE_DIR", addresses[i], 1);
        EXPECT_REFUSED("REKINDLE_DIR", "REKINDLE_REMOTE");
    }
    rk_settings *settings = NULL;
    rk_autoerr err = rk_settings_load(NULL, &settings);
    assert_null(strstr(rk_err_message(err), "canary"));
}

static void a_path_longer_than_paths_can_be_is_refused(void **state) {
    (void)state;
    char *path = malloc(PATH_MAX + 2);
    assert_non_null(path);
    memset(path, 'a', PATH_MAX + 1);
    path[0] = '/';
    path[PATH_MAX + 1] = '\0';
    setenv("REKINDLE_DIR", path, 1);
    free(path);
    EXPECT_REFUSED("REKINDLE_DIR", "longer");
}

static void the_plugin_may_lie_at_home(void **state) {
    char expected[PATH_MAX];
    setenv("HOME", *state, 1);
    setenv("REKINDLE_PLUGIN", "~/p.so", 1);
    (void)snprintf(expected, sizeof expected, "%s/p.so", (const char *)*state);
    AUTO_SETTINGS settings = fixture_load();
    assert_string_equal(rk_settings_get(settings)->plugin, expected);
    assert_string_equal(rk_settings_describe(settings, RK_SETTING_PLUGIN).value, "~/p.so");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_begin, fixture_end)
    const struct CMUnitTest tests[] = {
        TEST(the_default_follows_xdg),
        TEST(home_comes_from_the_account_where_the_variable_is_missing),
        TEST(tilde_is_home),
        TEST(relative_paths_become_absolute),
        TEST(addresses_are_refused_with_the_right_variable),
        TEST(a_path_longer_than_paths_can_be_is_refused),
        TEST(the_plugin_may_lie_at_home),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
