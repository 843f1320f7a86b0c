// Eviction: which entries are removed when the store is full.
#include "aged.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "store/evict_internal.h"
#include "support/faults.h"
#include "support/tempdir.h"

#define KB UINT64_C(1000)

typedef struct fixture {
    char *root;
    rk_store *store;
} fixture;

static fixture self;

static int set_up(void **state) {
    (void)state;
    self.root = rk_test_tempdir();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    rk_store_free(self.store);
    self.store = NULL;
    rk_test_tempdir_remove(self.root);
    return 0;
}

static void open_store(uint64_t limit) {
    sample_ok(rk_store_open(self.root, false, &self.store));
    sample_ok(rk_store_set_limit(self.store, limit));
}

static void put(unsigned seed, uint64_t kilobytes, double seconds, double hours) {
    (void)aged_put(self.store, RK_ENTRY_EXECUTABLE,
                   &(aged){.seed = seed,
                           .payload_bytes = kilobytes * KB,
                           .compile_seconds = seconds,
                           .age_hours = hours});
}

static rk_err *try_put(unsigned seed, uint64_t kilobytes, double seconds) {
    uint8_t *payload = sample_noise(kilobytes * KB, seed);
    rk_entry entry = sample_entry(RK_ENTRY_EXECUTABLE, seed);
    entry.payload = rk_span_of(payload, kilobytes * KB);
    entry.compile_ns = (uint64_t)(seconds * 1e9);
    rk_err *err = rk_store_put(self.store, &entry, NULL);
    free(payload);
    return err;
}

static bool has(unsigned seed) {
    return aged_has(self.store, RK_ENTRY_EXECUTABLE, seed);
}

static unsigned count(unsigned from, unsigned to) {
    unsigned found = 0;
    for (unsigned seed = from; seed < to; seed++)
        found += has(seed);
    return found;
}

static double worth(uint64_t bytes, double seconds, double hours) {
    return rk_evict_worth(RK_ENTRY_EXECUTABLE, bytes, (uint64_t)(seconds * 1e9),
                          (uint64_t)(hours * 3600e9));
}

static void worth_is_seconds_by_bytes_and_hours(void **state) {
    (void)state;
    assert_true(worth(1000, 2, 1) > worth(1000, 1, 1));                // more seconds
    assert_true(worth(1000, 1, 1) > worth(100000, 1, 1));              // fewer bytes
    assert_true(worth(1000, 1, 1) > worth(1000, 1, 2));                // used later
    assert_true(worth(1 << 20, 3600, 24 * 30) > worth(1 << 20, 1, 2)); // an hour outweighs a month
    assert_true(worth(0, 0, 0) >= 0);
    double program = rk_evict_worth(RK_ENTRY_PROGRAM, 1 << 20, 1000000000, 0);
    double executable = rk_evict_worth(RK_ENTRY_EXECUTABLE, 1 << 20, 1000000000, 0);
    assert_true(program < executable && program > executable / 11);
}

static void the_cap_holds(void **state) {
    (void)state;
    open_store(500 * KB);
    for (unsigned seed = 0; seed < 200; seed++) {
        put(seed, 10, 1, 100 - seed / 2.0);
        assert_true(aged_real_bytes(self.store) <= 500 * KB);
        assert_true(has(seed));
    }
    assert_true(aged_real_bytes(self.store) > 400 * KB); // no more than necessary was evicted
    assert_int_equal(aged_known_bytes(self.store), aged_real_bytes(self.store));
    assert_int_equal(count(150, 200), count(0, 200) - count(0, 150));
    assert_true(count(150, 200) > 40); // the oldest were evicted
}

static void seconds_are_kept_not_bytes(void **state) {
    (void)state;
    open_store(1000 * KB);
    for (unsigned seed = 0; seed < 40; seed++)
        put(seed, 10, 600, 50); // ten minutes each, two days ago
    for (unsigned seed = 100; seed < 200; seed++)
        put(seed, 20, 0.1, 2); // a tenth of a second each, two hours ago
    assert_int_equal(count(0, 40), 40);
    assert_true(count(100, 200) < 35);
}

