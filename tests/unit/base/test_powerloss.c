// Tests of support/powerloss.h. It must find the faults of careless writers, and none in
// rk_fs_publish.
#include "support/powerloss.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "support/expect.h"
#include "support/tempdir.h"

static const char OLD[] = "the old content";
static const char NEW[] = "what comes after it, and is longer";

// Counts of the states after cuts, by their content.
typedef struct findings {
    unsigned none, old, new, torn;
    unsigned lost; // states without the content of the last mark
} findings;

enum { CHOICES = 20 };

typedef void (*writer)(const char *path, const char *content);

static void look(const char *directory, unsigned marks, findings *found) {
    RK_AUTO(rk_buf) content = {0};
    rk_autofree char *path = rk_path_join(directory, "file");
    rk_err *err = rk_fs_read(path, 1000, &content);
    bool none = rk_err_code(err) == RK_NOT_FOUND;
    rk_err_free(err);
    bool old = !none && strcmp(rk_buf_text(&content), OLD) == 0;
    bool new = !none &&strcmp(rk_buf_text(&content), NEW) == 0;
    found->none += none;
    found->old += old;
    found->new += new;
    found->torn += !none && !old && !new;
    found->lost += (marks == 1 && !old && !new) || (marks == 2 && !new);
}

// Tries all cuts of a writer that writes the old content, then the new.
static findings try_cuts(writer write) {
    findings found = {0};
    char *directory = rk_test_tempdir();
    rk_autofree char *path = rk_path_join(directory, "file");
    rk_powerloss *record = rk_powerloss_begin(directory);
    write(path, OLD);
    rk_powerloss_mark(record);
    write(path, NEW);
    rk_powerloss_mark(record);
    rk_powerloss_end(record);
    assert_true(rk_powerloss_count(record) > 4);
    for (unsigned cut = 0; cut <= rk_powerloss_count(record); cut++) {
        for (unsigned choice = 0; choice < CHOICES; choice++) {
            char *left = rk_test_tempdir();
            rk_powerloss_build(record, cut, choice, left);
            look(left, rk_powerloss_marks(record, cut), &found);
            rk_test_tempdir_remove(left);
        }
    }
    rk_powerloss_free(record);
    rk_test_tempdir_remove(directory);
    return found;
}

static void publish(const char *path, const char *content) {
    rk_expect_ok(rk_fs_publish(path, content, strlen(content), 0600));
}

static void publishing_outlasts_a_cut(void **state) {
    (void)state;
    findings found = try_cuts(publish);
    assert_int_equal(found.torn, 0);
    assert_int_equal(found.lost, 0);
    assert_true(found.none && found.old && found.new);
}

static void write_then_rename(const char *path, const char *content, bool sync_file) {
    char temporary[4096];
    (void)snprintf(temporary, sizeof temporary, "%s.tmp", path);
    rk_autofd fd = rk_sys()->open_fn(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    rk_expect_ok(rk_fd_write_all(fd, content, strlen(content)));
    if (sync_file)
        assert_int_equal(rk_sys()->fsync_fn(fd), 0);
    assert_int_equal(rk_sys()->rename_fn(temporary, path), 0);
}

static void without_any_sync(const char *path, const char *content) {
    write_then_rename(path, content, false);
}

static void without_the_directory(const char *path, const char *content) {
    write_then_rename(path, content, true);
}

static void in_place(const char *path, const char *content) {
    rk_autofd fd = rk_sys()->open_fn(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    rk_expect_ok(rk_fd_write_all(fd, content, strlen(content)));
    assert_int_equal(rk_sys()->fsync_fn(fd), 0);
}

static void careless_writers_are_caught(void **state) {
    (void)state;
    findings found = try_cuts(without_any_sync);
    assert_true(found.torn && found.lost);
    found = try_cuts(without_the_directory);
    assert_int_equal(found.torn, 0);
    assert_true(found.lost);
    found = try_cuts(in_place);
    assert_true(found.torn);
}

static void links_removals_and_folders_count(void **state) {
    (void)state;
    char *directory = rk_test_tempdir();
    rk_powerloss *record = rk_powerloss_begin(directory);
    rk_autofd top = rk_sys()->open_fn(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    assert_int_equal(rk_sys()->mkdirat_fn(top, "folder", 0700), 0);
    rk_autofd fd = rk_sys()->openat_fn(top, "folder/a", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(rk_sys()->linkat_fn(top, "folder/a", top, "b"), 0);
    assert_int_equal(rk_sys()->unlinkat_fn(top, "folder/a", 0), 0);
    rk_powerloss_end(record);
    const unsigned counts[] = {0, 1, 1, 2, 2}; // files in the top directory if all changes survive
    assert_int_equal(rk_powerloss_count(record), RK_ARRAY_LEN(counts) - 1);
    for (unsigned cut = 0; cut < RK_ARRAY_LEN(counts); cut++) {
        char *left = rk_test_tempdir();
        rk_powerloss_build(record, cut, 1, left);
        assert_int_equal(rk_test_count_entries(left), counts[cut]);
        rk_autofree char *folder = rk_path_join(left, "folder");
        if (cut)
            assert_int_equal(rk_test_count_entries(folder), cut == 2 || cut == 3);
        rk_test_tempdir_remove(left);
        left = rk_test_tempdir();
        rk_powerloss_build(record, cut, 0, left);
        assert_int_equal(rk_test_count_entries(left), 0);
        rk_test_tempdir_remove(left);
    }
    rk_powerloss_free(record);
    rk_test_tempdir_remove(directory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(publishing_outlasts_a_cut),
        cmocka_unit_test(careless_writers_are_caught),
        cmocka_unit_test(links_removals_and_folders_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
