// Clocks that jump, and processes with another clock. Entries used in the last hour stay.
#include "aged.h"

#include <fcntl.h>
#include <stdio.h>
#include <time.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/process.h"
#include "store/evict_internal.h"
#include "support/tempdir.h"

#define HOUR_NS    (UINT64_C(3600) * 1000000000)
#define YEAR_HOURS 8760.0

static char *root;
static rk_store *store;

static int set_up(void **state) {
    (void)state;
    root = rk_test_tempdir();
    sample_ok(rk_store_open(root, false, &store));
    sample_ok(rk_store_set_limit(store, 1 << 20));
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    rk_clock_replace(NULL);
    rk_store_free(store);
    rk_test_tempdir_remove(root);
    return 0;
}

// Adds a record of a clock that was `hours` ahead, at some time since the boot.
static void add_sample(double hours) {
    rk_process self;
    rk_process_self(&self);
    rk_autofree char *path = rk_path_join(root, "usage/clock");
    rk_autofree char *folder = rk_path_join(root, "usage");
    (void)mkdir(folder, 0700);
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    int64_t offset_s = (int64_t)(rk_realtime_ns() / 1000000000) -
                       (int64_t)(rk_boottime_ns() / 1000000000) + (int64_t)(hours * 3600);
    (void)fprintf(file, "%016llx%016llx %lld\n", (unsigned long long)self.boot[0],
                  (unsigned long long)self.boot[1], (long long)offset_s);
    assert_int_equal(fclose(file), 0);
}

// The age of a time stamp that was made `hours` ago, by a clock that was `ahead_hours` ahead.
static double age_hours(double hours, double ahead_hours) {
    rk_last_use_clock clock;
    sample_ok(rk_last_use_load_clock(store, &clock));
    double stamp_ns = (double)clock.now_ns - (hours - ahead_hours) * (double)HOUR_NS;
    return (double)rk_last_use_age(&clock, (uint64_t)stamp_ns) / (double)HOUR_NS;
}

static void assert_near(double value, double expected) {
    if (value < expected - 0.05 || value > expected + 0.05)
        fail_msg("%.2f hours, not %.2f", value, expected);
}

static void without_jumps_age_is_age(void **state) {
    (void)state;
    assert_near(age_hours(0, 0), 0);
    assert_near(age_hours(5, 0), 5);
    add_sample(0);
    add_sample(0.005); // a drift of 18 seconds is no jump
    assert_near(age_hours(5, 0), 5);
    assert_near(age_hours(YEAR_HOURS, 0), YEAR_HOURS);
}

static void a_clock_that_was_behind(void **state) {
    (void)state;
    assert_near(age_hours(0.5, -YEAR_HOURS), YEAR_HOURS + 0.5); // unknown without a clock record
    add_sample(-YEAR_HOURS);
    assert_near(age_hours(0.5, -YEAR_HOURS), 0.5);
    assert_near(age_hours(30, -YEAR_HOURS), 30);
    assert_near(age_hours(30, 0), 30);
}

static void a_clock_that_is_ahead_now(void **state) {
    (void)state;
    add_sample(-YEAR_HOURS); // the correct clock, relative to the present one
    assert_near(age_hours(3, -YEAR_HOURS), 3);
}

static void a_clock_that_was_ahead(void **state) {
    (void)state;
    add_sample(YEAR_HOURS);
    assert_near(age_hours(0.5, YEAR_HOURS), 0); // in the future: counts as used now
    assert_near(age_hours(5, 0), 5);
}

static void several_jumps(void **state) {
    (void)state;
    add_sample(0);
    add_sample(-24);
    add_sample(-YEAR_HOURS);
    add_sample(YEAR_HOURS);
    assert_near(age_hours(0.2, -24), 0.2);
    assert_near(age_hours(0.2, -YEAR_HOURS), 0.2);
    assert_near(age_hours(0.2, 0), 0.2);
}

static void other_boots_are_measured_by_their_last_clock(void **state) {
    (void)state;
    rk_autofree char *path = rk_path_join(root, "usage/clock");
    // A year behind until the network was up, then right.
    const char text[] = "00112233445566778899aabbccddeeff 1700000000\n"
                        "00112233445566778899aabbccddeeff 1731536000\n";
    sample_write_file(path, text, sizeof text - 1);
    assert_near(age_hours(2, -YEAR_HOURS), 2);
    assert_near(age_hours(2, 0), 2);
}

