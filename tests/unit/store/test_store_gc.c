// Explicit collection: removed files, dry runs, and files that stay.
#include "aged.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "store/fsck.h"
#include "store/gc_lock_internal.h"
#include "store/pins.h"
#include "support/faults.h"
#include "support/tempdir.h"

#define HOUR_NS  (UINT64_C(3600) * 1000000000)
#define NO_LIMIT UINT64_MAX

static char *root;
static rk_store *store;

static int set_up(void **state) {
    (void)state;
    root = rk_test_tempdir();
    sample_ok(rk_store_open(root, false, &store));
    sample_ok(rk_store_set_limit(store, NO_LIMIT));
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    rk_store_free(store);
    rk_test_tempdir_remove(root);
    return 0;
}

static uint64_t put_as(unsigned seed, double seconds, double hours, const char *name_space) {
    const aged what = {seed, 10000, seconds, hours, name_space};
    (void)aged_put(store, RK_ENTRY_PROGRAM, &what);
    return aged_put(store, RK_ENTRY_EXECUTABLE, &what);
}

static void put(unsigned seed, double seconds, double hours) {
    (void)put_as(seed, seconds, hours, NULL);
}

static bool has(unsigned seed) {
    return aged_has(store, RK_ENTRY_EXECUTABLE, seed);
}

static unsigned count(void) {
    unsigned found = 0;
    for (unsigned seed = 0; seed < 100; seed++)
        found += has(seed);
    return found;
}

static rk_gc_report collect(rk_gc_options options) {
    rk_gc_report report;
    options.max_bytes = options.max_bytes ? options.max_bytes : NO_LIMIT;
    options.older_than_ns = options.older_than_ns ? options.older_than_ns : NO_LIMIT;
    sample_ok(rk_store_gc(store, &options, &report));
    if (!options.dry_run) {
        assert_int_equal(aged_known_bytes(store), aged_real_bytes(store));
        assert_int_equal(report.after.bytes, aged_real_bytes(store));
    }
    return report;
}

static void pin(unsigned seed) {
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_key key = sample_key(seed);
    rk_digest_to_hex(&key.digest, hex);
    sample_ok(rk_store_pin(store, hex, NULL));
}

static void without_limits_nothing_goes(void **state) {
    (void)state;
    for (unsigned seed = 0; seed < 20; seed++)
        put(seed, 1, 1000);
    rk_gc_report report = collect((rk_gc_options){0});
    assert_int_equal(count(), 20);
    assert_int_equal(report.before.files, 40);
    assert_int_equal(report.before.bytes, report.after.bytes);
    assert_int_equal(report.executables.files + report.programs.files, 0);
}

static void what_was_not_used_for_long_goes(void **state) {
    (void)state;
    for (unsigned seed = 0; seed < 20; seed++)
        put(seed, 1, seed);
    pin(15);
    rk_gc_report report = collect((rk_gc_options){.older_than_ns = 10 * HOUR_NS + HOUR_NS / 2});
    assert_int_equal(report.executables.files, 8);
    assert_int_equal(report.programs.files, 8);
    assert_int_equal(report.pinned.files, 2);
    assert_int_equal(report.lost_compile_ns, 8000000000u);
    assert_int_equal(count(), 12);
    assert_true(has(15) && has(10) && !has(11));
}

static void the_size_is_kept_to(void **state) {
    (void)state;
    for (unsigned seed = 0; seed < 20; seed++)
        put(seed, seed + 1, 100);
    rk_gc_report report = collect((rk_gc_options){.max_bytes = 200000});
    assert_true(report.after.bytes <= 200000 && report.after.bytes > 180000);
    assert_true(has(19) && !has(0)); // it has the longest compile time
    assert_true(report.programs.files > report.executables.files);
}

