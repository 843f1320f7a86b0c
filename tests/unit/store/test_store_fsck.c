// The findings and repairs of a check. A sound store has no findings.
#include "aged.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "store/fsck.h"
#include "store/pins.h"
#include "support/tempdir.h"

enum { ENTRIES = 12 };

static char *root;
static rk_store *store;

static int set_up(void **state) {
    (void)state;
    root = rk_test_tempdir();
    sample_ok(rk_store_open(root, false, &store));
    sample_ok(rk_store_set_limit(store, 1 << 30));
    for (unsigned seed = 0; seed < ENTRIES; seed++) {
        const aged what = {.seed = seed, .payload_bytes = 3000, .compile_seconds = 1};
        (void)aged_put(store, RK_ENTRY_EXECUTABLE, &what);
        if (seed % 2)
            (void)aged_put(store, RK_ENTRY_PROGRAM, &what);
    }
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    rk_store_free(store);
    rk_test_tempdir_remove(root);
    return 0;
}

static char last_path[512];

static void note(void *context, const rk_fsck_finding *finding) {
    (void)context;
    (void)snprintf(last_path, sizeof last_path, "%s", finding->path);
    if (getenv("SHOW_FINDINGS"))
        print_message("%s %s: %s%s\n", rk_fsck_kind_name(finding->kind), finding->path,
                      finding->detail, finding->repaired ? " (repaired)" : "");
}

static rk_fsck_report fsck(bool repair) {
    rk_fsck_report report;
    sample_ok(rk_store_fsck(store, &(rk_fsck_options){.repair = repair, .found = note}, &report));
    return report;
}

static uint64_t all(const uint64_t counts[RK_FSCK_KINDS]) {
    uint64_t sum = 0;
    for (int kind = 0; kind < RK_FSCK_KINDS; kind++)
        sum += counts[kind];
    return sum;
}

// Expects one finding of this kind. Repairing removes it; checking changes nothing.
static void expect_one(rk_fsck_kind kind, bool repairable) {
    for (int i = 0; i < 2; i++) {
        rk_fsck_report report = fsck(false);
        assert_int_equal(report.found[kind], 1);
        assert_int_equal(all(report.found), 1);
        assert_int_equal(all(report.repaired), 0);
    }
    rk_fsck_report report = fsck(true);
    assert_int_equal(report.found[kind], 1);
    assert_int_equal(report.repaired[kind], repairable);
    report = fsck(false);
    assert_int_equal(all(report.found), !repairable);
    assert_int_equal(aged_known_bytes(store), aged_real_bytes(store));
}

static char *path_of(rk_entry_kind kind, unsigned seed) {
    rk_key key = sample_key(seed);
    return sample_path(root, kind, &key);
}

static void overwrite(rk_entry_kind kind, unsigned seed, off_t at, const char *text) {
    char *path = path_of(kind, seed);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, text, strlen(text), at), strlen(text));
    (void)close(fd);
    free(path);
}

static void a_sound_store_has_nothing_to_find(void **state) {
    (void)state;
    rk_fsck_report report = fsck(false);
    assert_int_equal(all(report.found), 0);
    assert_int_equal(report.entries, ENTRIES + ENTRIES / 2);
    assert_true(report.bytes > ENTRIES * 3000);
    report = fsck(true);
    assert_int_equal(all(report.found), 0);
}

static void damage_in_a_payload(void **state) {
    (void)state;
    overwrite(RK_ENTRY_EXECUTABLE, 3, 2000, "damage");
    expect_one(RK_FSCK_DAMAGED, true);
    assert_false(aged_has(store, RK_ENTRY_EXECUTABLE, 3));
    rk_autofree char *quarantine = rk_path_join(root, "quarantine");
    assert_int_equal(rk_test_count_entries(quarantine), 1);
}

static void damage_in_a_program(void **state) {
    (void)state;
    char *path = path_of(RK_ENTRY_PROGRAM, 5);
    assert_int_equal(truncate(path, 1000), 0);
    free(path);
    // The account is then wrong too.
    rk_fsck_report report = fsck(true);
    assert_int_equal(report.found[RK_FSCK_DAMAGED], 1);
    assert_int_equal(report.found[RK_FSCK_ACCOUNT], 1);
    assert_int_equal(all(fsck(false).found), 0);
}

static void an_entry_under_another_name(void **state) {
    (void)state;
    char *from = path_of(RK_ENTRY_EXECUTABLE, 2), *to = path_of(RK_ENTRY_EXECUTABLE, 4);
    assert_int_equal(rename(from, to), 0);
    free(from);
    free(to);
    rk_fsck_report report = fsck(true);
    assert_int_equal(report.found[RK_FSCK_DAMAGED], 1);
    assert_int_equal(all(fsck(false).found), 0);
}

