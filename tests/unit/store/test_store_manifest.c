// A job's manifest: it is read as written, a bad one counts as empty, runs are merged, and entries
// that were unused for several runs are removed.
#include "sample.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "store/manifest.h"
#include "support/faults.h"
#include "support/tempdir.h"

static const char job[] = "train-8f4eda08cc25";

static int set_up(void **state) {
    *state = rk_test_tempdir();
    return 0;
}

static int tear_down(void **state) {
    rk_test_tempdir_remove(*state);
    return 0;
}

static rk_store *open_store(const char *directory) {
    rk_store *store = NULL;
    sample_ok(rk_store_open(directory, false, &store));
    return store;
}

static rk_span options_of(unsigned seed) {
    static _Thread_local uint8_t bytes[8];
    memset(bytes, (int)seed, sizeof bytes);
    return rk_span_of(bytes, sizeof bytes);
}

static void note(rk_manifest *manifest, unsigned seed, uint64_t wanted_ms) {
    rk_manifest_use use = {.key = sample_key(seed),
                           .wanted_ns = wanted_ms * 1000000,
                           .load_ns = 1000u * (uint64_t)seed,
                           .bytes = seed};
    sample_ok(rk_manifest_note(manifest, &use, options_of(seed)));
}

static void update(rk_store *store, uint32_t rank, const char *run, const unsigned *seeds,
                   size_t count) {
    RK_AUTO(rk_manifest) seen = {0};
    for (size_t i = 0; i < count; i++)
        note(&seen, seeds[i], 10 * i);
    sample_ok(rk_manifest_update(store, job, rank, run, &seen));
}

static size_t count_of(rk_store *store, uint32_t rank) {
    RK_AUTO(rk_manifest) manifest = {0};
    sample_ok(rk_manifest_read(store, job, rank, &manifest));
    return manifest.use_count;
}

static bool has(rk_store *store, unsigned seed) {
    RK_AUTO(rk_manifest) manifest = {0};
    rk_key key = sample_key(seed);
    sample_ok(rk_manifest_read(store, job, 0, &manifest));
    for (size_t i = 0; i < manifest.use_count; i++)
        if (rk_key_equal(&manifest.uses[i].key, &key))
            return true;
    return false;
}

static bool decode(rk_span data, rk_manifest *manifest) {
    bool sound = false;
    sample_ok(rk_manifest_decode(data, manifest, &sound));
    return sound;
}

static void read_golden(rk_buf *out) {
    sample_ok(rk_fs_read(RK_TEST_GOLDEN_DIR "/manifest-v1", 1 << 20, out));
}

static void assert_filled(const rk_digest *digest, uint8_t with) {
    for (size_t i = 0; i < RK_DIGEST_BYTES; i++)
        assert_int_equal(digest->bytes[i], with);
}

static void the_golden_file_is_read_and_written(void **state) {
    (void)state;
    RK_AUTO(rk_buf) golden = {0};
    RK_AUTO(rk_buf) again = {0};
    RK_AUTO(rk_manifest) manifest = {0};
    read_golden(&golden);
    assert_true(decode(rk_buf_span(&golden), &manifest));
    assert_int_equal(manifest.run_count, 2);
    assert_int_equal(manifest.runs[0].number, 6);
    assert_string_equal(manifest.runs[1].id, "20261122T073637Z-node1-10616");
    assert_int_equal(manifest.use_count, 3);
    const rk_manifest_use *use = &manifest.uses[1];
    assert_filled(&use->key.digest, 0xb1);
    assert_filled(&use->key.program, 0xb2);
    assert_filled(&use->key.options, 0xb3);
    assert_filled(&use->key.environment, 0xa4);
    assert_int_equal(use->client, 0);
    assert_int_equal(use->run, 6);
    assert_int_equal(use->wanted_ns, UINT64_C(45000) * 1000000);
    assert_int_equal(use->load_ns, 641000000);
    assert_int_equal(use->bytes, 3145728);
    assert_int_equal(manifest.uses[2].client, 1);
    assert_int_equal(manifest.uses[2].occurrence, 1);
    rk_span options = rk_manifest_find_options(&manifest, &use->key.options);
    assert_int_equal(options.len, 2);
    assert_memory_equal(options.data, "\x00\xff", 2);
    sample_ok(rk_manifest_encode(&manifest, &again));
    assert_true(rk_span_equal(rk_buf_span(&golden), rk_buf_span(&again)));
}

