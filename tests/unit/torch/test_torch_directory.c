// The directory of a job: one path, one owner, what several starts at once do with it, and when it
// is removed.
#include "torch/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fs.h"
#include "support/expect.h"
#include "support/tempdir.h"

static char *root;
static char base[1024];

static int set_up(void **state) {
    (void)state;
    root = rk_test_tempdir();
    (void)snprintf(base, sizeof base, "%s/cache/torch-compile", root);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    rk_test_tempdir_remove(root);
    return 0;
}

static rk_err *open_with(const char *job, bool makes, bool is_fresh, rk_torch_directory *out) {
    rk_digest identity;
    rk_digest_of(rk_span_text(job), &identity);
    const rk_torch_directory_wish wish = {
        .base = base, .job = job, .identity = &identity, .makes = makes, .is_fresh = is_fresh};
    return rk_torch_directory_open(&wish, out);
}

static rk_err *open_one(const char *job, rk_torch_directory *out) {
    return open_with(job, true, false, out);
}

static void put(const rk_torch_directory *directory, const char *name) {
    char path[2048];
    (void)snprintf(path, sizeof path, "%s/%s", directory->path, name);
    rk_expect_ok(rk_fs_publish(path, "x", 1, 0600));
}

static bool has(const rk_torch_directory *directory, const char *name) {
    char path[2048];
    struct stat info;
    (void)snprintf(path, sizeof path, "%s/%s", directory->path, name);
    return lstat(path, &info) == 0;
}

static bool is_there(const char *path) {
    struct stat info;
    return lstat(path, &info) == 0;
}

