// A tree contains only its user's files: no link and no folder of another user leads into or out of
// it.
#include "base/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/process.h"
#include "base/temporary.h"
#include "support/expect.h"
#include "support/faults.h"
#include "support/powerloss.h"
#include "support/tempdir.h"

static int set_up(void **state) {
    *state = rk_test_tempdir();
    return 0;
}

static int tear_down(void **state) {
    rk_sys_replace(NULL);
    rk_test_tempdir_remove(*state);
    return 0;
}

static char *below(const char *top, const char *path) {
    char *joined = rk_path_join(top, path);
    assert_non_null(joined);
    return joined;
}

static void put(const char *top, const char *path, const char *content) {
    rk_expect_ok(rk_tree_publish(top, path, content, strlen(content), 0600));
}

static void expect_content(const char *top, const char *path, const char *content) {
    RK_AUTO(rk_buf) data = {0};
    rk_expect_ok(rk_tree_read(top, path, 1000, &data));
    assert_string_equal(rk_buf_text(&data), content);
}

static rk_err *count(void *context, const char *name) {
    (void)name;
    ++*(unsigned *)context;
    return NULL;
}

static void keeps_files_in_folders(void **state) {
    char *top = *state;
    rk_expect_code(RK_NOT_FOUND, rk_tree_publish(top, "a/b/file", "x", 1, 0600));
    rk_expect_ok(rk_tree_make_dirs(top, "a/b"));
    rk_expect_ok(rk_tree_make_dirs(top, "a/b"));
    put(top, "a/b/file", "content");
    put(top, "alone", "at the top");
    expect_content(top, "a/b/file", "content");
    expect_content(top, "alone", "at the top");
    struct stat info;
    rk_expect_ok(rk_tree_stat(top, "a/b/file", &info));
    assert_int_equal(info.st_size, 7);
    assert_int_equal(info.st_mode & 07777, 0600);
    rk_expect_ok(rk_tree_stat(top, "a/b", &info));
    assert_int_equal(info.st_mode & 07777, 0700);
    rk_expect_ok(rk_tree_rename(top, "a/b/file", "a/moved"));
    expect_content(top, "a/moved", "content");
    unsigned names = 0;
    rk_expect_ok(rk_tree_list(top, "a", 10, count, &names));
    assert_int_equal(names, 2);
    int fd = -1;
    rk_expect_ok(rk_tree_open(top, "a/moved", O_RDONLY, 0, &fd));
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    assert_int_equal(close(fd), 0);
    rk_expect_ok(rk_tree_remove(top, "a/moved"));
    rk_expect_code(RK_NOT_FOUND, rk_tree_remove(top, "a/moved"));
    rk_expect_code(RK_NOT_FOUND, rk_tree_stat(top, "a/moved", &info));
    rk_expect_code(RK_NOT_FOUND, rk_tree_list(top, "missing", 10, count, &names));
}

static void makes_the_top_too(void **state) {
    rk_autofree char *top = below(*state, "deep/top");
    rk_expect_code(RK_NOT_FOUND, rk_tree_publish(top, "file", "x", 1, 0600));
    rk_expect_ok(rk_tree_make_dirs(top, "a"));
    put(top, "a/file", "x");
}

static void odd_paths_are_refused(void **state) {
    static const char *const paths[] = {"",   "/a",   "a/",        "a//b",  ".",
                                        "..", "../x", "a/../../x", "a/./b", "/etc/passwd"};
    char *top = *state;
    rk_expect_ok(rk_tree_make_dirs(top, "a"));
    for (size_t i = 0; i < RK_ARRAY_LEN(paths); i++) {
        RK_AUTO(rk_buf) data = {0};
        rk_expect_code(RK_INVALID_ARGUMENT, rk_tree_read(top, paths[i], 1000, &data));
        rk_expect_code(RK_INVALID_ARGUMENT, rk_tree_publish(top, paths[i], "x", 1, 0600));
        rk_expect_code(RK_INVALID_ARGUMENT, rk_tree_remove(top, paths[i]));
    }
    char long_name[NAME_MAX + 2];
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    rk_expect_code(RK_INVALID_ARGUMENT, rk_tree_remove(top, long_name));
}