static void damage_makes_it_empty(void **state) {
    (void)state;
    RK_AUTO(rk_buf) golden = {0};
    read_golden(&golden);
    for (size_t i = 0; i < golden.len; i++) {
        RK_AUTO(rk_manifest) flipped = {0};
        RK_AUTO(rk_manifest) cut = {0};
        golden.data[i] ^= 4;
        assert_false(decode(rk_buf_span(&golden), &flipped));
        assert_int_equal(flipped.use_count + flipped.options_count + flipped.run_count, 0);
        golden.data[i] ^= 4;
        assert_false(decode(rk_span_of(golden.data, i), &cut));
    }
}

// The digest is right, but the content is invalid.
static void assert_refused(const char *lines) {
    RK_AUTO(rk_buf) data = {0};
    RK_AUTO(rk_manifest) manifest = {0};
    rk_digest digest;
    rk_buf_add_text(&data, lines);
    rk_digest_of(rk_buf_span(&data), &digest);
    rk_buf_add_text(&data, "digest ");
    rk_buf_add_hex(&data, rk_digest_span(&digest));
    rk_buf_add_byte(&data, '\n');
    assert_false(decode(rk_buf_span(&data), &manifest));
    assert_int_equal(manifest.use_count + manifest.options_count + manifest.run_count, 0);
}

#define HEX(c) c c c c c c c c c c c c c c c c
#define DIGEST HEX("0a1b")

static void nonsense_with_a_right_digest_is_refused(void **state) {
    (void)state;
    static const char first[] = "rekindle manifest 1\n";
    static const char *const cases[] = {
        "what is this\n",
        "run 0 a\n",
        "run 2 a\nrun 2 b\n",
        "run 1 a\nrun 2 b\nrun 3 c\nrun 4 d\nrun 5 e\n",
        "run 99999999999999999999 a\n",
        "run  a\n",
        "options " DIGEST " 0\n",
        "options " DIGEST " 0g\n",
        "options " DIGEST "0 00\n",
        "use " DIGEST " " DIGEST " " DIGEST " " DIGEST " 0 0 1 2 3\n",
        "use " DIGEST " " DIGEST " " DIGEST " " DIGEST " 0 0 1 2 3 04\n",
        "use " DIGEST " " DIGEST " " DIGEST " " DIGEST " 4294967296 0 1 2 3 4\n",
        "use " DIGEST " " DIGEST " " DIGEST " " DIGEST " 0 0 1 2 3 4294967297\n",
        "use " DIGEST " " DIGEST " " DIGEST " " DIGEST " 0 0 1 2 3 4 \n",
        "use " DIGEST " " DIGEST " " DIGEST " 0 0 1 2 3 4\n",
        "use",
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(cases); i++) {
        RK_AUTO(rk_buf) lines = {0};
        rk_buf_add_text(&lines, first);
        rk_buf_add_text(&lines, cases[i]);
        assert_refused(rk_buf_text(&lines));
    }
    assert_refused("rekindle manifest 2\n");
}

static void runs_are_merged_and_old_uses_fade(void **state) {
    rk_store *store = open_store(*state);
    update(store, 0, "a", (unsigned[]){1, 2}, 2);
    update(store, 0, "a", (unsigned[]){3}, 1); // another process of the same run
    assert_int_equal(count_of(store, 0), 3);
    static const char *const later[] = {"b", "c", "d"};
    for (size_t i = 0; i < RK_ARRAY_LEN(later); i++) {
        update(store, 0, later[i], (unsigned[]){2}, 1);
        assert_true(has(store, 1));
    }
    update(store, 0, "e", (unsigned[]){4}, 1);
    assert_false(has(store, 1));
    assert_false(has(store, 3));
    assert_true(has(store, 2));
    assert_true(has(store, 4));
    RK_AUTO(rk_manifest) manifest = {0};
    sample_ok(rk_manifest_read(store, job, 0, &manifest));
    assert_int_equal(manifest.options_count, 2); // the options of removed entries are removed too
    assert_int_equal(rk_manifest_latest_run(&manifest), 5);
    rk_store_free(store);
}

