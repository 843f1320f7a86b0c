// An environment without settings, and a separate store, for each test.
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "settings/settings.h"
#include "support/cmocka.h"
#include "support/tempdir.h"

static const char *const fixture_variables[] = {
    "REKINDLE_DIR",
    "REKINDLE_MODE",
    "REKINDLE_PLUGIN",
    "REKINDLE_JOB",
    "REKINDLE_MAX_SIZE",
    "REKINDLE_MIN_COMPILE_SECONDS",
    "REKINDLE_PRELOAD",
    "REKINDLE_STRICT",
    "REKINDLE_WARMUP",
    "REKINDLE_REMOTE",
    "REKINDLE_SIGNING_KEY",
    "REKINDLE_TRUSTED_KEYS",
    "REKINDLE_KEEP_PROGRAMS",
    "REKINDLE_NAMESPACE",
    "REKINDLE_KEY_IGNORE",
    "REKINDLE_LOG",
    "REKINDLE_DRAIN_SECONDS",
    "REKINDLE_WAIT_SECONDS",
    "REKINDLE_MEMORY_SECONDS",
    "REKINDLE_VERIFY",
    "REKINDLE_TORCH_COMPILE",
    "XDG_CACHE_HOME",
};

// Sets `*state` to the store's directory, which REKINDLE_DIR names.
static inline int fixture_begin(void **state) {
    for (size_t i = 0; i < RK_ARRAY_LEN(fixture_variables); i++)
        (void)unsetenv(fixture_variables[i]);
    *state = rk_test_tempdir();
    return setenv("REKINDLE_DIR", *state, 1);
}

static inline int fixture_end(void **state) {
    rk_test_tempdir_remove(*state);
    return 0;
}

static inline void fixture_write_config(const char *directory, const char *text) {
    rk_autofree char *path = rk_path_join(directory, "config");
    assert_null(rk_fs_publish(path, text, strlen(text), 0600));
}

static inline rk_settings *fixture_load(void) {
    rk_settings *settings = NULL;
    rk_autoerr err = rk_settings_load(NULL, &settings);
    if (err)
        fail_msg("%s", rk_err_message(err));
    assert_non_null(settings);
    return settings;
}

// Loading must fail with RK_INVALID_ARGUMENT and a message that contains all parts.
static inline void fixture_expect_refused(const char *const *parts) {
    rk_settings *settings = NULL;
    rk_autoerr err = rk_settings_load(NULL, &settings);
    assert_null(settings);
    assert_non_null(err);
    assert_int_equal(rk_err_code(err), RK_INVALID_ARGUMENT);
    for (; *parts; parts++)
        if (!strstr(rk_err_message(err), *parts))
            fail_msg("\"%s\" is not in: %s", *parts, rk_err_message(err));
}

// The settings of a job. `*out_trouble` is owned.
static inline rk_settings *fixture_load_for_job(rk_err **out_trouble) {
    rk_settings *settings = NULL;
    rk_autoerr err = rk_settings_load_for_job(NULL, &settings, out_trouble);
    if (err)
        fail_msg("%s", rk_err_message(err));
    assert_non_null(settings);
    return settings;
}

// A job must run without rekindle. The message contains `part`, and no value is wrong.
static inline void fixture_expect_without(const char *part) {
    rk_autoerr trouble = NULL;
    rk_settings *settings = fixture_load_for_job(&trouble);
    assert_int_equal(rk_settings_get(settings)->mode, RK_MODE_OFF);
    rk_settings_free(settings);
    assert_non_null(trouble);
    assert_false(rk_settings_is_wrong(trouble));
    if (!strstr(rk_err_message(trouble), part))
        fail_msg("\"%s\" is not in: %s", part, rk_err_message(trouble));
}

// A job must get this mode and no message.
static inline void fixture_expect_mode(rk_mode mode) {
    rk_autoerr trouble = NULL;
    rk_settings *settings = fixture_load_for_job(&trouble);
    if (trouble)
        fail_msg("%s", rk_err_message(trouble));
    assert_int_equal(rk_settings_get(settings)->mode, mode);
    rk_settings_free(settings);
}

#define EXPECT_REFUSED(...) fixture_expect_refused((const char *const[]){__VA_ARGS__, NULL})
