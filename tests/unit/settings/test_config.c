#include <unistd.h>

#include "fixture.h"

#define AUTO_SETTINGS __attribute__((cleanup(rk_settings_cleanup))) rk_settings *

static void defaults_are_those_of_the_contract(void **state) {
    AUTO_SETTINGS settings = fixture_load();
    const rk_settings_values *values = rk_settings_get(settings);
    assert_string_equal(values->dir, *state);
    assert_int_equal(values->mode, RK_MODE_READWRITE);
    assert_string_equal(values->plugin, "");
    assert_string_equal(values->job, "");
    assert_string_equal(values->signing_key, "");
    assert_string_equal(values->trusted_keys, "");
    assert_int_equal(values->max_size_bytes, (uint64_t)20 << 30);
    assert_int_equal(values->min_compile_ns, 0);
    assert_true(values->keep_programs);
    assert_string_equal(values->name_space, "");
    assert_string_equal(values->key_ignore, "");
    assert_int_equal(values->log_level, RK_LOG_WARN);
    assert_int_equal(values->drain_ns, 10000000000);
    assert_int_equal(values->wait_ns, 1800000000000);
    assert_int_equal(values->memory_ns, 60000000000);
    assert_int_equal(values->verify_ppm, 0);
    assert_false(values->torch_compile);
    static const char *const texts[RK_SETTING_COUNT] = {
        [RK_SETTING_MODE] = "readwrite",
        [RK_SETTING_PLUGIN] = "",
        [RK_SETTING_JOB] = "",
        [RK_SETTING_MAX_SIZE] = "20G",
        [RK_SETTING_MIN_COMPILE_SECONDS] = "0",
        [RK_SETTING_PRELOAD] = "1",
        [RK_SETTING_STRICT] = "off",
        [RK_SETTING_WARMUP] = "auto",
        [RK_SETTING_REMOTE] = "",
        [RK_SETTING_SIGNING_KEY] = "",
        [RK_SETTING_TRUSTED_KEYS] = "",
        [RK_SETTING_KEEP_PROGRAMS] = "1",
        [RK_SETTING_NAMESPACE] = "",
        [RK_SETTING_KEY_IGNORE] = "",
        [RK_SETTING_LOG] = "warn",
        [RK_SETTING_DRAIN_SECONDS] = "10",
        [RK_SETTING_WAIT_SECONDS] = "1800",
        [RK_SETTING_MEMORY_SECONDS] = "60",
        [RK_SETTING_VERIFY] = "0",
        [RK_SETTING_TORCH_COMPILE] = "0",
    };
    for (size_t i = 0; i < RK_SETTING_COUNT; i++) {
        rk_setting setting = rk_settings_describe(settings, (rk_setting_id)i);
        assert_string_equal(setting.variable, fixture_variables[i]);
        if (i == RK_SETTING_DIR)
            continue;
        assert_string_equal(setting.value, texts[i]);
        assert_int_equal(setting.source, RK_SOURCE_DEFAULT);
    }
}

static void environment_wins_over_config_over_default(void **state) {
    fixture_write_config(*state, "mode = readonly\nmax_size = 5M\n");
    setenv("REKINDLE_MODE", "refresh", 1);
    AUTO_SETTINGS settings = fixture_load();
    assert_int_equal(rk_settings_get(settings)->mode, RK_MODE_REFRESH);
    assert_int_equal(rk_settings_get(settings)->max_size_bytes, 5 << 20);
    rk_setting mode = rk_settings_describe(settings, RK_SETTING_MODE);
    assert_string_equal(mode.value, "refresh");
    assert_string_equal(rk_setting_source_name(mode.source), "environment");
    rk_setting size = rk_settings_describe(settings, RK_SETTING_MAX_SIZE);
    assert_string_equal(size.value, "5M");
    assert_string_equal(rk_setting_source_name(size.source), "config");
    rk_setting log = rk_settings_describe(settings, RK_SETTING_LOG);
    assert_string_equal(rk_setting_source_name(log.source), "default");
    assert_string_equal(rk_mode_name(RK_MODE_REFRESH), "refresh");
}

static void key_files_are_absolute(void **state) {
    char here[4096], expected[8192];
    assert_non_null(getcwd(here, sizeof here));
    fixture_write_config(*state, "signing_key = /etc/key\ntrusted_keys = /etc/keys\n");
    setenv("REKINDLE_SIGNING_KEY", "./keys/mine", 1);
    AUTO_SETTINGS settings = fixture_load();
    (void)snprintf(expected, sizeof expected, "%s/keys/mine", here);
    assert_string_equal(rk_settings_get(settings)->signing_key, expected);
    assert_string_equal(rk_settings_get(settings)->trusted_keys, "/etc/keys");
    setenv("REKINDLE_SIGNING_KEY", "", 1);
    setenv("REKINDLE_TRUSTED_KEYS", "~/keys", 1);
    AUTO_SETTINGS again = fixture_load();
    assert_string_equal(rk_settings_get(again)->signing_key, "");
    const char *path = rk_settings_get(again)->trusted_keys;
    assert_int_equal(path[0], '/');
    assert_string_equal(path + strlen(path) - 5, "/keys");
}

