// Results of base/fs.h when the n-th system call fails, when the process ends there, and when the
// n-th allocation fails; for every n.
#include "base/fs.h"

#include <errno.h>
#include <unistd.h>

#include "base/alloc.h"
#include "support/expect.h"
#include "support/faults.h"
#include "support/tempdir.h"

static const char OLD[] = "the old content";
static const char NEW[] = "what comes after it, and is longer";

typedef struct place {
    char *directory;
    char *path;
} place;

static int set_up(void **state) {
    static place here;
    here.directory = rk_test_tempdir();
    here.path = rk_path_join(here.directory, "file");
    *state = &here;
    return 0;
}

static int tear_down(void **state) {
    place *here = *state;
    rk_free(here->path);
    rk_test_tempdir_remove(here->directory);
    return 0;
}

static void expect_content(const char *path, const char *expected) {
    RK_AUTO(rk_buf) content = {0};
    rk_expect_ok(rk_fs_read(path, 1000, &content));
    assert_string_equal(rk_buf_text(&content), expected);
}

// Each failure before the sync of the directory leaves the old content and no other file.
static void a_failing_publish_leaves_the_old_content(void **state) {
    place *here = *state;
    static const int errors[] = {EIO, ENOSPC, EDQUOT, EROFS, EACCES};
    for (size_t i = 0; i < RK_ARRAY_LEN(errors); i++) {
        rk_expect_ok(rk_fs_publish(here->path, OLD, strlen(OLD), 0600));
        rk_fault_begin(&(rk_fault_plan){0});
        rk_expect_ok(rk_fs_publish(here->path, OLD, strlen(OLD), 0600));
        unsigned calls = rk_fault_count();
        rk_fault_end();
        for (unsigned nth = 1; nth < calls - 1; nth++) { // not the directory's sync and close
            rk_fault_begin(&(rk_fault_plan){.nth = nth, .error_number = errors[i]});
            rk_err *err = rk_fs_publish(here->path, NEW, strlen(NEW), 0600);
            assert_true(rk_fault_end());
            assert_int_equal(rk_err_errno(err), errors[i]);
            rk_err_free(err);
            expect_content(here->path, OLD);
            assert_int_equal(rk_test_count_entries(here->directory), 1);
        }
    }
}

static void an_unsynced_directory_is_reported(void **state) {
    place *here = *state;
    rk_fault_begin(&(rk_fault_plan){.nth = 2, .calls = RK_FAULT_FSYNC});
    rk_err *err = rk_fs_publish(here->path, NEW, strlen(NEW), 0600);
    assert_true(rk_fault_end());
    assert_int_equal(rk_err_errno(err), EIO);
    rk_err_free(err);
    expect_content(here->path, NEW);
    // An unsupported sync is not a failure.
    rk_fault_begin(&(rk_fault_plan){.nth = 2, .calls = RK_FAULT_FSYNC, .error_number = EINVAL});
    err = rk_fs_publish(here->path, OLD, strlen(OLD), 0600);
    assert_true(rk_fault_end());
    rk_expect_ok(err);
}

static void a_full_disk_leaves_the_old_content(void **state) {
    place *here = *state;
    rk_expect_ok(rk_fs_publish(here->path, OLD, strlen(OLD), 0600));
    rk_fault_begin(&(rk_fault_plan){
        .nth = 1, .calls = RK_FAULT_WRITE, .error_number = ENOSPC, .lasting = true});
    rk_err *err = rk_fs_publish(here->path, NEW, strlen(NEW), 0600);
    assert_true(rk_fault_end());
    assert_int_equal(rk_err_code(err), RK_RESOURCE_EXHAUSTED);
    rk_err_free(err);
    expect_content(here->path, OLD);
    assert_int_equal(rk_test_count_entries(here->directory), 1);
}

static void publish_new(void *context) {
    const place *here = context;
    rk_err_drop(rk_fs_publish(here->path, NEW, strlen(NEW), 0600), "the process ends in it");
}