static void pins_stay(void **state) {
    (void)state;
    open_store(300 * KB);
    put(0, 20, 0.001, 5000);
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_key key = sample_key(0);
    rk_digest_to_hex(&key.digest, hex);
    bool was_pinned = true;
    sample_ok(rk_store_pin(self.store, hex, &was_pinned));
    assert_false(was_pinned);
    sample_ok(rk_store_pin(self.store, hex, &was_pinned));
    assert_true(was_pinned);
    for (unsigned seed = 1; seed < 60; seed++)
        put(seed, 10, 10, 10);
    assert_true(has(0));
    sample_ok(rk_store_unpin(self.store, hex, &was_pinned));
    assert_true(was_pinned);
    for (unsigned seed = 60; seed < 80; seed++)
        put(seed, 10, 10, 10);
    assert_false(has(0));
    sample_ok(rk_store_unpin(self.store, hex, &was_pinned));
    assert_false(was_pinned);
    sample_fails(rk_store_pin(self.store, "../../etc/passwd", NULL), RK_INVALID_ARGUMENT);
}

static void recent_entries_go_for_what_is_worth_more_only(void **state) {
    (void)state;
    open_store(200 * KB);
    for (unsigned seed = 0; seed < 19; seed++)
        put(seed, 10, 10, 0.2);
    sample_fails(try_put(100, 20, 5), RK_OUT_OF_RANGE); // less worth per byte
    assert_int_equal(count(0, 19), 19);
    assert_false(has(100));
    assert_int_equal(aged_known_bytes(self.store), aged_real_bytes(self.store));
    sample_fails(try_put(101, 20, 4), RK_OUT_OF_RANGE); // remembered refusal
    sample_ok(try_put(102, 20, 500));
    assert_true(has(102));
    assert_true(count(0, 19) >= 16); // only as many as necessary
    assert_true(aged_real_bytes(self.store) <= 200 * KB);
    assert_int_equal(aged_known_bytes(self.store), aged_real_bytes(self.store));
}

static void nothing_goes_for_what_does_not_fit_anyway(void **state) {
    (void)state;
    open_store(100 * KB);
    for (unsigned seed = 0; seed < 5; seed++)
        put(seed, 10, 1, 100);
    sample_fails(try_put(50, 101, 1e6), RK_OUT_OF_RANGE);
    assert_int_equal(count(0, 5), 5);
    assert_int_equal(aged_known_bytes(self.store), aged_real_bytes(self.store));
}

static void a_replaced_entry_releases_its_space(void **state) {
    (void)state;
    open_store(100 * KB);
    for (unsigned i = 0; i < 20; i++)
        sample_ok(try_put(1, 40, 1));
    assert_int_equal(aged_known_bytes(self.store), aged_real_bytes(self.store));
    // Old and new entry exist at once during the write: the reservation counts.
    sample_fails(try_put(1, 99, 1), RK_OUT_OF_RANGE);
}

static void a_program_may_outlive_its_executable(void **state) {
    (void)state;
    open_store(1500 * KB);
    for (unsigned seed = 0; seed < 10; seed++) {
        put(seed, 100, 1, 100);
        for (unsigned i = 0; i < 2; i++)
            (void)aged_put(self.store, RK_ENTRY_PROGRAM,
                           &(aged){.seed = seed + 100 * i,
                                   .payload_bytes = i ? 20 * KB : 200,
                                   .compile_seconds = 1,
                                   .age_hours = 100});
    }
    for (unsigned seed = 1000; seed < 1013; seed++)
        put(seed, 100, 1, 1.5);
    unsigned small = 0, large = 0;
    for (unsigned seed = 0; seed < 10; seed++) {
        small += aged_has(self.store, RK_ENTRY_PROGRAM, seed);
        large += aged_has(self.store, RK_ENTRY_PROGRAM, seed + 100);
    }
    assert_true(count(0, 10) < 3);
    assert_int_equal(small, 10);
    assert_int_equal(large, 0);
}