static void the_last_run_says_when_and_how_long(void **state) {
    rk_store *store = open_store(*state);
    update(store, 0, "a", (unsigned[]){7, 5}, 2);
    update(store, 0, "b", (unsigned[]){5, 7}, 2);
    RK_AUTO(rk_manifest) manifest = {0};
    sample_ok(rk_manifest_read(store, job, 0, &manifest));
    assert_int_equal(manifest.use_count, 2);
    rk_key first = sample_key(5);
    assert_true(rk_key_equal(&manifest.uses[0].key, &first)); // in the order of the last run
    assert_int_equal(manifest.uses[0].run, 2);
    assert_int_equal(manifest.uses[1].wanted_ns, 10000000);
    rk_store_free(store);
}

static void what_is_known_of_an_executable_stays(void **state) {
    (void)state;
    RK_AUTO(rk_manifest) manifest = {0};
    RK_AUTO(rk_manifest) seen = {0};
    RK_AUTO(rk_manifest) first = {0};
    note(&first, 9, 0);
    sample_ok(rk_manifest_merge(&manifest, "a", &first));
    rk_manifest_use use = {.key = sample_key(9), .load_ns = 5000};
    sample_ok(rk_manifest_note(&seen, &use, options_of(9)));
    sample_ok(rk_manifest_merge(&manifest, "b", &seen));
    assert_int_equal(manifest.use_count, 1);
    assert_int_equal(manifest.uses[0].bytes, 9);
    assert_int_equal(manifest.uses[0].load_ns,
                     9000); // more exact than an estimate from the compilation
}

static void each_rank_has_its_own(void **state) {
    rk_store *store = open_store(*state);
    update(store, 0, "a", (unsigned[]){1, 2}, 2);
    assert_int_equal(count_of(store, 3), 2); // a new rank starts with the manifest of rank 0
    update(store, 3, "a", (unsigned[]){1, 2, 3}, 3);
    assert_int_equal(count_of(store, 3), 3);
    assert_int_equal(count_of(store, 0), 2);
    rk_store_free(store);
}

static void a_bad_file_is_written_anew(void **state) {
    const char *directory = *state;
    rk_store *store = open_store(directory);
    char path[512];
    (void)snprintf(path, sizeof path, "%s/jobs/%s/manifest", directory, job);
    sample_write_file(path, "rekindle manifest 1\nrun", 23);
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(count_of(store, 0), 0);
    update(store, 0, "a", (unsigned[]){1}, 1);
    assert_int_equal(count_of(store, 0), 1);
    rk_store_free(store);
}

static void names_that_are_no_folders_are_refused(void **state) {
    rk_store *store = open_store(*state);
    static const char *const names[] = {"", ".", "..", "a/b", ".hidden"};
    for (size_t i = 0; i < RK_ARRAY_LEN(names); i++) {
        RK_AUTO(rk_manifest) manifest = {0};
        sample_fails(rk_manifest_read(store, names[i], 0, &manifest), RK_INVALID_ARGUMENT);
        sample_fails(rk_manifest_update(store, names[i], 0, "a", &manifest), RK_INVALID_ARGUMENT);
    }
    rk_store_free(store);
}

static void there_is_a_limit_to_all_of_it(void **state) {
    (void)state;
    RK_AUTO(rk_manifest) manifest = {0};
    for (unsigned seed = 0; seed < RK_MANIFEST_MAX_OPTIONS + 10; seed++)
        note(&manifest, seed, seed);
    assert_int_equal(manifest.use_count, RK_MANIFEST_MAX_OPTIONS); // a use requires its options
    for (uint32_t i = 0; i < RK_MANIFEST_MAX_USES; i++) {
        rk_manifest_use use = {.key = sample_key(1), .occurrence = i};
        sample_ok(rk_manifest_note(&manifest, &use, options_of(1)));
    }
    assert_int_equal(manifest.use_count, RK_MANIFEST_MAX_USES);
    RK_AUTO(rk_buf) data = {0};
    RK_AUTO(rk_manifest) again = {0};
    sample_ok(rk_manifest_encode(&manifest, &data));
    assert_true(decode(rk_buf_span(&data), &again));
    assert_int_equal(again.use_count, RK_MANIFEST_MAX_USES);
}

