// Settings of a job if something cannot be read, or if the home belongs to another user.
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

static void expect_off_and_reported(const char *part) {
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
    fixture_expect_without("not a regular file: replace it with a text file");
    assert_int_equal(rmdir(config), 0);
    assert_int_equal(symlink("nowhere", config), 0);
    fixture_expect_without("/config is a broken symbolic link: remove it");
    assert_int_equal(unlink(config), 0);
    assert_int_equal(symlink("config", config), 0); // a link to itself
    fixture_expect_without("is a broken symbolic link");
    setenv("REKINDLE_MODE", "off", 1);
    fixture_expect_mode(RK_MODE_OFF);
}

static const char *asked; // the folder of the last call

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
    assert_null(asked); // not called, because no value is wrong
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

static void the_environment_still_applies(void **state) {
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
    expect_off_and_reported("REKINDLE_MAX_SIZE");
    setenv("REKINDLE_DIR", "s3://bucket", 1);
    expect_off_and_reported("REKINDLE_DIR");
    unsetenv("REKINDLE_MODE");
    expect_wrong("REKINDLE_DIR");
    setenv("REKINDLE_DIR", *state, 1);
    fixture_write_config(*state, "no equals sign\nmode = off\nmax_sise = 1\n");
    expect_off_and_reported("/config:1:");
}

static void a_wrong_mode_is_not_off(void **state) {
    fixture_write_config(*state, "mode = off\n");
    setenv("REKINDLE_MODE", "of", 1);
    expect_wrong("REKINDLE_MODE is \"of\"");
    setenv("REKINDLE_MODE", "", 1); // the default, which hides the file's value
    setenv("REKINDLE_MAX_SIZE", "x", 1);
    expect_wrong("REKINDLE_MAX_SIZE");
}

// A refused value leaves the earlier value unchanged.
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

// Gives `home` to another user and makes it $HOME. The default store then lies in it.
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
    char message[PATH_MAX + 64];
    (void)snprintf(message, sizeof message, "%s belongs to user 12345, not to you (0)",
                   (const char *)*state);
    make_foreign_home(*state);
    fixture_expect_without(message);
    setenv("REKINDLE_DIR", "~/kept", 1); // would exclude the home's owner too
    fixture_expect_without(message);
    setenv("REKINDLE_MODE", "off", 1);
    fixture_expect_mode(RK_MODE_OFF);
    setenv("REKINDLE_MODE", "readonly", 1); // creates no store
    fixture_expect_mode(RK_MODE_READONLY);
    unsetenv("REKINDLE_MODE");
    // Our own folder in it does not change the home's owner.
    rk_autofree char *cache = below(*state, ".cache");
    assert_null(rk_fs_make_dirs(cache, 0700));
    unsetenv("REKINDLE_DIR");
    fixture_expect_without(message);
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
    // Also allowed if another user owns it, as for a volume that a container gets from its host.
    assert_int_equal(chown(elsewhere, SOMEBODY, SOMEBODY), 0);
    fixture_expect_mode(RK_MODE_READWRITE);
    rk_test_tempdir_remove(elsewhere);
}

// As with `sudo -E`, but with root's own home.
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
    setenv("HOME", "/", 1); // the home of a service: everything is below it
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
        TEST(the_environment_still_applies),
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
