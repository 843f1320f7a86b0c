#include <string.h>

#include "settings/values_internal.h"
#include "support/cmocka.h"

static void expect_refused(rk_err *err, const char *part) {
    assert_non_null(err);
    assert_int_equal(rk_err_code(err), RK_INVALID_ARGUMENT);
    assert_non_null(strstr(rk_err_message(err), "LABEL"));
    if (!strstr(rk_err_message(err), part))
        fail_msg("\"%s\" is not in: %s", part, rk_err_message(err));
    rk_err_free(err);
}

static void sizes(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {
        {"1", 1},
        {"4096", 4096},
        {"20G", (uint64_t)20 << 30},
        {"500M", (uint64_t)500 << 20},
        {"1.5G", (uint64_t)3 << 29},
        {"0.5k", 512},
        {"2T", (uint64_t)2 << 40},
        {"3KiB", 3072},
        {"3kb", 3072},
        {"1.000001M", 1048577},
        {"0", UINT64_MAX},
        {"0G", UINT64_MAX},
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(good); i++) {
        uint64_t bytes = 7;
        rk_autoerr err = rk_value_size("LABEL", good[i].text, &bytes);
        if (err)
            fail_msg("%s: %s", good[i].text, rk_err_message(err));
        assert_int_equal(bytes, good[i].bytes);
    }
    static const char *const bad[] = {"",     "G",   "1.5",  "-1",   "+1",         "1,5G",
                                      "1.G",  ".5G", "1 G",  "1GG",  "1Gi",        "1e3",
                                      "0x10", "nan", "1.5P", "20G ", "1.1234567G", "1234567890123"};
    for (size_t i = 0; i < RK_ARRAY_LEN(bad); i++) {
        uint64_t bytes = 7;
        rk_err *err = rk_value_size("LABEL", bad[i], &bytes);
        if (!err)
            fail_msg("\"%s\" was taken", bad[i]);
        expect_refused(err, "20G");
        assert_int_equal(bytes, 7);
    }
    uint64_t bytes = 0;
    expect_refused(rk_value_size("LABEL", "99999999999T", &bytes), "too large");
}

static void seconds(void **state) {
    (void)state;
    uint64_t ns = 0;
    assert_null(rk_value_seconds("LABEL", "0.25", &ns));
    assert_int_equal(ns, 250000000);
    assert_null(rk_value_seconds("LABEL", "1000000", &ns));
    assert_int_equal(ns, (uint64_t)1000000 * 1000000000);
    static const char *const bad[] = {"", "1000000.000001", "1s", "-0.1", "1e3", "0.", "inf"};
    for (size_t i = 0; i < RK_ARRAY_LEN(bad); i++)
        expect_refused(rk_value_seconds("LABEL", bad[i], &ns), "seconds");
}

static void shares(void **state) {
    (void)state;
    uint32_t ppm = 1;
    static const struct {
        const char *text;
        uint32_t ppm;
    } good[] = {{"0", 0}, {"0.01", 10000}, {"0.5", 500000}, {"1", 1000000}, {"1.0", 1000000}};
    for (size_t i = 0; i < RK_ARRAY_LEN(good); i++) {
        assert_null(rk_value_share("LABEL", good[i].text, &ppm));
        assert_int_equal(ppm, good[i].ppm);
    }
    static const char *const bad[] = {"", "1.000001", "2", "1%", "-0.1", ".5", "nan"};
    for (size_t i = 0; i < RK_ARRAY_LEN(bad); i++)
        expect_refused(rk_value_share("LABEL", bad[i], &ppm), "a share from 0 to 1");
}

static void choices_and_flags(void **state) {
    (void)state;
    static const char *const choices[] = {"one", "two", "three", NULL};
    size_t index = 0;
    assert_null(rk_value_choice("LABEL", "three", choices, &index));
    assert_int_equal(index, 2);
    expect_refused(rk_value_choice("LABEL", "Three", choices, &index),
                   "LABEL is \"Three\"; use one, two or three");
    bool flag = false;
    assert_null(rk_value_bool("LABEL", "yes", &flag));
    assert_true(flag);
    assert_null(rk_value_bool("LABEL", "0", &flag));
    assert_false(flag);
    expect_refused(rk_value_bool("LABEL", "2", &flag), "use 1 or 0");
}

static void warmup_forms(void **state) {
    (void)state;
    static const struct {
        const char *text;
        rk_warmup warmup;
    } good[] = {
        {"auto", {RK_WARMUP_AUTO, 0}},
        {"mark", {RK_WARMUP_MARK, 0}},
        {"5 steps", {RK_WARMUP_STEPS, 5}},
        {"1 step", {RK_WARMUP_STEPS, 1}},
        {"0 compiles", {RK_WARMUP_COMPILES, 0}},
        {"3  compile", {RK_WARMUP_COMPILES, 3}},
        {"2.5 seconds", {RK_WARMUP_SECONDS, 2500000000}},
        {"1\tsecond", {RK_WARMUP_SECONDS, 1000000000}},
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(good); i++) {
        rk_warmup warmup = {RK_WARMUP_AUTO, 77};
        rk_autoerr err = rk_value_warmup("LABEL", good[i].text, &warmup);
        if (err)
            fail_msg("%s: %s", good[i].text, rk_err_message(err));
        assert_int_equal(warmup.kind, good[i].warmup.kind);
        assert_int_equal(warmup.count, good[i].warmup.count);
    }
    static const char *const bad[] = {
        "",          "5",      "steps", "5 stepz",  "-5 steps",
        "1.5 steps", "5steps", "Auto",  "5 steps ", "1000000001 seconds"};
    for (size_t i = 0; i < RK_ARRAY_LEN(bad); i++) {
        rk_warmup warmup;
        expect_refused(rk_value_warmup("LABEL", bad[i], &warmup), "N steps");
    }
}

static void remote_addresses(void **state) {
    (void)state;
    assert_null(rk_value_remote("LABEL", ""));
    assert_null(rk_value_remote("LABEL", " redis://h:1/0?readonly=1\thttps://h/p file:///srv/x "
                                         "s3://b/p?endpoint=http://h rediss://h http://h"));
    static const char *const bad[] = {"gs://b",        "redis://", "/srv/cache",
                                      "file://host/x", "redis:/h", "https://h ftp://h"};
    for (size_t i = 0; i < RK_ARRAY_LEN(bad); i++)
        expect_refused(rk_value_remote("LABEL", bad[i]), "s3://bucket/prefix");
}

static void names_and_lists_of_names(void **state) {
    (void)state;
    assert_null(rk_value_name("LABEL", "Team_1.x-y", 64));
    assert_null(rk_value_name("LABEL", "", 64));
    static const char *const bad[] = {".hidden", "..", "a/b", "a b", "ä", "12345"};
    for (size_t i = 0; i < RK_ARRAY_LEN(bad); i++)
        expect_refused(rk_value_name("LABEL", bad[i], 4), "letters, digits");
    assert_null(rk_value_names("LABEL", "--xla_dump_to,TF_CPP_MIN_LOG_LEVEL xla.x"));
    expect_refused(rk_value_names("LABEL", "XLA_FLAGS=1"), "names only");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),
        cmocka_unit_test(seconds),
        cmocka_unit_test(shares),
        cmocka_unit_test(choices_and_flags),
        cmocka_unit_test(warmup_forms),
        cmocka_unit_test(remote_addresses),
        cmocka_unit_test(names_and_lists_of_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
