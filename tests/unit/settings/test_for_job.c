// What a job gets where something cannot be read, or the home is somebody else's.
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"

enum { SOMEBODY = 12345 };

static char *below(const char *directory, const char *name) {
    char *path = rk_path_join(directory, name);
    assert_non_null(path);
    return path;
}

static void expect_wrong(const char *part) {
    rk_settings *settings = NULL;
    rk_autoerr trouble = NULL;
    rk_autoerr err = rk_settings_load_for_job(NULL, &settings, &trouble);
    assert_null(settings);
    assert_null(trouble);
    assert_true(rk_settings_is_wrong(err));
    if (!strstr(rk_err_message(err), part))
        fail_msg("\"%s\" is not in: %s", part, rk_err_message(err));
}

static void expect_off_and_told(const char *part) {
    rk_autoerr trouble = NULL;
    rk_settings *settings = fixture_load_for_job(&trouble);
    assert_int_equal(rk_settings_get(settings)->mode, RK_MODE_OFF);
    rk_settings_free(settings);
    assert_true(rk_settings_is_wrong(trouble));
    assert_non_null(strstr(rk_err_message(trouble), part));
}

static void what_is_right_is_as_ever(void **state) {
    fixture_write_config(*state, "mode = readonly\nmax_size = 5G\n");
    fixture_expect_mode(RK_MODE_READONLY);
    setenv("REKINDLE_MODE", "refresh", 1);
    fixture_expect_mode(RK_MODE_REFRESH);
}

static void a_config_that_cannot_be_read_is_no_wrong_value(void **state) {
    rk_autofree char *config = below(*state, "config");
    assert_null(rk_fs_make_dirs(config, 0700));
    fixture_expect_without("not a regular file: put a text file");
    assert_int_equal(rmdir(config), 0);
    assert_int_equal(symlink("nowhere", config), 0);
    fixture_expect_without("/config is a symbolic link that leads nowhere: remove it");
    assert_int_equal(unlink(config), 0);
    assert_int_equal(symlink("config", config), 0); // to itself
    fixture_expect_without("leads nowhere");
    setenv("REKINDLE_MODE", "off", 1);
    fixture_expect_mode(RK_MODE_OFF);
}

static const char *asked; // the folder that the next was asked of

static rk_err *is_a_project(const char *directory) {
    asked = directory;
    return rk_error(RK_FAILED_PRECONDITION, "it is a project");
}

static rk_err *is_a_store(const char *directory) {
    asked = directory;
    return NULL;
}

static void expect_project(void) {
    rk_settings *settings = NULL;
    rk_autoerr trouble = NULL;
    rk_autoerr err = rk_settings_load_for_job(is_a_project, &settings, &trouble);
    assert_null(err);
    assert_int_equal(rk_settings_get(settings)->mode, RK_MODE_OFF);
    assert_string_equal(rk_err_message(trouble), "it is a project");
    rk_settings_free(settings);
}

static void the_config_of_others_is_no_wrong_value(void **state) {
    asked = NULL;
    fixture_write_config(*state, "mode = readonly\n");
    rk_settings *settings = NULL;
    rk_autoerr none = rk_settings_load(is_a_project, &settings);
    assert_null(none);
    assert_null(asked); // nothing is wrong
    rk_settings_free(settings);
    fixture_write_config(*state, "[core]\n\tbare = true\n");
    expect_project();
    rk_autoerr trouble = NULL;
    rk_autoerr wrong = rk_settings_load_for_job(is_a_store, &settings, &trouble);
    assert_true(rk_settings_is_wrong(wrong));
    assert_null(trouble);
    setenv("REKINDLE_MAX_SIZE", "x", 1);
    rk_autoerr also = rk_settings_load_for_job(is_a_project, &settings, &trouble);
    assert_true(rk_settings_is_wrong(also));
    assert_non_null(strstr(rk_err_message(also), "REKINDLE_MAX_SIZE"));
    unsetenv("REKINDLE_MAX_SIZE");
    rk_autofree char *config = below(*state, "config");
    assert_int_equal(unlink(config), 0);
    assert_null(rk_fs_make_dirs(config, 0700));
    expect_project();
}

static void what_the_environment_says_holds_all_the_same(void **state) {
    rk_autofree char *config = below(*state, "config");
    assert_null(rk_fs_make_dirs(config, 0700));
    setenv("REKINDLE_PLUGIN", "/p.so", 1);
    setenv("REKINDLE_LOG", "error", 1);
    rk_autoerr trouble = NULL;
    rk_settings *settings = fixture_load_for_job(&trouble);
    assert_string_equal(rk_settings_get(settings)->plugin, "/p.so");
    assert_int_equal(rk_settings_get(settings)->log_level, RK_LOG_ERROR);
    rk_settings_free(settings);
    setenv("REKINDLE_MAX_SIZE", "x", 1);
    expect_wrong("REKINDLE_MAX_SIZE");
}

static void off_never_fails(void **state) {
    setenv("REKINDLE_MODE", "off", 1);
    setenv("REKINDLE_MAX_SIZE", "x", 1);
    expect_off_and_told("REKINDLE_MAX_SIZE");
    setenv("REKINDLE_DIR", "s3://bucket", 1);
    expect_off_and_told("REKINDLE_DIR");
    unsetenv("REKINDLE_MODE");
    expect_wrong("REKINDLE_DIR");
    setenv("REKINDLE_DIR", *state, 1);
    fixture_write_config(*state, "no equals sign\nmode = off\nmax_sise = 1\n");
    expect_off_and_told("/config:1:");
}

