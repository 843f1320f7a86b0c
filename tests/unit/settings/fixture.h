// An environment without any setting, and a store of its own, for each test.
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
    "XDG_CACHE_HOME",
};

// `*state` becomes the store's directory; REKINDLE_DIR names it.
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
    rk_autoerr err = rk_settings_load(&settings);
    if (err)
        fail_msg("%s", rk_err_message(err));
    assert_non_null(settings);
    return settings;
}

// Loading must fail as an invalid argument, with all of these in its message.
static inline void fixture_expect_refused(const char *const *parts) {
    rk_settings *settings = NULL;
    rk_autoerr err = rk_settings_load(&settings);
    assert_null(settings);
    assert_non_null(err);
    assert_int_equal(rk_err_code(err), RK_INVALID_ARGUMENT);
    for (; *parts; parts++)
        if (!strstr(rk_err_message(err), *parts))
            fail_msg("\"%s\" is not in: %s", *parts, rk_err_message(err));
}

#define EXPECT_REFUSED(...) fixture_expect_refused((const char *const[]){__VA_ARGS__, NULL})