static void nonsense_in_the_file_is_nothing(void **state) {
    (void)state;
    rk_autofree char *path = rk_path_join(root, "usage/clock");
    const char text[] = "\n\n-\n0123 5\nxyz\n00112233445566778899aabbccddeeff\n"
                        "00112233445566778899aabbccddeeff 99999999999999999999999999999999\n"
                        "00112233445566778899aabbccddeeff 12 and more\n"
                        "00112233445566778899aabbccddeeff 1700000000";
    sample_write_file(path, text, sizeof text - 1);
    assert_near(age_hours(2, 0), 2);
}

static void put(unsigned seed, double hours) {
    (void)aged_put(
        store, RK_ENTRY_EXECUTABLE,
        &(aged){.seed = seed, .payload_bytes = 1000, .compile_seconds = 1, .age_hours = hours});
}

static bool has(unsigned seed) {
    return aged_has(store, RK_ENTRY_EXECUTABLE, seed);
}

static void collect(uint64_t older_than_ns) {
    rk_gc_report report;
    sample_ok(rk_store_gc(
        store, &(rk_gc_options){.max_bytes = UINT64_MAX, .older_than_ns = older_than_ns}, &report));
}

static void collecting_believes_the_least_age(void **state) {
    (void)state;
    add_sample(-YEAR_HOURS);
    put(1, YEAR_HOURS + 0.5); // half an hour ago, by the clock that was behind
    put(2, 30);
    put(3, -YEAR_HOURS); // in the future
    collect(HOUR_NS);
    assert_true(has(1));
    assert_false(has(2));
    assert_true(has(3));
    // The time stamp in the future is replaced, so the entry ages from now on.
    rk_key key = sample_key(3);
    char *path = sample_path(root, RK_ENTRY_EXECUTABLE, &key);
    struct stat info;
    assert_int_equal(lstat(path, &info), 0);
    assert_true(rk_stat_modified_ns(&info) < rk_realtime_ns() + HOUR_NS);
    free(path);
}

static int64_t shift_ns;

static uint64_t libc_ns(clockid_t clock) {
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t monotonic(void) {
    return libc_ns(CLOCK_MONOTONIC);
}

static uint64_t realtime(void) {
    return libc_ns(CLOCK_REALTIME) + (uint64_t)shift_ns;
}

static uint64_t boottime(void) {
    return libc_ns(CLOCK_BOOTTIME);
}

// A process whose clock is a year off, as under libfaketime. The time stamps come from the file
// system.
static void a_clock_of_ones_own_does_no_harm(void **state) {
    (void)state;
    static const rk_clock_table clock = {monotonic, realtime, boottime};
    const int64_t shifts_hours[] = {8760, -8760, 0};
    rk_clock_replace(&clock);
    for (size_t i = 0; i < RK_ARRAY_LEN(shifts_hours); i++) {
        shift_ns = shifts_hours[i] * (int64_t)HOUR_NS;
        put(10, 30);
        put(11, 30);
        rk_key key = sample_key(10);
        RK_AUTO(rk_store_lookup) lookup = {0};
        sample_ok(rk_store_get(store, &key, &lookup));
        assert_true(lookup.found);
        collect(HOUR_NS);
        assert_true(has(10));
        assert_false(has(11));
    }
}

static void samples_are_taken_when_the_clock_is_new(void **state) {
    (void)state;
    rk_autofree char *path = rk_path_join(root, "usage/clock");
    struct stat info;
    put(1, 5);
    assert_int_equal(lstat(path, &info), 0);
    off_t once = info.st_size;
    for (unsigned seed = 2; seed < 10; seed++)
        put(seed, 5);
    assert_int_equal(lstat(path, &info), 0);
    assert_int_equal(info.st_size, once);
    for (unsigned i = 0; i < 300; i++)
        add_sample(i);
    collect(HOUR_NS); // trims the file
    assert_int_equal(lstat(path, &info), 0);
    assert_true(info.st_size < 5000);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(without_jumps_age_is_age),
        TEST(a_clock_that_was_behind),
        TEST(a_clock_that_is_ahead_now),
        TEST(a_clock_that_was_ahead),
        TEST(several_jumps),
        TEST(other_boots_are_measured_by_their_last_clock),
        TEST(nonsense_in_the_file_is_nothing),
        TEST(collecting_believes_the_least_age),
        TEST(a_clock_of_ones_own_does_no_harm),
        TEST(samples_are_taken_when_the_clock_is_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