// Calls every function on a file in a refused folder.
static void expect_refused(const char *top, rk_code code) {
    RK_AUTO(rk_buf) data = {0};
    struct stat info;
    unsigned names = 0;
    int fd = -1;
    rk_expect_code(code, rk_tree_read(top, "a/b/file", 1000, &data));
    rk_expect_code(code, rk_tree_open(top, "a/b/file", O_RDONLY, 0, &fd));
    rk_expect_code(code, rk_tree_publish(top, "a/b/file", "x", 1, 0600));
    rk_expect_code(code, rk_tree_make_dirs(top, "a/b"));
    rk_expect_code(code, rk_tree_make_dirs(top, "a/b/c"));
    rk_expect_code(code, rk_tree_list(top, "a/b", 10, count, &names));
    rk_expect_code(code, rk_tree_stat(top, "a/b/file", &info));
    rk_expect_code(code, rk_tree_rename(top, "a/b/file", "file"));
    rk_expect_code(code, rk_tree_rename(top, "kept", "a/b/file"));
    rk_expect_code(code, rk_tree_remove(top, "a/b/file"));
    rk_expect_code(code, rk_tree_sweep(top, "a/b", 0, NULL));
    assert_int_equal(data.len, 0);
    assert_int_equal(names, 0);
}

static void links_lead_nowhere(void **state) {
    rk_autofree char *top = below(*state, "top");
    rk_autofree char *elsewhere = below(*state, "elsewhere");
    rk_autofree char *folder = below(*state, "top/a");
    rk_autofree char *deeper = below(*state, "top/a/b");
    rk_expect_ok(rk_tree_make_dirs(elsewhere, "b"));
    put(elsewhere, "b/file", "not ours");
    rk_expect_ok(rk_tree_make_dirs(top, "a"));
    put(top, "kept", "x");
    rk_autofree char *target = below(elsewhere, "b");
    assert_int_equal(symlink(target, deeper), 0);
    expect_refused(top, RK_PERMISSION_DENIED);
    assert_int_equal(unlink(deeper), 0);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(symlink(elsewhere, folder), 0);
    expect_refused(top, RK_PERMISSION_DENIED);
    assert_int_equal(unlink(folder), 0);
    assert_int_equal(symlink("../elsewhere", folder), 0);
    expect_refused(top, RK_PERMISSION_DENIED);
    assert_int_equal(rk_test_count_entries(target), 1);
    expect_content(elsewhere, "b/file", "not ours");
    // The file itself is a link.
    rk_autofree char *link = below(top, "link");
    assert_int_equal(symlink("kept", link), 0);
    RK_AUTO(rk_buf) data = {0};
    rk_expect_code(RK_INVALID_ARGUMENT, rk_tree_read(top, "link", 1000, &data));
    struct stat info;
    rk_expect_ok(rk_tree_stat(top, "link", &info));
    assert_true(S_ISLNK(info.st_mode));
    put(top, "link", "a file again");
    expect_content(top, "kept", "x");
    // The top may be a link.
    rk_autofree char *linked_top = below(*state, "linked");
    assert_int_equal(symlink("top", linked_top), 0);
    expect_content(linked_top, "kept", "x");
}

static void folders_that_others_write_are_refused(void **state) {
    char *top = *state;
    rk_expect_ok(rk_tree_make_dirs(top, "a/b"));
    put(top, "a/b/file", "x");
    put(top, "kept", "x");
    static const char *const folders[] = {"a", "a/b"};
    for (size_t i = 0; i < RK_ARRAY_LEN(folders); i++) {
        rk_autofree char *folder = below(top, folders[i]);
        assert_int_equal(chmod(folder, 0770), 0);
        expect_refused(top, RK_PERMISSION_DENIED);
        RK_AUTO(rk_buf) data = {0};
        rk_err *err = rk_tree_read(top, "a/b/file", 1000, &data);
        char remedy[4096];
        (void)snprintf(remedy, sizeof remedy, "chmod 700 %s", folder);
        assert_non_null(strstr(rk_err_message(err), remedy));
        rk_err_free(err);
        assert_int_equal(chmod(folder, 0702), 0);
        expect_refused(top, RK_PERMISSION_DENIED);
        assert_int_equal(chmod(folder, 0755), 0);
        expect_content(top, "a/b/file", "x");
    }
    rk_autofree char *file = below(top, "a/b/file");
    RK_AUTO(rk_buf) data = {0};
    assert_int_equal(chmod(file, 0620), 0);
    rk_expect_code(RK_PERMISSION_DENIED, rk_tree_read(top, "a/b/file", 1000, &data));
    assert_int_equal(chmod(file, 0644), 0);
    expect_content(top, "a/b/file", "x");
}

static unsigned foreign_after; // number of fstat calls that report our own user

static int foreign_fstat(int fd, struct stat *out_stat) {
    int status = rk_sys_libc.fstat_fn(fd, out_stat);
    if (foreign_after-- == 0)
        out_stat->st_uid = geteuid() + 1;
    return status;
}