static void foreign_bytes_count_and_stay(void **state) {
    (void)state;
    rk_autofree char *file = rk_path_join(
        self.root,
        "quarantine/00000000000000000000000000000000000000000000000000000000000000aa.rkx-1-1");
    uint8_t *noise = sample_noise(90 * KB, 1);
    sample_write_file(file, noise, 4 * KB);
    static const char begins[] = "{\"v\":1,\"t\":1.000000,\"ev\":\"start\"";
    memcpy(noise, begins, sizeof begins - 1);
    rk_autofree char *run = rk_path_join(self.root, "runs/20260101T000000Z-host-1/0.jsonl");
    sample_write_file(run, noise, 80 * KB);
    free(noise);
    open_store(100 * KB);
    sample_ok(try_put(1, 10, 1));
    sample_fails(try_put(2, 20, 1), RK_OUT_OF_RANGE); // today's run is not evicted
    aged_set_age(run, 48);
    rk_autofree char *folder = rk_path_join(self.root, "runs/20260101T000000Z-host-1");
    aged_set_age(folder, 48);
    sample_ok(try_put(3, 20, 100));
    assert_int_equal(access(run, F_OK), -1);
    assert_true(has(1) && has(3));
}

static uint64_t modified_ns(unsigned seed) {
    rk_key key = sample_key(seed);
    char *path = sample_path(self.root, RK_ENTRY_EXECUTABLE, &key);
    struct stat info;
    assert_int_equal(lstat(path, &info), 0);
    free(path);
    return rk_stat_modified_ns(&info);
}

static void get(rk_store *store, unsigned seed) {
    rk_key key = sample_key(seed);
    RK_AUTO(rk_store_lookup) lookup = {0};
    sample_ok(rk_store_get(store, &key, &lookup));
    assert_true(lookup.found);
}

static void a_hit_is_noted_once_in_ten_minutes(void **state) {
    (void)state;
    open_store(500 * KB);
    put(1, 10, 1, 5);
    (void)aged_put(self.store, RK_ENTRY_PROGRAM, &(aged){.seed = 1, .age_hours = 5});
    uint64_t before = modified_ns(1);
    rk_store *readonly = NULL;
    sample_ok(rk_store_open(self.root, true, &readonly));
    get(readonly, 1);
    rk_store_free(readonly);
    assert_int_equal(modified_ns(1), before);
    get(self.store, 1);
    uint64_t noted = modified_ns(1);
    assert_true(noted > before + UINT64_C(4) * 3600000000000);
    get(self.store, 1);
    assert_int_equal(modified_ns(1), noted);
    rk_key key = sample_key(1);
    char *program = sample_path(self.root, RK_ENTRY_PROGRAM, &key);
    struct stat info;
    assert_int_equal(lstat(program, &info), 0);
    assert_true(rk_stat_modified_ns(&info) >= noted); // it gets the executable's time
    free(program);
}

static void work(unsigned number) {
    open_store(400 * KB);
    for (unsigned i = 0; i < 60; i++) {
        unsigned seed = number * 1000 + i;
        rk_err *err = try_put(seed, 5 + (seed % 7), seed % 50);
        bool full = rk_err_code(err) == RK_OUT_OF_RANGE;
        if (err && !full)
            _exit(1);
        rk_err_free(err);
        if (full || i % 3)
            continue;
        rk_key key = sample_key(seed); // makes some entries old, so that they can be evicted
        char *path = sample_path(self.root, RK_ENTRY_EXECUTABLE, &key);
        const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1700000000}};
        (void)utimensat(AT_FDCWD, path, times, 0); // the entry may be evicted already
        free(path);
    }
    _exit(0);
}

// The cap holds for any number of concurrent processes.
static void many_processes_keep_the_cap(void **state) {
    enum { PROCESSES = 16 };
    (void)state;
    pid_t children[PROCESSES];
    for (unsigned i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0)
            work(i);
    }
    sample_ok(rk_store_open(self.root, true, &self.store));
    uint64_t most = 0;
    for (unsigned left = PROCESSES; left > 0;) {
        uint64_t bytes = aged_real_bytes(self.store);
        most = bytes > most ? bytes : most;
        int status = 0;
        pid_t ended = waitpid(-1, &status, WNOHANG);
        assert_true(ended >= 0);
        if (ended == 0)
            continue;
        assert_int_equal(status, 0);
        left--;
    }
    print_message("most at once: %llu of %llu bytes\n", (unsigned long long)most,
                  (unsigned long long)(400 * KB));
    // A listing takes time. Entries evicted and put during it may count twice.
    assert_true(most <= 400 * KB + PROCESSES * 12 * KB);
    assert_true(aged_real_bytes(self.store) <= 400 * KB);
    assert_true(most > 300 * KB);
}