static void recent_entries_go_last_and_if_asked_for(void **state) {
    (void)state;
    put(0, 1000, 5);
    put(1, 1, 0.1);
    rk_gc_report report = collect((rk_gc_options){.max_bytes = 1});
    assert_true(!has(0) && has(1));
    assert_int_equal(report.recent.files, 2);
    report = collect((rk_gc_options){.max_bytes = 1, .recent_too = true});
    assert_int_equal(count(), 0);
    assert_int_equal(report.after.bytes, 0);
}

static bool belongs(void *context, rk_span metadata) {
    const char *wanted = context;
    return metadata.len && memmem(metadata.data, metadata.len, wanted, strlen(wanted));
}

static void one_namespace_alone(void **state) {
    (void)state;
    uint64_t bytes = 0;
    for (unsigned seed = 0; seed < 20; seed++)
        bytes = put_as(seed, 1, 100, seed % 2 ? "red" : "blue");
    char wanted[] = "\"namespace\":\"red\"";
    rk_gc_options options = {.older_than_ns = HOUR_NS, .belongs = belongs, .context = wanted};
    options.max_bytes = 5 * bytes;
    options.older_than_ns = 0;
    rk_gc_report report = collect(options); // ten entries with programs: twenty files
    assert_true(report.executables.files + report.programs.files >= 14);
    for (unsigned seed = 0; seed < 20; seed += 2)
        assert_true(has(seed));
    options.max_bytes = 0;
    options.older_than_ns = HOUR_NS;
    (void)collect(options);
    assert_int_equal(count(), 10);
}

static void a_dry_run_says_the_same_and_does_nothing(void **state) {
    (void)state;
    for (unsigned seed = 0; seed < 20; seed++)
        put(seed, seed + 1, 100);
    rk_autofree char *leftover = rk_path_join(root, "objects/aa/.tmp-1-00");
    sample_write_file(leftover, "half", 4);
    aged_set_age(leftover, 2);
    unsigned files = sample_count_files(root);
    rk_gc_options options = {.max_bytes = 100000, .older_than_ns = 90 * HOUR_NS, .dry_run = true};
    rk_gc_report dry = collect(options);
    options.max_bytes = 150000;
    options.older_than_ns = 0;
    dry = collect(options);
    assert_int_equal(count(), 20);
    assert_int_equal(sample_count_files(root), files);
    rk_store *readonly = NULL;
    rk_gc_report report;
    sample_ok(rk_store_open(root, true, &readonly));
    options.older_than_ns = NO_LIMIT;
    sample_ok(rk_store_gc(readonly, &options, &report));
    assert_memory_equal(&report, &dry, sizeof dry);
    options.dry_run = false;
    sample_fails(rk_store_gc(readonly, &options, &report), RK_PERMISSION_DENIED);
    rk_store_free(readonly);
    rk_gc_report wet = collect(options);
    assert_memory_equal(&wet, &dry, sizeof dry);
    assert_int_equal(access(leftover, F_OK), -1);
    assert_int_equal(wet.leftovers.files, 1);
}

// The beginning of rekindle's own files, by folder.
static const char *beginning_of(const char *name) {
    if (strncmp(name, "jobs/", 5) == 0)
        return "rekindle manifest 1\n";
    if (strncmp(name, "plugins/", 8) == 0)
        return "rekindle plugin 1 ";
    if (strstr(name, "/summary.json"))
        return "{\"v\":1,\"run\":\"a\",";
    return strncmp(name, "runs/", 5) == 0 ? "{\"v\":1,\"t\":1.000000,\"ev\":\"start\"" : "";
}

#define KEY       "00000000000000000000000000000000000000000000000000000000000000aa"
#define SET_ASIDE "quarantine/" KEY ".rkx-"

static void put_other(const char *name, size_t bytes, double hours) {
    rk_autofree char *path = rk_path_join(root, name);
    uint8_t *noise = sample_noise(bytes, 1);
    const char *begins = beginning_of(name);
    memcpy(noise, begins, strlen(begins) < bytes ? strlen(begins) : bytes);
    sample_write_file(path, noise, bytes);
    free(noise);
    aged_set_age(path, hours);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    aged_set_age(path, hours);
}