static void folders_of_others_are_refused(void **state) {
    char *top = *state;
    rk_expect_ok(rk_tree_make_dirs(top, "a/b"));
    put(top, "a/b/file", "x");
    rk_sys_table table = rk_sys_libc;
    table.fstat_fn = foreign_fstat;
    rk_sys_replace(&table);
    for (unsigned ours = 0; ours < 4; ours++) { // the top, two folders, the file
        RK_AUTO(rk_buf) data = {0};
        foreign_after = ours;
        rk_expect_code(RK_PERMISSION_DENIED, rk_tree_read(top, "a/b/file", 1000, &data));
    }
}

static rk_err *everything(const char *top) {
    RK_AUTO(rk_buf) data = {0};
    unsigned names = 0;
    struct stat info;
    RK_TRY(rk_tree_make_dirs(top, "a/b"));
    RK_TRY(rk_tree_publish(top, "a/b/file", "some content", 12, 0600));
    RK_TRY(rk_tree_read(top, "a/b/file", 1000, &data));
    RK_TRY(rk_tree_list(top, "a/b", 10, count, &names));
    RK_TRY(rk_tree_stat(top, "a/b/file", &info));
    RK_TRY(rk_tree_rename(top, "a/b/file", "a/other"));
    RK_TRY(rk_tree_remove(top, "a/other"));
    assert_string_equal(rk_buf_text(&data), "some content");
    assert_int_equal(names, 1);
    return NULL;
}

// A stale handle is looked up again, once.
static void stale_handles_are_looked_up_again(void **state) {
    char *top = *state;
    rk_expect_ok(everything(top)); // so that names of temporary files are known
    // Excludes close, whose errors are ignored, and readdir, because the visitor has already
    // received names.
    const unsigned calls = RK_FAULT_EVERY_SYSCALL & ~(unsigned)(RK_FAULT_CLOSE | RK_FAULT_READDIR);
    unsigned nth = 1;
    for (;; nth++) {
        rk_fault_begin(&(rk_fault_plan){.nth = nth, .calls = calls, .error_number = ESTALE});
        rk_err *err = everything(top);
        bool struck = rk_fault_end();
        rk_expect_ok(err);
        if (!struck)
            break;
    }
    assert_true(nth > 30);
    rk_fault_begin(&(rk_fault_plan){.nth = 1, .error_number = ESTALE, .lasting = true});
    rk_err *err = everything(top);
    rk_fault_end();
    rk_expect_code(RK_UNAVAILABLE, err);
}

static void slow_calls_are_waited_for(void **state) {
    char *top = *state;
    rk_fault_begin(&(rk_fault_plan){.interrupts = true, .most_io_bytes = 1});
    rk_err *err = everything(top);
    rk_fault_end();
    rk_expect_ok(err);
}

static unsigned open_descriptors(void) {
    return rk_test_count_entries("/proc/self/fd");
}

static void no_descriptor_stays_open(void **state) {
    char *top = *state;
    rk_expect_ok(everything(top));
    unsigned before = open_descriptors();
    for (unsigned nth = 1;; nth++) {
        rk_fault_begin(&(rk_fault_plan){.nth = nth});
        rk_err *err = everything(top);
        bool struck = rk_fault_end();
        rk_err_free(err);
        assert_int_equal(open_descriptors(), before);
        if (!struck)
            break;
    }
}

static void no_memory_is_reported(void **state) {
    char *top = *state;
    for (unsigned nth = 1;; nth++) {
        rk_fault_begin(&(rk_fault_plan){.nth = nth, .calls = RK_FAULT_ALLOC});
        rk_err *err = everything(top);
        if (!rk_fault_end()) {
            rk_expect_ok(err);
            break;
        }
        rk_expect_code(RK_RESOURCE_EXHAUSTED, err);
    }
}

static void new_folders_outlast_a_power_cut(void **state) {
    char *top = *state;
    rk_powerloss *record = rk_powerloss_begin(top);
    rk_expect_ok(rk_tree_make_dirs(top, "a/b"));
    put(top, "a/b/file", "content");
    rk_powerloss_mark(record);
    rk_powerloss_end(record);
    for (unsigned choice = 0; choice < 20; choice++) {
        char *left = rk_test_tempdir();
        rk_powerloss_build(record, rk_powerloss_count(record), choice, left);
        expect_content(left, "a/b/file", "content");
        rk_test_tempdir_remove(left);
    }
    rk_powerloss_free(record);
}

// Leftovers of writers.

