// Which folders count as stores, and which files in a store are left alone.
#include "sample.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/tree.h"
#include "store/gc.h"
#include "store/manifest.h"
#include "support/faults.h"
#include "support/tempdir.h"

#define KEY "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define RUN "20260101T101010Z-abcd"

static const char start_line[] = "{\"v\":1,\"t\":1,\"ev\":\"start\",\"run\":\"r\"}\n";

static char *top; // the temporary directory
static char root[4000];

static int set_up(void **state) {
    (void)state;
    top = rk_test_tempdir();
    (void)snprintf(root, sizeof root, "%s/store", top);
    return mkdir(root, 0700);
}

static int tear_down(void **state) {
    (void)state;
    rk_sys_replace(NULL);
    rk_test_tempdir_remove(top);
    return 0;
}

static void path_of(const char *name, char out[5000]) {
    (void)snprintf(out, 5000, "%s/%s", root, name);
}

// Makes a file, or a folder if the name ends in a slash.
static void make(const char *name, const char *text) {
    char path[5000];
    path_of(name, path);
    if (name[strlen(name) - 1] == '/')
        sample_ok(rk_fs_make_dirs(path, 0700));
    else
        sample_write_file(path, text, strlen(text));
}

static void begin_anew(void) {
    rk_test_tempdir_remove(top);
    assert_int_equal(set_up(NULL), 0);
}

static void assert_holds(const char *name, const char *text) {
    RK_AUTO(rk_buf) got = RK_BUF_INIT(0);
    char path[5000];
    path_of(name, path);
    sample_ok(rk_fs_read(path, 1 << 20, &got));
    assert_string_equal(rk_buf_text(&got), text);
}

static bool lies(const char *name) {
    char path[5000];
    path_of(name, path);
    return access(path, F_OK) == 0;
}

static void golden(rk_buf *out) {
    sample_ok(rk_fs_read(RK_TEST_GOLDEN_DIR "/marker-v1", 1 << 20, out));
}

static void opens(bool readonly) {
    rk_store *store = NULL;
    sample_ok(rk_store_open(root, readonly, &store));
    rk_store_free(store);
}

static void assert_accepted(void) {
    RK_AUTO(rk_buf) marker = RK_BUF_INIT(0);
    golden(&marker);
    opens(true);
    assert_false(lies("REKINDLE_STORE"));
    opens(false);
    assert_holds("REKINDLE_STORE", rk_buf_text(&marker));
    opens(true);
}

static void assert_refused_with(const char *text) {
    for (int readonly = 0; readonly < 2; readonly++) {
        rk_store *store = NULL;
        rk_err *err = rk_store_open(root, readonly, &store);
        assert_null(store);
        assert_non_null(err);
        assert_non_null(strstr(rk_err_message(err), root));
        assert_non_null(strstr(rk_err_message(err), text));
        assert_non_null(strstr(rk_err_message(err), "REKINDLE_DIR"));
        sample_fails(err, RK_FAILED_PRECONDITION);
    }
}

static void a_new_store_gets_a_marker(void **state) {
    (void)state;
    assert_accepted();
    begin_anew();
    assert_int_equal(rmdir(root), 0);
    opens(false);
    assert_true(lies("REKINDLE_STORE"));
}

static void with_the_marker_anything_may_lie_there(void **state) {
    (void)state;
    RK_AUTO(rk_buf) marker = RK_BUF_INIT(0);
    golden(&marker);
    make("REKINDLE_STORE", rk_buf_text(&marker));
    make("model.py", "x");
    make("runs/tb/events", "x");
    opens(true);
    opens(false);
    assert_holds("REKINDLE_STORE", rk_buf_text(&marker));
    make("REKINDLE_STORE", "rekindle store 1\nwhatever a later one adds\n");
    opens(false);
    assert_holds("REKINDLE_STORE", "rekindle store 1\nwhatever a later one adds\n");
}

static void another_version_is_refused(void **state) {
    (void)state;
    static const char *const markers[] = {"rekindle store 2\n", "rekindle store 10\nmore\n",
                                          "rekindle store \n"};
    for (size_t i = 0; i < RK_ARRAY_LEN(markers); i++) {
        make("REKINDLE_STORE", markers[i]);
        assert_refused_with("version");
        assert_holds("REKINDLE_STORE", markers[i]);
    }
}