static void an_empty_variable_hides_the_config(void **state) {
    fixture_write_config(*state, "namespace = team\nmode = off\n");
    setenv("REKINDLE_NAMESPACE", "", 1);
    setenv("REKINDLE_MODE", "", 1);
    AUTO_SETTINGS settings = fixture_load();
    assert_string_equal(rk_settings_get(settings)->name_space, "");
    assert_int_equal(rk_settings_get(settings)->mode, RK_MODE_READWRITE);
}

static void torch_compile_has_three_values(void **state) {
    (void)state;
    static const struct {
        const char *value;
        bool caches, sizes;
    } values[] = {{"0", false, false}, {"1", true, false}, {"pgo", true, true}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        setenv("REKINDLE_TORCH_COMPILE", values[i].value, 1);
        AUTO_SETTINGS settings = fixture_load();
        assert_int_equal(rk_settings_get(settings)->torch_compile, values[i].caches);
        assert_int_equal(rk_settings_get(settings)->torch_sizes, values[i].sizes);
    }
}

static void values_are_copies(void **state) {
    (void)state;
    setenv("REKINDLE_JOB", "nightly", 1);
    AUTO_SETTINGS settings = fixture_load();
    setenv("REKINDLE_JOB", "another", 1);
    assert_string_equal(rk_settings_get(settings)->job, "nightly");
}

static void config_lines_may_have_blanks_comments_and_carriage_returns(void **state) {
    fixture_write_config(*state, "# a comment\r\n\n  mode=off\r\n\tlog\t=\tdebug  # loud\r\n"
                                 "remote = redis://cache.example:6379/0 https://h/a#b\n"
                                 "keep_programs = 0");
    AUTO_SETTINGS settings = fixture_load();
    assert_int_equal(rk_settings_get(settings)->mode, RK_MODE_OFF);
    assert_int_equal(rk_settings_get(settings)->log_level, RK_LOG_DEBUG);
    assert_false(rk_settings_get(settings)->keep_programs);
    assert_string_equal(rk_settings_describe(settings, RK_SETTING_REMOTE).value,
                        "redis://cache.example:6379/0 https://h/a#b");
}

static void config_may_be_a_link(void **state) {
    rk_autofree char *elsewhere = rk_path_join(*state, "my-config");
    rk_autofree char *link_path = rk_path_join(*state, "config");
    assert_null(rk_fs_publish(elsewhere, "mode = off\n", 11, 0600));
    assert_int_equal(symlink(elsewhere, link_path), 0);
    AUTO_SETTINGS settings = fixture_load();
    assert_int_equal(rk_settings_get(settings)->mode, RK_MODE_OFF);
}

static void a_misspelt_variable_is_distinguished_from_others(void **state) {
    (void)state;
    static const char *const slips[][2] = {
        {"REKINDLE_MDOE", "REKINDLE_MODE"},
        {"REKINDLE_STRCT", "REKINDLE_STRICT"},
        {"REKINDLE_DIRR", "REKINDLE_DIR"},
        {"REKINDLE_MAXSIZE", "REKINDLE_MAX_SIZE"},
        {"REKINDLE_MAX_SIZES", "REKINDLE_MAX_SIZE"},
        {"REKINDLE_mode", "REKINDLE_MODE"},
        {"REKINDLE_KEY_IGNORES", "REKINDLE_KEY_IGNORE"},
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(slips); i++)
        assert_string_equal(rk_settings_misspelt(rk_span_text(slips[i][0])), slips[i][1]);
    static const char *const others[] = {
        "REKINDLE_LIBRARY", "REKINDLE_RUN", "REKINDLE_", "REKINDLE_BENCH_BUILD",
        "REKINDLE_E2E",     "PATH",         "MODE",      ""};
    for (size_t i = 0; i < RK_ARRAY_LEN(others); i++)
        assert_null(rk_settings_misspelt(rk_span_text(others[i])));
    for (size_t i = 0; i < RK_SETTING_COUNT; i++)
        assert_null(rk_settings_misspelt(rk_span_text(fixture_variables[i])));
}

static void unknown_names_are_reported_with_the_nearest(void **state) {
    fixture_write_config(*state, "mode = off\nmax_sise = 5G\n");
    EXPECT_REFUSED("/config:2:", "\"max_sise\"", "\"max_size\"");
    fixture_write_config(*state, "REKINDLE_KEEP_PROGRAM = 1\n");
    EXPECT_REFUSED("/config:1:", "\"keep_programs\"", "lower case");
    fixture_write_config(*state, "MODE = off\n");
    EXPECT_REFUSED("closest is \"mode\"");
    fixture_write_config(*state, "colour = red\n");
    EXPECT_REFUSED("there is no setting \"colour\" (names are in lower case");
    fixture_write_config(*state, "= off\n");
    EXPECT_REFUSED("/config:1:", "no setting \"\"");
}