static void a_wrong_mode_is_not_off(void **state) {
    fixture_write_config(*state, "mode = off\n");
    setenv("REKINDLE_MODE", "of", 1);
    expect_wrong("REKINDLE_MODE is \"of\"");
    setenv("REKINDLE_MODE", "", 1); // the default, which hides the file's
    setenv("REKINDLE_MAX_SIZE", "x", 1);
    expect_wrong("REKINDLE_MAX_SIZE");
}

// A value that is refused leaves what was there before it whole.
static void a_wrong_value_replaces_nothing(void **state) {
    fixture_write_config(*state, "job = mine\nplugin = /p.so\nsigning_key = /k\nmode = off\n");
    setenv("REKINDLE_JOB", "../up", 1);
    setenv("REKINDLE_PLUGIN", "https://h/p.so", 1);
    setenv("REKINDLE_SIGNING_KEY", "s3://b", 1);
    rk_autoerr trouble = NULL;
    rk_settings *settings = fixture_load_for_job(&trouble);
    assert_string_equal(rk_settings_get(settings)->job, "mine");
    assert_string_equal(rk_settings_get(settings)->plugin, "/p.so");
    assert_string_equal(rk_settings_get(settings)->signing_key, "/k");
    rk_settings_free(settings);
}

// The home of somebody else, at `*state`, with the default store in it.
static void make_foreign_home(const char *home) {
    if (geteuid() != 0) {
        print_message("skipped: only root can give a directory away\n");
        skip();
    }
    assert_int_equal(chown(home, SOMEBODY, SOMEBODY), 0);
    setenv("HOME", home, 1);
    unsetenv("REKINDLE_DIR");
}

static void nothing_is_made_in_the_home_of_another(void **state) {
    char told[PATH_MAX + 64];
    (void)snprintf(told, sizeof told, "%s belongs to user 12345, not to you (0)",
                   (const char *)*state);
    make_foreign_home(*state);
    fixture_expect_without(told);
    setenv("REKINDLE_DIR", "~/kept", 1); // locks the user out as much
    fixture_expect_without(told);
    setenv("REKINDLE_MODE", "off", 1);
    fixture_expect_mode(RK_MODE_OFF);
    setenv("REKINDLE_MODE", "readonly", 1); // makes none
    fixture_expect_mode(RK_MODE_READONLY);
    unsetenv("REKINDLE_MODE");
    // A folder that is ours does not make the home so.
    rk_autofree char *cache = below(*state, ".cache");
    assert_null(rk_fs_make_dirs(cache, 0700));
    unsetenv("REKINDLE_DIR");
    fixture_expect_without(told);
}

static void a_store_that_is_there_is_used(void **state) {
    make_foreign_home(*state);
    rk_autofree char *store = below(*state, ".cache/rekindle");
    assert_null(rk_fs_make_dirs(store, 0700));
    fixture_expect_mode(RK_MODE_READWRITE);
}

static void a_folder_outside_of_the_home_is_the_users_choice(void **state) {
    make_foreign_home(*state);
    char *elsewhere = rk_test_tempdir();
    rk_autofree char *store = below(elsewhere, "store");
    setenv("REKINDLE_DIR", store, 1);
    fixture_expect_mode(RK_MODE_READWRITE);
    // Also one of somebody else: a volume that a container has from its host.
    assert_int_equal(chown(elsewhere, SOMEBODY, SOMEBODY), 0);
    fixture_expect_mode(RK_MODE_READWRITE);
    rk_test_tempdir_remove(elsewhere);
}

// `sudo -E` with a home of root's own.
static void nor_in_the_cache_folder_of_another(void **state) {
    make_foreign_home(*state);
    char *home = rk_test_tempdir();
    setenv("HOME", home, 1);
    setenv("XDG_CACHE_HOME", *state, 1);
    fixture_expect_without("belongs to user 12345");
    setenv("XDG_CACHE_HOME", home, 1);
    fixture_expect_mode(RK_MODE_READWRITE);
    rk_test_tempdir_remove(home);
}

static void ones_own_home_is_used(void **state) {
    setenv("HOME", *state, 1);
    unsetenv("REKINDLE_DIR");
    fixture_expect_mode(RK_MODE_READWRITE);
    setenv("HOME", "/", 1); // a service's: everything is below it
    rk_autofree char *store = below(*state, "store");
    setenv("REKINDLE_DIR", store, 1);
    fixture_expect_mode(RK_MODE_READWRITE);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_begin, fixture_end)
    const struct CMUnitTest tests[] = {
        TEST(what_is_right_is_as_ever),
        TEST(a_config_that_cannot_be_read_is_no_wrong_value),
        TEST(the_config_of_others_is_no_wrong_value),
        TEST(what_the_environment_says_holds_all_the_same),
        TEST(off_never_fails),
        TEST(a_wrong_mode_is_not_off),
        TEST(a_wrong_value_replaces_nothing),
        TEST(nothing_is_made_in_the_home_of_another),
        TEST(a_store_that_is_there_is_used),
        TEST(a_folder_outside_of_the_home_is_the_users_choice),
        TEST(nor_in_the_cache_folder_of_another),
        TEST(ones_own_home_is_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