// Each file alone in a folder without a marker, beside a file of another program.
static void one_file_of_ours_is_proof(void **state) {
    (void)state;
    static const struct {
        const char *name, *text;
    } proofs[] = {
        {"objects/01/" KEY ".rkx", "\x89RKX\r\n\x1a\n"},
        {"programs/01/" KEY ".rkp", "\x89RKX\r\n\x1a\n"},
        {"usage/base", "rekindle usage 1\n"},
        {"usage/log-1-1a2b-3c4d-5e6f-00112233445566778899aabbccddeeff-host", ""},
        {"quarantine/" KEY ".rkx-1700000000-17", "x"},
        {"plugins/plugin-fd00-1a2b", "rekindle plugin 1\n"},
        {"jobs/train/manifest", "rekindle manifest 1\n"},
        {"runs/mine/0.jsonl", start_line},
        {"runs/mine/3.123.jsonl", start_line},
        {"runs/" RUN "/0.jsonl", ""},
        {"leases/" KEY, "rekindle lease 1\n"},
        {"pins/" KEY, ""},
        {"loads/" KEY, "rekindle load 1 suspect 1 2 0\n"},
        {"loads/note-1a2b-3c4d-5e6f-00112233445566778899aabbccddeeff-host-preload", ""},
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(proofs); i++) {
        begin_anew();
        make(proofs[i].name, proofs[i].text);
        make("runs/tb/events.out", "x");
        make("model.py", "x");
        print_message("%s\n", proofs[i].name);
        assert_accepted();
    }
}

static void what_says_nothing_is_passed_over(void **state) {
    (void)state;
    make("config", "mode = readonly\n");
    make("lost+found/", NULL);
    make(".DS_Store", "x");
    make(".git/HEAD", "x");
    assert_accepted();
    begin_anew();
    make("objects/ab/", NULL);
    make("runs/" RUN "/", NULL);
    make("usage/", NULL);
    make("loads/", NULL);
    make("objects/ab/.tmp-1", "x");
    assert_accepted();
}

static void folders_of_others_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *name, *text;
    } others[] = {
        {"model.py", "x"},
        {"src/", NULL},
        {"runs", "a file"},
        {"runs/tb/events.out.tfevents", "x"},
        {"runs/0.jsonl", "{\"loss\":1}\n"},
        {"runs/exp/0.jsonl", "{\"v\":1,\"loss\":1}\n"},
        {"runs/exp/deep/er/0.jsonl", start_line},
        {"jobs/train/manifest", "name: train\n"},
        {"jobs/train/manifest.json", "rekindle manifest 1\n"},
        {"usage/base", "base of others\n"},
        {"usage/log-1", "x"},
        {"usage/clock", "12:00\n"},
        {"objects/01/" KEY ".rkx", "no entry"},
        {"objects/02/" KEY ".rkx", "\x89RKX\r\n\x1a\n"},
        {"objects/" KEY ".rkx", "\x89RKX\r\n\x1a\n"},
        {"objects/pack/pack-1", "x"},
        {"plugins/plugin-fd00-1a2b", "x"},
        {"leases/" KEY, "x"},
        {"pins/" KEY, "x"},
        {"loads/" KEY, "x"},
        {"loads/note-1", "x"},
        {"REKINDLE_STORE", "notes on rekindle\n"},
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(others); i++) {
        begin_anew();
        make("config", "x");
        make("objects/", NULL);
        make(others[i].name, others[i].text);
        print_message("%s\n", others[i].name);
        unsigned files = sample_count_files(root);
        assert_refused_with("does not exist yet will do");
        assert_int_equal(sample_count_files(root), files);
        if (others[i].text)
            assert_holds(others[i].name, others[i].text);
    }
}

static void links_are_not_followed(void **state) {
    (void)state;
    char link[5000], target[5000];
    make("objects/01/" KEY ".rkx", "\x89RKX\r\n\x1a\n");
    path_of("objects", target);
    path_of("programs", link);
    char moved[5000];
    (void)snprintf(moved, sizeof moved, "%s/elsewhere", top);
    assert_int_equal(rename(target, moved), 0);
    assert_int_equal(symlink(moved, target), 0);
    assert_refused_with("such as objects");
    assert_int_equal(unlink(target), 0);
    path_of("REKINDLE_STORE", link);
    assert_int_equal(symlink(RK_TEST_GOLDEN_DIR "/marker-v1", link), 0);
    assert_refused_with("such as REKINDLE_STORE");
}

static void a_damaged_marker_is_written_anew(void **state) {
    (void)state;
    static const char *const markers[] = {"", "rekin", "rekindle store 1", "rekiNdle stoRe 1\n"};
    RK_AUTO(rk_buf) marker = RK_BUF_INIT(0);
    golden(&marker);
    for (size_t i = 0; i < RK_ARRAY_LEN(markers); i++) {
        begin_anew();
        make("REKINDLE_STORE", markers[i]);
        opens(true);
        assert_holds("REKINDLE_STORE", markers[i]);
        opens(false);
        assert_holds("REKINDLE_STORE", rk_buf_text(&marker));
    }
    // A file that is no marker is not replaced.
    make("usage/base", "rekindle usage 1\n");
    make("REKINDLE_STORE", "notes on rekindle\n");
    opens(false);
    assert_holds("REKINDLE_STORE", "notes on rekindle\n");
}