static bool lies(const char *name) {
    rk_autofree char *path = rk_path_join(root, name);
    return access(path, F_OK) == 0;
}

static void runs_and_others_have_limits(void **state) {
    (void)state;
    put_other(SET_ASIDE "1-1", 10, 24 * 40);
    put_other(SET_ASIDE "2-1", 10, 24);
    put_other("plugins/plugin-1-1", 20, 24 * 200);
    put_other("plugins/plugin-1-2", 20, 24 * 100);
    put_other("jobs/old/manifest", 20, 24 * 200);
    put_other("jobs/old/manifest-1", 20, 24 * 190);
    put_other("jobs/mixed/manifest", 20, 24 * 200);
    put_other("jobs/mixed/manifest-1", 20, 24 * 100);
    put_other("runs/a/0.jsonl", 3000, 24 * 3);
    put_other("runs/a/summary.json", 100, 24 * 3);
    put_other("runs/b/0.jsonl", 3000, 24 * 2);
    put_other("runs/b/1.jsonl", 3000, 24 * 2);
    put_other("runs/c/0.jsonl", 3000, 2); // may still be running
    rk_gc_report report = collect((rk_gc_options){.max_bytes = 1000000});
    assert_false(lies(SET_ASIDE "1-1") || lies("plugins/plugin-1-1"));
    assert_true(lies(SET_ASIDE "2-1") && lies("plugins/plugin-1-2"));
    assert_true(lies("runs/a") && lies("runs/b") && lies("runs/c"));
    assert_int_equal(report.quarantine.files + report.plugins.files, 2);
    assert_false(lies("jobs/old"));
    assert_true(lies("jobs/mixed/manifest") && lies("jobs/mixed/manifest-1"));
    assert_int_equal(report.jobs.files, 2);
    (void)collect((rk_gc_options){.max_bytes = 200000}); // the runs may take 10,000 bytes
    assert_true(!lies("runs/a") && lies("runs/b/1.jsonl") && lies("runs/c"));
    report = collect((rk_gc_options){.max_bytes = 20000});
    assert_true(!lies("runs/b") && lies("runs/c/0.jsonl"));
    assert_int_equal(report.runs.files, 2);
    assert_int_equal(report.after.bytes, 3000 + 10 + 20 + 40);
}

// A summary written later has the time of its journals, so it does not keep an old run.
static void a_run_is_as_old_as_its_journals(void **state) {
    (void)state;
    put_other("runs/a/0.jsonl", 3000, 24 * 3);
    put_other("runs/b/0.jsonl", 3000, 24 * 2);
    rk_autofree char *path = rk_path_join(root, "runs/a/summary.json");
    static const char begins[] = "{\"v\":1,\"run\":\"a\",";
    sample_write_file(path, begins, sizeof begins - 1);
    aged_set_age(path, 24 * 3);
    rk_gc_report report = collect((rk_gc_options){.max_bytes = 3000 * 20});
    assert_true(!lies("runs/a") && lies("runs/b/0.jsonl"));
    assert_int_equal(report.runs.files, 2);
    assert_int_equal(report.runs.bytes, 3000 + sizeof begins - 1);
}