// A killed process leaves the old or the new content, whole, and at most a temporary file, which
// later processes ignore.
static void a_kill_leaves_old_or_new(void **state) {
    place *here = *state;
    bool seen_old = false, seen_new = false;
    for (unsigned nth = 1;; nth++) {
        rk_expect_ok(rk_fs_publish(here->path, OLD, strlen(OLD), 0600));
        rk_fault_begin(&(rk_fault_plan){.nth = nth, .exits = true});
        int status = rk_fault_in_child(publish_new, here);
        rk_fault_end();
        RK_AUTO(rk_buf) content = {0};
        rk_expect_ok(rk_fs_read(here->path, 1000, &content));
        bool is_old = strcmp(rk_buf_text(&content), OLD) == 0;
        assert_true(is_old || strcmp(rk_buf_text(&content), NEW) == 0);
        seen_old |= is_old;
        seen_new |= !is_old;
        if (status == 0)
            break;
        assert_int_equal(status, RK_FAULT_EXIT_STATUS);
    }
    assert_true(seen_old && seen_new);
}

static void a_failing_read_is_an_error(void **state) {
    place *here = *state;
    rk_expect_ok(rk_fs_publish(here->path, OLD, strlen(OLD), 0600));
    unsigned nth = 1;
    for (;; nth++) {
        RK_AUTO(rk_buf) content = {0};
        rk_fault_begin(
            &(rk_fault_plan){.nth = nth, .calls = RK_FAULT_EVERY_SYSCALL & ~RK_FAULT_CLOSE});
        rk_err *err = rk_fs_read(here->path, 1000, &content);
        if (!rk_fault_end()) {
            rk_expect_ok(err);
            break;
        }
        rk_expect_code(RK_DATA_LOSS, err);
    }
    assert_int_equal(nth, 5); // open, fstat, read of the content, read at the end
}

static void failing_directories_are_errors(void **state) {
    place *here = *state;
    rk_autofree char *deep = rk_path_join(here->directory, "x/y/z");
    rk_fault_begin(&(rk_fault_plan){.nth = 1, .lasting = true});
    rk_err *made = rk_fs_make_dirs(deep, 0700);
    rk_fault_end();
    rk_expect_code(RK_DATA_LOSS, made);
    rk_fault_begin(&(rk_fault_plan){.nth = 1, .error_number = EMFILE});
    rk_err *listed = rk_fs_list(here->directory, 10, NULL, NULL);
    assert_true(rk_fault_end());
    rk_expect_code(RK_RESOURCE_EXHAUSTED, listed);
    rk_fault_begin(&(rk_fault_plan){.nth = 1, .error_number = EACCES});
    rk_err *removed = rk_fs_remove(here->path);
    assert_true(rk_fault_end());
    rk_expect_code(RK_PERMISSION_DENIED, removed);
}

static rk_err *ignore_name(void *context, const char *name) {
    (void)context;
    (void)name;
    return NULL;
}

static rk_err *use_everything(const place *here) {
    RK_AUTO(rk_buf) content = {0};
    rk_autofree char *deep = rk_path_join(here->directory, "a/b");
    if (!deep)
        return rk_err_no_memory();
    RK_TRY(rk_fs_make_dirs(deep, 0700));
    RK_TRY(rk_fs_publish(here->path, NEW, strlen(NEW), 0600));
    RK_TRY(rk_fs_read(here->path, 1000, &content));
    return rk_fs_list(here->directory, 100, ignore_name, NULL);
}

static void no_memory_is_told_and_leaks_nothing(void **state) {
    place *here = *state;
    rk_expect_ok(rk_fs_publish(here->path, OLD, strlen(OLD), 0600));
    for (unsigned nth = 1;; nth++) {
        rk_fault_begin(&(rk_fault_plan){.nth = nth, .calls = RK_FAULT_ALLOC});
        rk_err *err = use_everything(here);
        if (!rk_fault_end()) {
            rk_expect_ok(err);
            assert_true(nth > 5);
            break;
        }
        rk_expect_code(RK_RESOURCE_EXHAUSTED, err);
        assert_in_range(rk_test_count_entries(here->directory), 1,
                        2); // "file" and "a"
    }
}

#define WITH_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_DIRECTORY(a_failing_publish_leaves_the_old_content),
        WITH_DIRECTORY(an_unsynced_directory_is_reported),
        WITH_DIRECTORY(a_full_disk_leaves_the_old_content),
        WITH_DIRECTORY(a_kill_leaves_old_or_new),
        WITH_DIRECTORY(a_failing_read_is_an_error),
        WITH_DIRECTORY(failing_directories_are_errors),
        WITH_DIRECTORY(no_memory_is_told_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