static void wrong_config_lines_name_file_and_line(void **state) {
    fixture_write_config(*state, "\n\nmode = on\n");
    EXPECT_REFUSED("/config:3: mode is \"on\"; use readwrite, readonly, refresh or off");
    fixture_write_config(*state, "dir = /elsewhere\n");
    EXPECT_REFUSED("/config:1:", "REKINDLE_DIR");
    fixture_write_config(*state, "mode off\n");
    EXPECT_REFUSED("/config:1:", "name = value");
    fixture_write_config(*state, "mode = off\nmode = off\n");
    EXPECT_REFUSED("/config:2: mode is set twice");
}

static void a_wrong_config_value_is_reported_although_the_environment_hides_it(void **state) {
    fixture_write_config(*state, "mode = on\n");
    setenv("REKINDLE_MODE", "off", 1);
    EXPECT_REFUSED("/config:1:");
}

static void a_config_that_is_no_text_is_refused(void **state) {
    rk_autofree char *path = rk_path_join(*state, "config");
    assert_null(rk_fs_publish(path, "mode = off\0\n", 12, 0600));
    rk_settings *settings = NULL;
    rk_autoerr binary = rk_settings_load(NULL, &settings);
    assert_non_null(binary);
    assert_false(rk_settings_is_wrong(binary));
    assert_non_null(strstr(rk_err_message(binary), "not a text file"));
    assert_null(rk_fs_remove(path));
    assert_null(rk_fs_make_dirs(path, 0700));
    rk_autoerr err = rk_settings_load(NULL, &settings);
    assert_non_null(err);
    assert_non_null(strstr(rk_err_message(err), "not a regular file"));
}

static void wrong_variables_say_what_would_be_right(void **state) {
    (void)state;
    setenv("REKINDLE_MODE", "readwrit", 1);
    EXPECT_REFUSED("REKINDLE_MODE is \"readwrit\"; use readwrite, readonly, refresh or off");
    setenv("REKINDLE_MODE", "off", 1);
    static const char *const wrong[][2] = {
        {"REKINDLE_JOB", "../up"},          {"REKINDLE_NAMESPACE", "a/b"},
        {"REKINDLE_MAX_SIZE", "20 apples"}, {"REKINDLE_MIN_COMPILE_SECONDS", "-1"},
        {"REKINDLE_PRELOAD", "maybe"},      {"REKINDLE_STRICT", "on"},
        {"REKINDLE_WARMUP", "5"},           {"REKINDLE_REMOTE", "gs://bucket"},
        {"REKINDLE_SIGNING_KEY", "s3://b"}, {"REKINDLE_TRUSTED_KEYS", "https://h/k"},
        {"REKINDLE_KEEP_PROGRAMS", "2"},    {"REKINDLE_KEY_IGNORE", "--xla_a=1"},
        {"REKINDLE_LOG", "loud"},           {"REKINDLE_PLUGIN", "https://h/p.so"},
        {"REKINDLE_DRAIN_SECONDS", "soon"}, {"REKINDLE_WAIT_SECONDS", "for ever"},
        {"REKINDLE_VERIFY", "always"},
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(wrong); i++) {
        setenv(wrong[i][0], wrong[i][1], 1);
        EXPECT_REFUSED(wrong[i][0]);
        unsetenv(wrong[i][0]);
    }
}

static void a_password_is_not_in_the_message(void **state) {
    (void)state;
    setenv("REKINDLE_REMOTE", "ftp://user:canary@host/", 1);
    rk_settings *settings = NULL;
    rk_autoerr err = rk_settings_load(NULL, &settings);
    assert_non_null(err);
    assert_null(strstr(rk_err_message(err), "canary"));
    assert_non_null(strstr(rk_err_message(err), "ftp:"));
}

static void a_name_too_long_is_refused(void **state) {
    (void)state;
    char name[66];
    memset(name, 'n', sizeof name - 1);
    name[65] = '\0';
    setenv("REKINDLE_NAMESPACE", name, 1);
    EXPECT_REFUSED("REKINDLE_NAMESPACE", "at most 64");
    name[64] = '\0';
    setenv("REKINDLE_NAMESPACE", name, 1);
    AUTO_SETTINGS settings = fixture_load();
    assert_string_equal(rk_settings_get(settings)->name_space, name);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_begin, fixture_end)
    const struct CMUnitTest tests[] = {
        TEST(defaults_are_those_of_the_contract),
        TEST(environment_wins_over_config_over_default),
        TEST(an_empty_variable_hides_the_config),
        TEST(key_files_are_absolute),
        TEST(torch_compile_has_three_values),
        TEST(values_are_copies),
        TEST(config_lines_may_have_blanks_comments_and_carriage_returns),
        TEST(config_may_be_a_link),
        TEST(a_misspelt_variable_is_distinguished_from_others),
        TEST(unknown_names_are_reported_with_the_nearest),
        TEST(wrong_config_lines_name_file_and_line),
        TEST(a_wrong_config_value_is_reported_although_the_environment_hides_it),
        TEST(a_config_that_is_no_text_is_refused),
        TEST(wrong_variables_say_what_would_be_right),
        TEST(a_password_is_not_in_the_message),
        TEST(a_name_too_long_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