// Users' files in folders with these names stay and are not counted.
static void files_of_others_stay(void **state) {
    static const char *const others[] = {
        "runs/Nov01_12-00-00_host/events.out.tfevents.1.host",
        "runs/train/exp1/weights/best.pt",
        "runs/train/0.jsonl",
        "runs/train/summary.json",
        "runs/train/results.csv",
        "jobs/sweep/results.csv",
        "jobs/sweep/manifest",
        "jobs/README",
        "quarantine/infected.zip",
        "quarantine/" KEY,
        "plugins/plugin.py",
        "plugins/plugin-1-3",
        "usage/log-2026.txt",
        "usage/log-1-strange",
        "usage/.tmp-cache",
        "pins/.tmp-1-notes",
        "pins/" KEY,
        "leases/" KEY,
        "leases/.claim-office",
        "objects/aa/0123456789abcdef0123456789abcdef012345",
        "objects/aa/.tmp-objdir-incoming-1",
    };
    (void)state;
    for (size_t i = 0; i < RK_ARRAY_LEN(others); i++) {
        rk_autofree char *path = rk_path_join(root, others[i]);
        sample_write_file(path, "{\"loss\": 1}", 11);
        assert_int_equal(chmod(path, 0666), 0);
        aged_set_age(path, 24 * 400);
        *strrchr(path, '/') = '\0';
        aged_set_age(path, 24 * 400);
    }
    rk_autofree char *empty = rk_path_join(root, "runs/mine");
    assert_int_equal(mkdir(empty, 0700), 0);
    aged_set_age(empty, 24 * 400);
    rk_gc_report report = {0};
    rk_gc_options options = {.max_bytes = 1, .older_than_ns = HOUR_NS, .recent_too = true};
    sample_ok(rk_store_gc(store, &options, &report));
    assert_int_equal(report.before.files + report.after.files, 0);
    rk_fsck_report found;
    sample_ok(rk_store_fsck(store, &(rk_fsck_options){.repair = true}, &found));
    for (size_t i = 0; i < RK_ARRAY_LEN(others); i++) {
        uint64_t bytes = 0;
        const char *name = others[i];
        if (strncmp(name, "quarantine/", 11) == 0)
            sample_fails(rk_store_remove_quarantined(store, name + 11, &bytes), RK_NOT_FOUND);
        struct stat info;
        rk_autofree char *path = rk_path_join(root, name);
        if (stat(path, &info) != 0 || info.st_size != 11 || (info.st_mode & 0777) != 0666)
            fail_msg("%s was touched", name);
    }
    assert_int_equal(access(empty, F_OK), 0);
}

#define SIXTY "123456789012345678901234567890123456789012345678901234567890"

// A summary.json is ours if it names the run of its folder.
static void summaries_are_known_by_their_run(void **state) {
    static const struct {
        const char *path, *text;
        bool ours;
    } cases[] = {
        {"runs/a/summary.json", "{\"v\":1,\"run\":\"a\",\"job\":\"j\"}", true},
        {"runs/b/summary.json", "{\"v\":27,\"run\":\"b\",\"later\":1}", true},
        {"runs/c" SIXTY SIXTY "/summary.json", "{\"v\":1,\"run\":\"c" SIXTY SIXTY "\",", true},
        {"runs/d/summary.json", "{\"v\":1,\"run\":\"other\",\"job\":\"j\"}", false},
        {"runs/e/summary.json", "{\"v\":1,\"run\":\"eval\",\"loss\":1}", false},
        {"runs/f/summary.json", "{\"v\":\"1\",\"run\":\"f\"}", false},
        {"runs/g/summary.json", "{\"v\":1,\"loss\":1,\"run\":\"g\"}", false},
        {"runs/h/summary-2.json", "{\"v\":1,\"run\":\"h\"}", false},
        {"runs/i/summary.json", "", false},
        {"runs/20261121T133847Z-node1-1/summary.json", "{\"v\":1,\"r", true}, // a torn write
    };
    (void)state;
    for (size_t i = 0; i < RK_ARRAY_LEN(cases); i++) {
        rk_autofree char *path = rk_path_join(root, cases[i].path);
        sample_write_file(path, cases[i].text, strlen(cases[i].text));
        aged_set_age(path, 24 * 400);
    }
    rk_gc_report report = {0};
    rk_gc_options options = {.max_bytes = 1, .older_than_ns = HOUR_NS, .recent_too = true};
    sample_ok(rk_store_gc(store, &options, &report));
    for (size_t i = 0; i < RK_ARRAY_LEN(cases); i++)
        if (lies(cases[i].path) == cases[i].ours)
            fail_msg("%s %s", cases[i].path, cases[i].ours ? "stays" : "went");
}