static void age(const char *path, unsigned days) {
    uint64_t then_s = rk_realtime_ns() / 1000000000 - UINT64_C(86400) * days;
    const struct timespec times[2] = {{.tv_sec = (time_t)then_s}, {.tv_sec = (time_t)then_s}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void the_path_and_the_files_stay(void **state) {
    (void)state;
    char *path = NULL;
    struct stat info;
    for (int i = 0; i < 2; i++) {
        RK_AUTO(rk_torch_directory) one = {0};
        rk_expect_ok(open_one("train", &one));
        assert_int_equal(stat(one.path, &info), 0);
        assert_int_equal(info.st_mode & 07777, 0700);
        if (i)
            assert_true(has(&one, "result.pt2"));
        put(&one, "result.pt2");
        if (path)
            assert_string_equal(one.path, path);
        free(path);
        path = strdup(one.path);
    }
    RK_AUTO(rk_torch_directory) other = {0};
    rk_expect_ok(open_one("other", &other));
    assert_string_not_equal(other.path, path);
    free(path);
}

static void nothing_is_made_unless_asked(void **state) {
    (void)state;
    RK_AUTO(rk_torch_directory) one = {0};
    RK_AUTO(rk_torch_directory) two = {0};
    rk_expect_ok(open_with("train", false, false, &one));
    assert_null(one.path);
    assert_false(is_there(base));
    rk_expect_ok(open_one("train", &one));
    rk_expect_ok(open_with("train", false, false, &two));
    assert_string_equal(one.path, two.path);
}

static void starts_at_the_same_time_share(void **state) {
    (void)state;
    RK_AUTO(rk_torch_directory) first = {0};
    RK_AUTO(rk_torch_directory) second = {0};
    rk_expect_ok(open_one("train", &first));
    assert_true(rk_torch_directory_is_alone(&first));
    put(&first, "file");
    rk_expect_ok(open_one("train", &second));
    assert_true(has(&second, "file"));
    assert_false(rk_torch_directory_is_alone(&first));
    assert_false(rk_torch_directory_is_alone(&second)); // the first one still has its lock
    rk_torch_directory_cleanup(&first);
    assert_true(rk_torch_directory_is_alone(&second));
}

// Later starts use the newest generation, and the older one stays.
static void a_fresh_directory_is_a_new_one(void **state) {
    (void)state;
    RK_AUTO(rk_torch_directory) first = {0};
    RK_AUTO(rk_torch_directory) fresh = {0};
    RK_AUTO(rk_torch_directory) next = {0};
    RK_AUTO(rk_torch_directory) again = {0};
    rk_expect_ok(open_one("train", &first));
    put(&first, "file");
    rk_expect_ok(open_with("train", true, true, &fresh));
    assert_string_not_equal(first.path, fresh.path);
    assert_int_equal(rk_test_count_entries(fresh.path), 0);
    rk_expect_ok(open_one("train", &next));
    assert_string_equal(next.path, fresh.path);
    assert_true(has(&first, "file"));
    rk_expect_ok(open_with("train", true, true, &again));
    assert_string_not_equal(again.path, fresh.path);
}

static void unsafe_folders_are_refused(void **state) {
    (void)state;
    char elsewhere[1024], parent[1024];
    struct stat info;
    (void)snprintf(parent, sizeof parent, "%s/cache", root);
    (void)snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", root);
    rk_expect_ok(rk_fs_make_dirs(parent, 0700));
    rk_expect_ok(rk_fs_make_dirs(elsewhere, 0700));
    {
        RK_AUTO(rk_torch_directory) one = {0};
        assert_int_equal(symlink(elsewhere, base), 0);
        rk_err *err = open_one("train", &one);
        assert_non_null(err);
        rk_err_free(err);
        assert_int_equal(rk_test_count_entries(elsewhere), 0);
        assert_int_equal(unlink(base), 0);
    }
    RK_AUTO(rk_torch_directory) two = {0};
    assert_int_equal(mkdir(base, 0700), 0);
    assert_int_equal(chmod(base, 0777), 0);
    rk_expect_code(RK_PERMISSION_DENIED, open_one("train", &two));
    assert_int_equal(chmod(base, 0755), 0); // as a job makes it that inherits the variables
    assert_int_equal(chmod(parent, 0777), 0);
    rk_expect_code(RK_PERMISSION_DENIED, open_one("train", &two));
    assert_int_equal(chmod(parent, 01777), 0);
    assert_int_equal(chmod(root, 0777), 0); // above the parent
    rk_expect_code(RK_PERMISSION_DENIED, open_one("train", &two));
    assert_int_equal(chmod(root, 0700), 0);
    rk_expect_ok(open_one("train", &two));
    assert_int_equal(stat(base, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0700);
}

// torch.compile splits the compiler's command at blanks.
static void paths_that_torch_cannot_use_are_refused(void **state) {
    (void)state;
    static const char *const names[] = {"a b", "it's", "a\\b", "a\"b"};
    for (size_t i = 0; i < RK_ARRAY_LEN(names); i++) {
        RK_AUTO(rk_torch_directory) one = {0};
        (void)snprintf(base, sizeof base, "%s/%s/torch-compile", root, names[i]);
        rk_err *err = open_one("train", &one);
        assert_non_null(strstr(rk_err_message(err), "XDG_CACHE_HOME"));
        rk_expect_code(RK_FAILED_PRECONDITION, err);
        assert_false(is_there(base));
    }
}

static int no_locks(int fd, int operation) {
    (void)fd, (void)operation;
    errno = ENOSYS;
    return -1;
}

// As on Lustre without its option flock.
static void files_must_be_lockable(void **state) {
    (void)state;
    RK_AUTO(rk_torch_directory) one = {0};
    rk_sys_table table = rk_sys_libc;
    table.flock_fn = no_locks;
    rk_sys_replace(&table);
    rk_err *opened = open_one("train", &one);
    rk_err *err = rk_torch_directory_check(&one);
    rk_sys_replace(NULL);
    rk_expect_ok(opened);
    assert_non_null(strstr(rk_err_message(err), "no locks"));
    assert_non_null(strstr(rk_err_message(err), "XDG_CACHE_HOME"));
    rk_err_free(err);
    assert_int_equal(rk_test_count_entries(one.path), 0);
}

static int noexec_mount(const char *path, struct statvfs *out) {
    (void)path;
    *out = (struct statvfs){.f_flag = ST_NOEXEC};
    return 0;
}

static void libraries_must_be_loadable(void **state) {
    (void)state;
    RK_AUTO(rk_torch_directory) one = {0};
    rk_sys_table table = rk_sys_libc;
    rk_expect_ok(open_one("train", &one));
    rk_expect_ok(rk_torch_directory_check(&one));
    assert_int_equal(rk_test_count_entries(one.path), 0);
    table.statvfs_fn = noexec_mount;
    rk_sys_replace(&table);
    rk_err *err = rk_torch_directory_check(&one);
    rk_sys_replace(NULL);
    assert_non_null(strstr(rk_err_message(err), "noexec"));
    rk_expect_code(RK_FAILED_PRECONDITION, err);
}

static void note(void *context, const rk_torch_unused *unused) {
    assert_true(unused->age_ns >= RK_TORCH_UNUSED_NS);
    assert_int_equal(unused->bytes, 1);
    *(unsigned *)context += 1;
}

static unsigned collect(bool dry_run) {
    unsigned count = 0;
    rk_expect_ok(rk_torch_directories_collect(base, dry_run, note, &count));
    return count;
}

static void only_unused_directories_are_removed(void **state) {
    (void)state;
    char path[1024], link[2048], outside[1024];
    assert_int_equal(collect(false), 0); // there is no base
    (void)snprintf(outside, sizeof outside, "%s/outside", root);
    rk_expect_ok(rk_fs_publish(outside, "x", 1, 0600));
    RK_AUTO(rk_torch_directory) one = {0};
    rk_expect_ok(open_one("train", &one));
    (void)snprintf(path, sizeof path, "%s", one.path);
    (void)snprintf(link, sizeof link, "%s/link", path);
    put(&one, "file");
    assert_int_equal(symlink(outside, link), 0);
    age(path, 31);
    assert_int_equal(collect(false), 0); // it is locked
    rk_torch_directory_cleanup(&one);
    assert_int_equal(collect(true), 1);
    assert_true(is_there(path));
    age(path, 29);
    assert_int_equal(collect(false), 0);
    age(path, 31);
    assert_int_equal(collect(false), 1);
    assert_false(is_there(path));
    assert_int_equal(rk_test_count_entries(base), 0);
    assert_true(is_there(outside));
}

// A start sets the time, so that gc leaves the directory alone.
static void a_start_makes_it_used(void **state) {
    (void)state;
    RK_AUTO(rk_torch_directory) one = {0};
    rk_expect_ok(open_one("train", &one));
    age(one.path, 40);
    rk_torch_directory_cleanup(&one);
    rk_expect_ok(open_one("train", &one));
    rk_torch_directory_cleanup(&one);
    assert_int_equal(collect(false), 0);
}

static void a_start_does_not_wait_for_ever(void **state) {
    (void)state;
    RK_AUTO(rk_torch_directory) one = {0};
    RK_AUTO(rk_torch_directory) two = {0};
    rk_expect_ok(open_one("train", &one));
    assert_int_equal(flock(one.fd, LOCK_EX), 0); // as gc does while it removes
    rk_expect_code(RK_UNAVAILABLE, open_one("train", &two));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(the_path_and_the_files_stay),         TEST(nothing_is_made_unless_asked),
        TEST(starts_at_the_same_time_share),       TEST(a_fresh_directory_is_a_new_one),
        TEST(unsafe_folders_are_refused),          TEST(paths_that_torch_cannot_use_are_refused),
        TEST(libraries_must_be_loadable),          TEST(files_must_be_lockable),
        TEST(only_unused_directories_are_removed), TEST(a_start_makes_it_used),
        TEST(a_start_does_not_wait_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
