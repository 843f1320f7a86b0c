#include "cli/summary.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/expect.h"
#include "support/tempdir.h"

#define MS UINT64_C(1000000)

static void expect_summary(const rk_run_model *model, const rk_run_totals *totals,
                           const char *expected) {
    RK_AUTO(rk_buf) out = RK_BUF_INIT(0);
    rk_summary_write(model, totals, &out);
    rk_expect_ok(rk_buf_status(&out));
    assert_string_equal(rk_buf_text(&out), expected);
}

static const rk_run_model watched = {.client_count = 1};

static void a_warm_run_says_what_it_saved(void **state) {
    (void)state;
    const rk_run_totals totals = {.programs = 3, .hits = 3, .saved_ns = 2100 * MS};
    expect_summary(&watched, &totals, "3 programs, 3 loaded, 0 compiled, saved 2.1 s");
}

static void a_cold_run_says_what_it_cost(void **state) {
    (void)state;
    const rk_run_totals totals = {
        .programs = 1, .misses = 1, .compiled = 1, .compile_ns = 640 * MS};
    expect_summary(&watched, &totals, "1 program, 0 loaded, 1 compiled in 0.64 s");
}

static void a_failed_compilation_compiled_nothing(void **state) {
    (void)state;
    rk_run_compile compiles[] = {
        {.compiled = true, .compile_ns = 3000 * MS},
        {.compiled = true, .failed = true, .compile_ns = 1000 * MS},
    };
    rk_run_model model = {.client_count = 1, .compiles = compiles, .compile_count = 2};
    const rk_run_totals totals = {
        .programs = 2, .misses = 2, .compiled = 2, .compile_ns = 4000 * MS};
    expect_summary(&model, &totals,
                   "2 programs, 0 loaded, 1 compiled in 3.0 s, 1 failed to compile after 1.0 s");
    model.compiles = &compiles[1];
    model.compile_count = 1;
    const rk_run_totals one = {.programs = 1, .misses = 1, .compiled = 1, .compile_ns = 1000 * MS};
    expect_summary(&model, &one,
                   "1 program, 0 loaded, 0 compiled, 1 failed to compile after 1.0 s");
}

// A program that a process requests twice is one program.
static void repeated_requests_are_counted_apart(void **state) {
    (void)state;
    static char one[] = "one", two[] = "two";
    rk_run_compile compiles[] = {
        {.seq = 1, .compiled = true, .compile_ns = 3000 * MS},
        {.seq = 2, .compiled = true, .compile_ns = 1000 * MS},
        {.seq = 3, .outcome = RK_OUTCOME_HIT},
    };
    rk_run_model model = {.client_count = 1, .compiles = compiles, .compile_count = 3};
    (void)snprintf(compiles[0].key, sizeof compiles[0].key, "%s", one);
    (void)snprintf(compiles[1].key, sizeof compiles[1].key, "%s", two);
    (void)snprintf(compiles[2].key, sizeof compiles[2].key, "%s", one);
    rk_run_totals totals = {
        .programs = 2, .hits = 1, .misses = 2, .compiled = 2, .compile_ns = 4000 * MS};
    expect_summary(&model, &totals, "2 programs, 0 loaded, 2 compiled in 4.0 s, 1 requested again");
    for (size_t i = 0; i < 2; i++) // the next start
        compiles[i] = (rk_run_compile){.seq = i + 1, .outcome = RK_OUTCOME_HIT};
    (void)snprintf(compiles[0].key, sizeof compiles[0].key, "%s", one);
    (void)snprintf(compiles[1].key, sizeof compiles[1].key, "%s", two);
    totals = (rk_run_totals){.programs = 2, .hits = 3, .saved_ns = 3900 * MS};
    expect_summary(&model, &totals,
                   "2 programs, 2 loaded, 0 compiled, 1 requested again, saved 3.9 s");
}

static void troubles_are_named_where_there_are_any(void **state) {
    (void)state;
    const rk_run_totals totals = {
        .programs = 1234,
        .hits = 1,
        .compiled = 4,
        .compile_ns = 4000 * MS,
        .bypassed = 2,
        .preloaded = 1,
        .deserialize_failures = 1,
        .quarantined = 1,
        .not_stored = 2,
        .saved_ns = 90 * MS,
        .warning_count = 2,
    };
    expect_summary(
        &watched, &totals,
        "1,234 programs, 1 loaded, 4 compiled in 4.0 s, 1 prefetched, 2 bypassed, 1 failed to "
        "load, 1 quarantined, 2 not stored, saved 90 ms; 2 warnings: see `rekindle stats`");
}

static void no_plugin_is_said_to_be_none(void **state) {
    (void)state;
    const rk_run_model nothing = {0};
    const rk_run_totals none = {0}, warned = {.warning_count = 1};
    static const char text[] =
        "no PJRT plugin was seen to create a client, so there is nothing to keep (the built-in CPU "
        "backends of JAX and PyTorch/XLA are not plugins; rekindle does not see a plugin that is "
        "linked in, or whose GetPjrtApi is not looked up with dlsym)";
    expect_summary(&nothing, &none, text);
    RK_AUTO(rk_buf) with_warning = RK_BUF_INIT(0);
    rk_buf_add_format(&with_warning, "%s; 1 warning: see `rekindle stats`", text);
    expect_summary(&nothing, &warned, rk_buf_text(&with_warning));
    expect_summary(&watched, &none, "0 programs, 0 loaded, 0 compiled");
}