static void count_removal(void *context, const rk_gc_removal *removal) {
    assert_true(strlen(removal->what) > 3 && strlen(removal->name) > 0);
    ++*(unsigned *)context;
}

static void removals_are_reported(void **state) {
    (void)state;
    unsigned reported = 0;
    for (unsigned seed = 0; seed < 5; seed++)
        put(seed, 1, 100);
    put_other(SET_ASIDE "1-1", 10, 24 * 40);
    rk_gc_report report = collect(
        (rk_gc_options){.older_than_ns = HOUR_NS, .removed = count_removal, .context = &reported});
    assert_int_equal(reported, 11);
    assert_int_equal(report.quarantine.files, 1);
}

// The lease file of the gc lock.
static char *gc_lock_path(void) {
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_digest key;
    rk_digest_of(rk_span_text("rekindle gc"), &key);
    rk_digest_to_hex(&key, hex);
    rk_autofree char *folder = rk_path_join(root, "leases");
    return rk_path_join(folder, hex);
}

static bool is_held_by_us(void) {
    RK_AUTO(rk_gc_lock) lock = {0};
    sample_ok(rk_gc_lock_try(store, &lock));
    return lock.store != NULL;
}

static void one_at_a_time(void **state) {
    (void)state;
    rk_gc_lock lock;
    sample_ok(rk_gc_lock_try(store, &lock));
    assert_ptr_equal(lock.store, store);
    assert_false(is_held_by_us());
    rk_gc_lock_cleanup(&lock);
    assert_true(is_held_by_us());
    assert_true(is_held_by_us());
    // A holder of another host, which this host cannot check: late or not. Then a file without a
    // holder.
    rk_autofree char *path = gc_lock_path();
    const struct {
        unsigned seconds;
        bool stale;
    } cases[] = {{720, true}, {36, false}};
    for (size_t i = 0; i < RK_ARRAY_LEN(cases); i++) {
        RK_AUTO(rk_buf) text = {0};
        uint64_t created_ns = rk_realtime_ns() - cases[i].seconds * UINT64_C(1000000000);
        rk_buf_add_format(&text,
                          "rekindle lease 1 held %llu 0 5f3ed4acfc21c51c "
                          "1-1-1-00000000000000000000000000000001-elsewhere\n",
                          (unsigned long long)created_ns);
        sample_write_file(path, text.data, text.len);
        assert_int_equal(is_held_by_us(), cases[i].stale);
        (void)unlink(path);
    }
    sample_write_file(path, "nonsense", 8);
    assert_true(is_held_by_us());
    sample_write_file(path, "", 0);
    assert_true(is_held_by_us());
}

static void lock_and_die(void *context) {
    (void)context;
    rk_gc_lock lock;
    sample_ok(rk_gc_lock_try(store, &lock));
    _exit(lock.store ? 7 : 1);
}

static void a_dead_process_holds_no_gc_lock(void **state) {
    (void)state;
    rk_autofree char *path = gc_lock_path();
    assert_int_equal(rk_fault_in_child(lock_and_die, NULL), 7);
    assert_int_equal(access(path, F_OK), 0);
    assert_true(is_held_by_us());
}

// A full disk has no space for a lease, but collecting must still work.
static void a_full_disk_can_be_collected(void **state) {
    (void)state;
    for (unsigned seed = 0; seed < 6; seed++)
        put(seed, 1, 100);
    rk_gc_report report;
    rk_fault_begin(&(rk_fault_plan){.calls = RK_FAULT_WRITE, .nth = 1, .error_number = ENOSPC});
    rk_err *err = rk_store_gc(
        store, &(rk_gc_options){.max_bytes = NO_LIMIT, .older_than_ns = 50 * HOUR_NS}, &report);
    assert_true(rk_fault_end());
    sample_ok(err);
    assert_int_equal(count(), 0);
}