// Options are written as two hex digits per byte. Those that exceed the limit are not stored; the
// others are.
static void options_are_limited_all_together(void **state) {
    (void)state;
    RK_AUTO(rk_manifest) manifest = {0};
    uint8_t *bytes = calloc(1, RK_MANIFEST_OPTIONS_MAX_BYTES);
    const size_t fit = RK_MANIFEST_ALL_OPTIONS_MAX_BYTES / RK_MANIFEST_OPTIONS_MAX_BYTES;
    for (unsigned seed = 0; seed < fit + 3; seed++) {
        rk_manifest_use use = {.key = sample_key(seed)};
        bytes[0] = (uint8_t)seed;
        rk_span options = rk_span_of(bytes, RK_MANIFEST_OPTIONS_MAX_BYTES);
        sample_ok(rk_manifest_note(&manifest, &use, options));
        sample_ok(rk_manifest_note(&manifest, &use, options)); // again, which takes no space
    }
    rk_manifest_use again_used = {.key = sample_key(0), .load_ns = 7};
    bytes[1] = 1; // other bytes of the same canonical options; the stored bytes stay
    sample_ok(
        rk_manifest_note(&manifest, &again_used, rk_span_of(bytes, RK_MANIFEST_OPTIONS_MAX_BYTES)));
    assert_int_equal(manifest.uses[0].load_ns, 7);
    free(bytes);
    assert_int_equal(manifest.use_count, fit);
    RK_AUTO(rk_buf) data = RK_BUF_INIT(RK_MANIFEST_MAX_BYTES);
    RK_AUTO(rk_manifest) again = {0};
    sample_ok(rk_manifest_encode(&manifest, &data));
    assert_true(decode(rk_buf_span(&data), &again));
    assert_int_equal(again.options_count, fit);
}

// The speed of the disk does not matter here.
static int no_fsync(int fd) {
    (void)fd;
    return 0;
}

// Waits for the lock without a limit. On a loaded machine a writer could otherwise time out after a
// second and continue without the lock.
static int flock_until_locked(int fd, int operation) {
    return flock(fd, operation & ~LOCK_NB);
}

static void update_again_and_again(rk_store *store, unsigned first, unsigned step,
                                   bool until_locked) {
    enum { ROUNDS = 20 };
    rk_sys_table table = rk_sys_libc;
    table.fsync_fn = no_fsync;
    if (until_locked)
        table.flock_fn = flock_until_locked;
    rk_sys_replace(&table);
    for (unsigned round = 0; round < ROUNDS; round++)
        update(store, 0, "a", (unsigned[]){first + round * step, first + round * step + 1}, 2);
}

// Processes of one run that end at the same time. The file is always whole.
static void many_writers_leave_a_whole_one(void **state) {
    enum { WRITERS = 8, ROUNDS = 20 };
    rk_store *store = open_store(*state);
    update(store, 0, "a", (unsigned[]){1}, 1);
    for (unsigned writer = 0; writer < WRITERS; writer++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            update_again_and_again(store, writer + 1, 0, false);
            _exit(0);
        }
    }
    for (unsigned round = 0; round < ROUNDS; round++)
        assert_true(count_of(store, 0) >= 1);
    for (unsigned writer = 0; writer < WRITERS; writer++) {
        int status = 1;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    assert_true(count_of(store, 0) >= 2);
    rk_store_free(store);
}

// Children of one job that end at the same time. Everything that they used is recorded.
static void nothing_that_many_writers_saw_is_lost(void **state) {
    enum { WRITERS = 3, SEEN_BY_ONE = 40 };
    rk_store *store = open_store(*state);
    for (unsigned writer = 0; writer < WRITERS; writer++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            update_again_and_again(store, writer * SEEN_BY_ONE, 2, true);
            _exit(0);
        }
    }
    for (unsigned writer = 0; writer < WRITERS; writer++) {
        int status = 1;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    assert_int_equal(count_of(store, 0), WRITERS * SEEN_BY_ONE);
    rk_store_free(store);
}