static void a_plugin_without_a_client_is_named(void **state) {
    (void)state;
    rk_run_process process = {.pid = 1};
    char plugin[] = "/opt/p.so", unknown[] = "", reason[] = "it made no client: no\x1b[2J device";
    rk_run_unwatched unwatched = {.plugin = plugin, .reason = reason};
    rk_run_model model = {
        .processes = &process, .process_count = 1, .unwatched = &unwatched, .unwatched_count = 1};
    const rk_run_totals none = {0}, warned = {.warning_count = 1};
    expect_summary(&model, &none,
                   "nothing to keep, the PJRT plugin /opt/p.so was not watched: it made no client: "
                   "no\\x1b[2J device");
    unwatched.plugin = unknown;
    expect_summary(&model, &warned,
                   "nothing to keep, the PJRT plugin was not watched: it made no client: "
                   "no\\x1b[2J device; 1 warning: see `rekindle stats`");
    model.unwatched_count = 0;
    expect_summary(&model, &none, "nothing to keep, no client of a PJRT plugin was watched");
    model.unwatched_count = 1;
    model.client_count = 1;
    expect_summary(&model, &none, "0 programs, 0 loaded, 0 compiled");
}

static void expect_nothing_in(const char *directory, bool may_make_store, const char *expected) {
    RK_AUTO(rk_buf) out = RK_BUF_INIT(0), remedy = RK_BUF_INIT(0);
    rk_summary_write_nothing(directory, may_make_store, "/bin/sh", 0, &out, &remedy);
    assert_int_equal(remedy.len, 0);
    if (!strstr(rk_buf_text(&out), expected))
        fail_msg("%s: %s", directory, rk_buf_text(&out));
}

static void expect_nothing(const char *directory, const char *expected) {
    expect_nothing_in(directory, true, expected);
}

static void a_store_that_cannot_record_is_not_taken_for_no_plugin(void **state) {
    (void)state;
    char *directory = rk_test_tempdir();
    RK_AUTO(rk_buf) below = RK_BUF_INIT(0);
    rk_buf_add_format(&below, "%s/not/yet", directory);
    expect_nothing(directory, "no PJRT plugin was seen");
    expect_nothing(rk_buf_text(&below), "no PJRT plugin was seen");
    expect_nothing_in(directory, false, "no PJRT plugin was seen");
    expect_nothing_in(rk_buf_text(&below), false, "nothing was recorded: there is no store at ");
    assert_int_equal(chmod(directory, 0770), 0);
    expect_nothing(directory, "nothing was recorded: ");
    expect_nothing(directory, "is writable by other users");
    expect_nothing(rk_buf_text(&below), "no PJRT plugin was seen");
    assert_int_equal(chmod(directory, 0700), 0);
    RK_AUTO(rk_buf) link = RK_BUF_INIT(0);
    rk_buf_add_format(&link, "%s/link", directory);
    assert_int_equal(symlink("nowhere", rk_buf_text(&link)), 0);
    expect_nothing(rk_buf_text(&link), "is a broken symbolic link");
    if (geteuid() == 0)
        expect_nothing("/nowhere/at/all", "no PJRT plugin was seen");
    // No directory can be made below a device, not even by root.
    expect_nothing("/dev/null/store", "cannot be written");
    rk_test_tempdir_remove(directory);
}

static void expect_torch(const rk_run_torch *torch, const char *expected) {
    RK_AUTO(rk_buf) out = RK_BUF_INIT(0);
    rk_summary_add_torch(torch, &out);
    assert_string_equal(rk_buf_text(&out), expected);
}

static void torch_compile_says_what_happened(void **state) {
    (void)state;
    expect_torch(&(rk_run_torch){.kept = 3, .made = 3},
                 "no file of torch.compile's caches was in the store, 3 new");
    expect_torch(&(rk_run_torch){.restored = 1, .present = 2},
                 "1 file of torch.compile's caches restored, 2 already there, 0 new");
    expect_torch(&(rk_run_torch){.present = 2},
                 "2 files of torch.compile's caches already there, 0 new");
    expect_torch(&(rk_run_torch){.not_restored = 9, .present = 1, .kept = 2, .not_kept = 1},
                 "0 files of torch.compile's caches restored, 1 already there, 9 not restored, 2 "
                 "new, 1 not stored");
    expect_torch(&(rk_run_torch){.restored = 2, .made = 5, .damaged = 1},
                 "2 files of torch.compile's caches restored, 5 new and not stored, 1 pack "
                 "damaged");
}

// A user of torch alone need not know what a plugin is.
static void torch_compile_hides_missing_plugins(void **state) {
    (void)state;
    const rk_run_model model = {.process_count = 1};
    rk_run_totals totals = {.torch = {.starts = 1, .present = 2}};
    expect_summary(&model, &totals, "2 files of torch.compile's caches already there, 0 new");
    static char why[] = "sh is not a Python";
    const rk_run_model left = {.process_count = 1, .torch_why = why};
    const rk_run_totals none = {.programs = 0};
    expect_summary(&left, &none,
                   "nothing to keep, no client of a PJRT plugin was watched; torch.compile's "
                   "caches were left alone: sh is not a Python");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(torch_compile_says_what_happened),
        cmocka_unit_test(torch_compile_hides_missing_plugins),
        cmocka_unit_test(a_warm_run_says_what_it_saved),
        cmocka_unit_test(a_cold_run_says_what_it_cost),
        cmocka_unit_test(a_failed_compilation_compiled_nothing),
        cmocka_unit_test(repeated_requests_are_counted_apart),
        cmocka_unit_test(troubles_are_named_where_there_are_any),
        cmocka_unit_test(no_plugin_is_said_to_be_none),
        cmocka_unit_test(a_plugin_without_a_client_is_named),
        cmocka_unit_test(a_store_that_cannot_record_is_not_taken_for_no_plugin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