// Removes leases and temporary files in folders without entries.
static void what_the_dead_left_goes_everywhere(void **state) {
    static const char *const left[] = {"usage/.tmp-1-00", "pins/.tmp-1-00", "plugins/.tmp-1-00",
                                       "leases/.tmp-1-00"};
    (void)state;
    for (size_t i = 0; i < RK_ARRAY_LEN(left); i++) {
        rk_autofree char *path = rk_path_join(root, left[i]);
        sample_write_file(path, "half", 4);
        aged_set_age(path, 2);
    }
    rk_autofree char *lease = rk_path_join(
        root, "leases/0000000000000000000000000000000000000000000000000000000000000001");
    sample_write_file(lease, "rekindle lease 1 nonsense", 25);
    aged_set_age(lease, 2);
    (void)collect((rk_gc_options){.dry_run = true});
    assert_int_equal(access(lease, F_OK), 0);
    (void)collect((rk_gc_options){0});
    for (size_t i = 0; i < RK_ARRAY_LEN(left); i++)
        assert_false(lies(left[i]));
    assert_int_equal(access(lease, F_OK), -1);
}

// If a call fails, nothing is removed that must stay, and the next collection repairs everything.
static void every_call_fails_once(void **state) {
    (void)state;
    for (unsigned nth = 1;; nth += nth < 60 ? 3 : 97) { // some 5000 similar calls
        for (unsigned seed = 0; seed < 6; seed++)
            put(seed, 1, seed < 3 ? 100 : 1.5);
        rk_gc_report report;
        rk_fault_begin(&(rk_fault_plan){.nth = nth});
        rk_err *err = rk_store_gc(
            store, &(rk_gc_options){.max_bytes = NO_LIMIT, .older_than_ns = 50 * HOUR_NS}, &report);
        bool struck = rk_fault_end();
        if (!struck)
            sample_ok(err);
        rk_err_free(err);
        assert_true(has(3) && has(4) && has(5));
        (void)collect((rk_gc_options){.older_than_ns = 50 * HOUR_NS});
        assert_int_equal(count(), 3);
        if (!struck)
            break;
    }
}

// On a disk without a free byte, collecting still removes files. The account follows once there is
// space.
static void collects_on_a_full_disk(void **state) {
    (void)state;
    for (unsigned seed = 0; seed < 4; seed++)
        put(seed, 1, 24 * seed);
    (void)collect((rk_gc_options){0});
    const rk_gc_options options[] = {
        {.max_bytes = NO_LIMIT, .older_than_ns = 36 * HOUR_NS},
        {.max_bytes = NO_LIMIT, .older_than_ns = NO_LIMIT}, // removes nothing
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(options); i++) {
        rk_gc_report report;
        rk_fault_begin(&(rk_fault_plan){.nth = 1,
                                        .calls = RK_FAULT_WRITE,
                                        .error_number = i ? EDQUOT : ENOSPC,
                                        .lasting = true});
        rk_err *err = rk_store_gc(store, &options[i], &report);
        assert_true(rk_fault_end());
        sample_ok(err);
        assert_int_equal(report.executables.files, i ? 0 : 2);
        assert_int_equal(count(), 2);
    }
    put(9, 1, 0); // first writes the postponed log records
    assert_int_equal(aged_known_bytes(store), aged_real_bytes(store));
    (void)collect((rk_gc_options){0});
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(without_limits_nothing_goes),
        TEST(what_was_not_used_for_long_goes),
        TEST(the_size_is_kept_to),
        TEST(recent_entries_go_last_and_if_asked_for),
        TEST(one_namespace_alone),
        TEST(a_dry_run_says_the_same_and_does_nothing),
        TEST(runs_and_others_have_limits),
        TEST(a_run_is_as_old_as_its_journals),
        TEST(files_of_others_stay),
        TEST(summaries_are_known_by_their_run),
        TEST(removals_are_reported),
        TEST(one_at_a_time),
        TEST(a_dead_process_holds_no_gc_lock),
        TEST(a_full_disk_can_be_collected),
        TEST(what_the_dead_left_goes_everywhere),
        TEST(every_call_fails_once),
        TEST(collects_on_a_full_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