static void another_version_is_left_alone(void **state) {
    (void)state;
    overwrite(RK_ENTRY_EXECUTABLE, 3, 8, "\x07");
    expect_one(RK_FSCK_OTHER_VERSION, false);
    assert_true(aged_has(store, RK_ENTRY_EXECUTABLE, 3));
}

static void a_link_in_place_of_an_entry(void **state) {
    (void)state;
    char *path = path_of(RK_ENTRY_EXECUTABLE, 1000);
    rk_autofree char *folder = rk_strndup(path, (size_t)(strrchr(path, '/') - path));
    (void)mkdir(folder, 0700);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    free(path);
    expect_one(RK_FSCK_NOT_A_FILE, true);
}

static void files_that_others_may_write(void **state) {
    (void)state;
    char *path = path_of(RK_ENTRY_EXECUTABLE, 3);
    assert_int_equal(chmod(path, 0666), 0);
    expect_one(RK_FSCK_PERMISSIONS, true);
    assert_true(aged_has(store, RK_ENTRY_EXECUTABLE, 3));
    free(path);
}

static void folders_that_others_may_write(void **state) {
    (void)state;
    rk_autofree char *path = rk_path_join(root, "pins");
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chmod(path, 0777), 0);
    rk_fsck_report report;
    rk_err *err = rk_store_fsck(store, &(rk_fsck_options){.repair = true}, &report);
    sample_ok(err);
    assert_int_equal(report.repaired[RK_FSCK_PERMISSIONS], 1);
    assert_int_equal(all(fsck(false).found), 0);
    rk_autofree char *objects = rk_path_join(root, "objects");
    assert_int_equal(chmod(objects, 0777), 0);
    expect_one(RK_FSCK_PERMISSIONS, true);
}

static void leftovers_of_dead_writers(void **state) {
    (void)state;
    rk_autofree char *old = rk_path_join(root, "objects/aa/.tmp-1-0123");
    rk_autofree char *young = rk_path_join(root, "quarantine/.tmp-2-0123");
    sample_write_file(old, "half", 4);
    sample_write_file(young, "half", 4);
    aged_set_age(old, 2);
    expect_one(RK_FSCK_LEFTOVER, true);
    assert_int_equal(access(young, F_OK), 0);
}

static void names_that_nobody_of_us_gave(void **state) {
    (void)state;
    rk_autofree char *path = rk_path_join(root, "objects/aa/notes.txt");
    sample_write_file(path, "mine", 4);
    rk_fsck_report report = fsck(true);
    assert_int_equal(report.found[RK_FSCK_UNKNOWN], 1);
    assert_int_equal(access(path, F_OK), 0);
}

static void pins_of_nothing(void **state) {
    (void)state;
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_key key = sample_key(3);
    rk_digest_to_hex(&key.digest, hex);
    sample_ok(rk_store_pin(store, hex, NULL));
    assert_int_equal(all(fsck(false).found), 0);
    key = sample_key(3000);
    rk_digest_to_hex(&key.digest, hex);
    sample_ok(rk_store_pin(store, hex, NULL));
    expect_one(RK_FSCK_ORPHAN, true);
}

static void an_account_that_is_wrong(void **state) {
    (void)state;
    char *path = path_of(RK_ENTRY_EXECUTABLE, 3);
    assert_int_equal(unlink(path), 0);
    free(path);
    expect_one(RK_FSCK_ACCOUNT, true);
    rk_autofree char *base = rk_path_join(root, "usage/base");
    sample_write_file(base, "rekindle usage", 14);
    expect_one(RK_FSCK_ACCOUNT, true);
}

static void what_is_set_aside_is_no_mistake(void **state) {
    (void)state;
    rk_key key = sample_key(3);
    assert_true(rk_store_quarantine(store, &key));
    assert_int_equal(all(fsck(false).found), 0);
}

static void readonly_looks_only(void **state) {
    (void)state;
    rk_store *readonly = NULL;
    rk_fsck_report report;
    overwrite(RK_ENTRY_EXECUTABLE, 3, 2000, "damage");
    sample_ok(rk_store_open(root, true, &readonly));
    sample_ok(rk_store_fsck(readonly, &(rk_fsck_options){0}, &report));
    assert_int_equal(report.found[RK_FSCK_DAMAGED], 1);
    sample_fails(rk_store_fsck(readonly, &(rk_fsck_options){.repair = true}, &report),
                 RK_PERMISSION_DENIED);
    rk_store_free(readonly);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_sound_store_has_nothing_to_find),
        TEST(damage_in_a_payload),
        TEST(damage_in_a_program),
        TEST(an_entry_under_another_name),
        TEST(another_version_is_left_alone),
        TEST(a_link_in_place_of_an_entry),
        TEST(files_that_others_may_write),
        TEST(folders_that_others_may_write),
        TEST(leftovers_of_dead_writers),
        TEST(names_that_nobody_of_us_gave),
        TEST(pins_of_nothing),
        TEST(an_account_that_is_wrong),
        TEST(what_is_set_aside_is_no_mistake),
        TEST(readonly_looks_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
