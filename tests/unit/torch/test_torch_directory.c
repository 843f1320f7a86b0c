// The directory of a job: one path, one owner, and what several starts at once do with it.
#include "torch/directory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "support/expect.h"
#include "support/tempdir.h"

static char *root;

static int set_up(void **state) {
    (void)state;
    root = rk_test_tempdir();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    rk_test_tempdir_remove(root);
    return 0;
}

static rk_err *open_one(const char *job, rk_torch_directory *out) {
    rk_digest identity;
    rk_digest_of(rk_span_text(job), &identity);
    return rk_torch_directory_open(root, job, &identity, 200, out);
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

static void the_path_is_the_same_at_every_start(void **state) {
    (void)state;
    char *path = NULL;
    struct stat info;
    for (int i = 0; i < 2; i++) {
        RK_AUTO(rk_torch_directory) one = {0};
        rk_expect_ok(open_one("train", &one));
        assert_true(one.is_new);
        assert_int_equal(stat(one.path, &info), 0);
        assert_int_equal(info.st_mode & 07777, 0700);
        if (path)
            assert_string_equal(one.path, path);
        free(path);
        path = strdup(one.path);
        rk_torch_directory_share(&one);
        assert_true(rk_torch_directory_claim(&one));
        rk_torch_directory_remove(&one);
        assert_false(is_there(one.path) || is_there(one.lock));
    }
    RK_AUTO(rk_torch_directory) other = {0};
    rk_expect_ok(open_one("other", &other));
    assert_string_not_equal(other.path, path);
    free(path);
}

static void what_a_killed_start_left_is_removed(void **state) {
    (void)state;
    char path[2048];
    {
        RK_AUTO(rk_torch_directory) killed = {0};
        rk_expect_ok(open_one("train", &killed));
        put(&killed, "half");
        (void)snprintf(path, sizeof path, "%s/a/b/c", killed.path);
        rk_expect_ok(rk_fs_make_dirs(path, 0700));
        (void)snprintf(path, sizeof path, "%s/link", killed.path);
        assert_int_equal(symlink("/etc/passwd", path), 0);
    }
    RK_AUTO(rk_torch_directory) next = {0};
    rk_expect_ok(open_one("train", &next));
    assert_true(next.is_new);
    assert_int_equal(rk_test_count_entries(next.path), 0);
    assert_true(is_there("/etc/passwd"));
}

static void starts_at_the_same_time_share(void **state) {
    (void)state;
    RK_AUTO(rk_torch_directory) first = {0};
    RK_AUTO(rk_torch_directory) second = {0};
    rk_expect_ok(open_one("train", &first));
    put(&first, "file");
    rk_torch_directory_share(&first);
    rk_expect_ok(open_one("train", &second));
    assert_false(second.is_new);
    assert_true(has(&second, "file"));
    rk_torch_directory_share(&second);
    assert_false(rk_torch_directory_claim(&first));
    rk_torch_directory_cleanup(&first);
    assert_true(rk_torch_directory_claim(&second));
}

static void others_wait_while_it_is_filled(void **state) {
    (void)state;
    RK_AUTO(rk_torch_directory) first = {0};
    RK_AUTO(rk_torch_directory) second = {0};
    rk_expect_ok(open_one("train", &first));
    rk_expect_code(RK_UNAVAILABLE, open_one("train", &second));
}

// A process of the job that outlives the command keeps the directory.
static void a_process_of_the_job_keeps_it(void **state) {
    (void)state;
    RK_AUTO(rk_torch_directory) one = {0};
    int ends[2];
    char byte;
    rk_expect_ok(open_one("train", &one));
    rk_torch_directory_share(&one);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t child = fork();
    if (child == 0) {
        (void)close(ends[1]);
        (void)close(one.lock_fd); // it has O_CLOEXEC
        _exit(read(ends[0], &byte, 1) < 0);
    }
    assert_false(rk_torch_directory_claim(&one));
    (void)close(ends[1]);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_true(rk_torch_directory_claim(&one));
    (void)close(ends[0]);
}

static void unsafe_folders_are_refused(void **state) {
    (void)state;
    char top[1024], elsewhere[1024];
    RK_AUTO(rk_torch_directory) one = {0};
    (void)snprintf(top, sizeof top, "%s/rekindle-%lu", root, (unsigned long)geteuid());
    (void)snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", root);
    rk_expect_ok(rk_fs_make_dirs(elsewhere, 0700));
    assert_int_equal(symlink(elsewhere, top), 0);
    rk_expect_code(RK_INVALID_ARGUMENT, open_one("train", &one));
    assert_int_equal(unlink(top), 0);
    assert_int_equal(mkdir(top, 0700), 0);
    assert_int_equal(chmod(top, 0755), 0);
    rk_expect_code(RK_PERMISSION_DENIED, open_one("train", &one));
    assert_int_equal(chmod(top, 0777), 0);
    rk_expect_code(RK_PERMISSION_DENIED, open_one("train", &one));
    assert_int_equal(chmod(top, 0700), 0);
    rk_expect_ok(open_one("train", &one));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_path_is_the_same_at_every_start, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_a_killed_start_left_is_removed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(starts_at_the_same_time_share, set_up, tear_down),
        cmocka_unit_test_setup_teardown(others_wait_while_it_is_filled, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_process_of_the_job_keeps_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(unsafe_folders_are_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