// A process that stopped while holding the lock delays others by one second only.
static void a_lock_that_stays_is_not_waited_for_long(void **state) {
    rk_store *store = open_store(*state);
    char path[512];
    update(store, 0, "a", (unsigned[]){1}, 1);
    (void)snprintf(path, sizeof path, "%s/jobs/%s", (const char *)*state, job);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    update(store, 0, "a", (unsigned[]){2}, 1);
    assert_int_equal(count_of(store, 0), 2);
    assert_int_equal(close(fd), 0);
    rk_store_free(store);
}

// The lock's descriptor is also open in a child that lives on. The next process need not wait for
// the child.
static int sleeping_child;
static int flock_and_fork(int fd, int operation) {
    int status = rk_sys_libc.flock_fn(fd, operation);
    if (status == 0 && operation != LOCK_UN && !sleeping_child) {
        sleeping_child = fork();
        if (sleeping_child == 0) {
            (void)pause();
            _exit(0);
        }
    }
    return status;
}

static void a_child_that_was_forked_meanwhile_holds_no_lock(void **state) {
    rk_store *store = open_store(*state);
    rk_sys_table table = rk_sys_libc;
    char path[512];
    table.flock_fn = flock_and_fork;
    rk_sys_replace(&table);
    update(store, 0, "a", (unsigned[]){1}, 1);
    rk_sys_replace(NULL);
    assert_true(sleeping_child > 0);
    (void)snprintf(path, sizeof path, "%s/jobs/%s", (const char *)*state, job);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    assert_int_equal(close(fd), 0);
    assert_int_equal(kill(sleeping_child, SIGKILL), 0);
    assert_int_equal(waitpid(sleeping_child, NULL, 0), sleeping_child);
    rk_store_free(store);
}

static rk_err *try_all(const char *directory) {
    rk_store *store = NULL;
    RK_TRY(rk_store_open(directory, false, &store));
    RK_AUTO(rk_manifest) seen = {0};
    rk_manifest_use use = {.key = sample_key(1)};
    rk_err *err = rk_manifest_note(&seen, &use, options_of(1));
    if (!err)
        err = rk_manifest_update(store, job, 0, "a", &seen);
    RK_AUTO(rk_manifest) read = {0};
    if (!err)
        err = rk_manifest_read(store, job, 0, &read);
    rk_store_free(store);
    return err;
}

static void check_left(const char *directory) {
    rk_store *store = open_store(directory);
    size_t count = count_of(store, 0);
    assert_true(count <= 1);
    rk_store_free(store);
}

static void whatever_fails_leaves_all_or_nothing(void **state) {
    static const unsigned kinds[] = {RK_FAULT_ALLOC, RK_FAULT_EVERY_SYSCALL};
    for (size_t i = 0; i < RK_ARRAY_LEN(kinds); i++) {
        bool reached = true;
        for (unsigned nth = 1; reached; nth++) {
            rk_fault_begin(&(rk_fault_plan){.nth = nth, .calls = kinds[i]});
            rk_err *err = try_all(*state);
            reached = rk_fault_end();
            assert_true(reached || !err);
            rk_err_free(err);
            check_left(*state);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_golden_file_is_read_and_written),
        cmocka_unit_test(damage_makes_it_empty),
        cmocka_unit_test(nonsense_with_a_right_digest_is_refused),
        cmocka_unit_test_setup_teardown(runs_are_merged_and_old_uses_fade, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_last_run_says_when_and_how_long, set_up, tear_down),
        cmocka_unit_test(what_is_known_of_an_executable_stays),
        cmocka_unit_test_setup_teardown(each_rank_has_its_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_bad_file_is_written_anew, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_that_are_no_folders_are_refused, set_up, tear_down),
        cmocka_unit_test(there_is_a_limit_to_all_of_it),
        cmocka_unit_test(options_are_limited_all_together),
        cmocka_unit_test_setup_teardown(many_writers_leave_a_whole_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_that_many_writers_saw_is_lost, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_lock_that_stays_is_not_waited_for_long, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_child_that_was_forked_meanwhile_holds_no_lock, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(whatever_fails_leaves_all_or_nothing, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