static void touch(const char *top, const char *name, int age_seconds) {
    rk_autofree char *path = below(top, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    struct timeval now;
    assert_int_equal(gettimeofday(&now, NULL), 0);
    now.tv_sec -= age_seconds;
    const struct timeval times[2] = {now, now};
    assert_int_equal(futimes(fd, times), 0);
    assert_int_equal(close(fd), 0);
}

static bool is_there(const char *top, const char *name) {
    rk_autofree char *path = below(top, name);
    return access(path, F_OK) == 0;
}

static void name_of(const rk_process *process, char out_name[NAME_MAX + 1]) {
    RK_AUTO(rk_buf) name = {0};
    rk_buf_add_text(&name, ".tmp-");
    rk_process_add_text(process, &name);
    rk_buf_add_text(&name, "-0123456789abcdef");
    (void)snprintf(out_name, NAME_MAX + 1, "%s", rk_buf_text(&name));
}

static void leftovers_of_the_dead_are_swept(void **state) {
    enum { OLD = 4000, YOUNG = 3000 };
    rk_autofree char *top = below(*state, "top");
    rk_expect_ok(rk_tree_make_dirs(top, "a"));
    rk_autofree char *folder = below(top, "a");
    rk_process self;
    rk_process_self(&self);
    if (!self.start_ticks || !self.pid_namespace)
        skip();
    rk_process dead = self, elsewhere = self;
    dead.start_ticks++; // its id is in use again
    (void)snprintf(elsewhere.host, sizeof elsewhere.host, "elsewhere");
    char names[3][NAME_MAX + 1];
    name_of(&self, names[0]);
    name_of(&dead, names[1]);
    name_of(&elsewhere, names[2]);
    touch(folder, names[0], OLD);
    touch(folder, names[1], 0);
    touch(folder, names[2], YOUNG);
    touch(folder, ".tmp-12345-0123456789abcdef", YOUNG);
    touch(folder, ".tmp-12346-0123456789abcdef", OLD);
    touch(folder, ".tmp", OLD);
    touch(folder, "kept.rkx", OLD);
    touch(folder, ".nfs0000000000000001", OLD);
    put(top, "a/new", "which makes the folder's last change now");
    size_t removed = 0;
    rk_expect_ok(rk_tree_sweep(top, "a", 0, &removed));
    assert_int_equal(removed, 2);
    assert_true(is_there(folder, names[0]));
    assert_false(is_there(folder, names[1]));
    assert_true(is_there(folder, names[2]));
    assert_true(is_there(folder, ".tmp-12345-0123456789abcdef"));
    assert_false(is_there(folder, ".tmp-12346-0123456789abcdef"));
    assert_true(is_there(folder, ".tmp") && is_there(folder, "kept.rkx"));
    assert_true(is_there(folder, ".nfs0000000000000001"));
    touch(folder, names[2], OLD);
    put(top, "a/new", "again");
    rk_expect_ok(rk_tree_sweep(top, "a", 0, &removed));
    assert_int_equal(removed, 1);
    assert_false(is_there(folder, names[2]));
}

static void publish_and_die(void *context) {
    rk_fault_begin(&(rk_fault_plan){.nth = 1, .calls = RK_FAULT_RENAME, .exits = true});
    rk_err_drop(rk_tree_publish(context, "a/file", "x", 1, 0600), "the process ends in it");
}

static void what_a_killed_writer_left_is_swept(void **state) {
    char *top = *state;
    rk_autofree char *folder = below(top, "a");
    rk_expect_ok(rk_tree_make_dirs(top, "a"));
    assert_int_equal(rk_fault_in_child(publish_and_die, top), RK_FAULT_EXIT_STATUS);
    assert_int_equal(rk_test_count_entries(folder), 1);
    rk_expect_ok(rk_tree_sweep(top, "a", 0, NULL));
    assert_int_equal(rk_test_count_entries(folder), 0);
}

static void names_of_temporaries_differ(void **state) {
    (void)state;
    RK_AUTO(rk_buf) first = {0};
    RK_AUTO(rk_buf) second = {0};
    rk_temporary_add_name(&first);
    rk_temporary_add_name(&second);
    assert_true(first.len < 240);
    assert_string_not_equal(rk_buf_text(&first), rk_buf_text(&second));
    assert_true(rk_temporary_is_name(rk_buf_text(&first)));
    assert_false(rk_temporary_is_abandoned(rk_buf_text(&first), UINT64_MAX));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(keeps_files_in_folders),
        TEST(makes_the_top_too),
        TEST(odd_paths_are_refused),
        TEST(links_lead_nowhere),
        TEST(folders_that_others_write_are_refused),
        TEST(folders_of_others_are_refused),
        TEST(stale_handles_are_looked_up_again),
        TEST(slow_calls_are_waited_for),
        TEST(no_descriptor_stays_open),
        TEST(no_memory_is_reported),
        TEST(new_folders_outlast_a_power_cut),
        TEST(leftovers_of_the_dead_are_swept),
        TEST(what_a_killed_writer_left_is_swept),
        TEST(names_of_temporaries_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