static atomic_uint failures;

static void *put_and_get(void *context) {
    unsigned number = *(unsigned *)context;
    for (unsigned i = 0; i < 40; i++) {
        unsigned seed = number * 1000 + i;
        rk_err *err = try_put(seed, 5, seed % 50);
        failures += err && rk_err_code(err) != RK_OUT_OF_RANGE;
        rk_err_free(err);
        rk_key key = sample_key(i % 2 ? seed : (number + 1) * 1000);
        RK_AUTO(rk_store_lookup) lookup = {0};
        err = rk_store_get(self.store, &key, &lookup);
        failures += err != NULL || lookup.fault != RK_ENTRY_OK;
        rk_err_free(err);
    }
    return NULL;
}

static void threads_share_an_account(void **state) {
    enum { THREADS = 6 };
    (void)state;
    pthread_t threads[THREADS];
    unsigned numbers[THREADS];
    open_store(300 * KB);
    for (unsigned i = 0; i < THREADS; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, put_and_get, &numbers[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(failures, 0);
    assert_true(aged_real_bytes(self.store) <= 300 * KB);
    assert_true(aged_real_bytes(self.store) > 200 * KB);
}

static void put_and_exit(void *context) {
    self.store = NULL; // its log belongs to the parent
    open_store(100 * KB);
    rk_fault_begin(&(rk_fault_plan){.nth = *(unsigned *)context, .exits = true});
    rk_err_free(try_put(500, 10, 100));
}

// The process ends at any call while it evicts: the cap holds, no other process waits for it, and
// the account is repaired.
static void a_process_that_ends_anywhere(void **state) {
    (void)state;
    int status = RK_FAULT_EXIT_STATUS;
    for (unsigned nth = 1; status; nth += nth < 90 ? 5 : 997) { // some 10,000 similar calls
        open_store(100 * KB);
        for (unsigned seed = 0; seed < 9; seed++)
            put(seed, 10, 1, 50);
        status = rk_fault_in_child(put_and_exit, &nth);
        assert_true(status == 0 || status == RK_FAULT_EXIT_STATUS);
        assert_true(aged_real_bytes(self.store) <= 100 * KB);
        uint64_t start_ns = rk_monotonic_ns();
        sample_ok(try_put(600, 20, 1000));
        assert_true(rk_monotonic_ns() - start_ns < UINT64_C(9000000000)); // a wait takes 10 s
        assert_true(aged_real_bytes(self.store) <= 100 * KB);
        rk_gc_report report;
        sample_ok(rk_store_gc(self.store,
                              &(rk_gc_options){.max_bytes = 100 * KB, .older_than_ns = UINT64_MAX},
                              &report));
        assert_int_equal(aged_known_bytes(self.store), aged_real_bytes(self.store));
        rk_store_free(self.store);
        self.store = NULL;
        rk_test_tempdir_remove(self.root);
        self.root = rk_test_tempdir();
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(worth_is_seconds_by_bytes_and_hours),
        TEST(the_cap_holds),
        TEST(seconds_are_kept_not_bytes),
        TEST(pins_stay),
        TEST(recent_entries_go_for_what_is_worth_more_only),
        TEST(nothing_goes_for_what_does_not_fit_anyway),
        TEST(a_replaced_entry_releases_its_space),
        TEST(a_program_may_outlive_its_executable),
        TEST(foreign_bytes_count_and_stay),
        TEST(a_hit_is_noted_once_in_ten_minutes),
        TEST(a_process_that_ends_anywhere),
        TEST(threads_share_an_account),
        TEST(many_processes_keep_the_cap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