static void a_store_that_refuses_the_marker_is_used(void **state) {
    (void)state;
    static const int errors[] = {ENOSPC, EDQUOT, EROFS};
    static const unsigned calls[] = {RK_FAULT_WRITE, RK_FAULT_FSYNC, RK_FAULT_RENAME};
    for (size_t i = 0; i < RK_ARRAY_LEN(errors); i++) {
        rk_fault_begin(&(rk_fault_plan){
            .nth = 1, .calls = calls[i], .error_number = errors[i], .lasting = true});
        rk_store *store = NULL;
        rk_err *err = rk_store_open(root, false, &store);
        assert_true(rk_fault_end());
        sample_ok(err);
        assert_int_equal(sample_count_files(root), 0);
        assert_false(lies("REKINDLE_STORE"));
        rk_store_free(store);
    }
}

// The next action of a starting process: a journal without a complete first line, in a run of any
// name.
static void start_in_a_child(unsigned number) {
    rk_store *store = NULL;
    rk_autoerr err = rk_store_open(root, false, &store);
    if (err)
        _exit(1);
    char name[64];
    (void)snprintf(name, sizeof name, "runs/any%u", number);
    rk_autoerr made = rk_tree_make_dirs(root, name);
    (void)snprintf(name, sizeof name, "runs/any%u/0.jsonl", number);
    rk_autoerr written = rk_tree_publish(root, name, "{", 1, 0600);
    _exit(made || written ? 2 : 0);
}

static void sixteen_first_starts_at_once(void **state) {
    (void)state;
    enum { ROUNDS = 15, STARTS = 16 };
    for (unsigned round = 0; round < ROUNDS; round++) {
        begin_anew();
        assert_int_equal(rmdir(root), 0);
        for (unsigned i = 0; i < STARTS; i++) {
            pid_t child = fork();
            assert_true(child >= 0);
            if (child == 0)
                start_in_a_child(i);
        }
        for (unsigned i = 0; i < STARTS; i++) {
            int status = -1;
            assert_true(wait(&status) > 0);
            assert_int_equal(status, 0);
        }
        assert_true(lies("REKINDLE_STORE"));
        assert_int_equal(sample_count_files(root), STARTS);
    }
}

static rk_err *collect(rk_store *store) {
    rk_gc_report report;
    return rk_store_gc(
        store, &(rk_gc_options){.max_bytes = UINT64_MAX, .older_than_ns = UINT64_MAX}, &report);
}

// Files of other programs in a store, with the names of our files.
static void files_of_others_are_not_replaced(void **state) {
    (void)state;
    rk_store *store = NULL;
    rk_manifest seen = {0};
    rk_entry entry = sample_entry(RK_ENTRY_EXECUTABLE, 1);
    sample_ok(rk_store_open(root, false, &store));
    sample_ok(rk_store_set_limit(store, UINT64_MAX));
    make("usage/base", "the base of somebody's usage\n");
    make("usage/clock", "12:00\n");
    make("jobs/train/manifest", "name: train\n");
    sample_fails(collect(store), RK_FAILED_PRECONDITION);
    sample_fails(rk_store_put(store, &entry, NULL), RK_FAILED_PRECONDITION);
    sample_fails(rk_manifest_update(store, "train", 0, "a", &seen), RK_FAILED_PRECONDITION);
    sample_ok(rk_manifest_update(store, "other", 0, "a", &seen));
    assert_holds("usage/base", "the base of somebody's usage\n");
    assert_holds("jobs/train/manifest", "name: train\n");
    make("usage/base", "");
    sample_ok(rk_store_put(store, &entry, NULL));
    sample_ok(collect(store));
    assert_holds("usage/clock", "12:00\n");
    char path[5000];
    path_of("usage/base", path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/dev/null", path), 0);
    sample_fails(collect(store), RK_INVALID_ARGUMENT); // a link is not read
    struct stat info;
    assert_int_equal(lstat(path, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    rk_store_free(store);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_new_store_gets_a_marker),
        TEST(with_the_marker_anything_may_lie_there),
        TEST(another_version_is_refused),
        TEST(one_file_of_ours_is_proof),
        TEST(what_says_nothing_is_passed_over),
        TEST(folders_of_others_are_refused),
        TEST(links_are_not_followed),
        TEST(a_damaged_marker_is_written_anew),
        TEST(a_store_that_refuses_the_marker_is_used),
        TEST(sixteen_first_starts_at_once),
        TEST(files_of_others_are_not_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
