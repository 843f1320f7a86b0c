// Which directories may be a store: those of this user that no other user can write.
#include "sample.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "support/faults.h"
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

static void assert_opens(const char *path, bool readonly) {
    rk_store *store = NULL;
    sample_ok(rk_store_open(path, readonly, &store));
    assert_non_null(store);
    rk_store_free(store);
}

// The message contains the directory and the remedy.
static void assert_refused(const char *path, bool readonly, rk_code code, const char *remedy) {
    rk_store *store = NULL;
    rk_err *err = rk_store_open(path, readonly, &store);
    assert_null(store);
    assert_non_null(err);
    assert_non_null(strstr(rk_err_message(err), path));
    assert_non_null(strstr(rk_err_message(err), remedy));
    sample_fails(err, code);
}

static void remove_marker(const char *directory) {
    rk_autofree char *marker = rk_path_join(directory, "REKINDLE_STORE");
    assert_int_equal(unlink(marker), 0);
}

static void makes_its_directory(void **state) {
    rk_autofree char *path = rk_path_join(*state, "a/b/c");
    assert_refused(path, true, RK_NOT_FOUND, "");
    assert_opens(path, false);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0700);
    assert_opens(path, false);
    assert_opens(path, true);
    remove_marker(path);
    assert_int_equal(rmdir(path), 0); // nothing else was created
}

static void slashes_at_the_end_do_not_matter(void **state) {
    rk_autofree char *path = rk_path_join(*state, "store");
    char with_slashes[4096];
    (void)snprintf(with_slashes, sizeof with_slashes, "%s///", path);
    rk_store *store = NULL;
    sample_ok(rk_store_open(with_slashes, false, &store));
    assert_string_equal(rk_store_directory(store), path);
    rk_store_free(store);
}

static void refuses_addresses(void **state) {
    (void)state;
    assert_refused("gs://bucket/cache", false, RK_INVALID_ARGUMENT, "REKINDLE_REMOTE");
    assert_refused("s3://bucket", true, RK_INVALID_ARGUMENT, "REKINDLE_REMOTE");
    assert_refused("", false, RK_INVALID_ARGUMENT, "REKINDLE_DIR");
    rk_store *store = NULL;
    sample_fails(rk_store_open(NULL, false, &store), RK_INVALID_ARGUMENT);
    assert_int_not_equal(access("gs:", F_OK), 0);
}

static void refuses_what_is_no_directory(void **state) {
    rk_autofree char *path = rk_path_join(*state, "file");
    sample_write_file(path, "x", 1);
    assert_refused(path, false, RK_INVALID_ARGUMENT, "not a directory");
    assert_refused(path, true, RK_INVALID_ARGUMENT, "not a directory");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_refused(path, false, RK_INVALID_ARGUMENT, "not a directory");
}

static void refuses_what_others_can_write(void **state) {
    rk_autofree char *path = rk_path_join(*state, "store");
    char remedy[4096];
    (void)snprintf(remedy, sizeof remedy, "chmod 700 %s", path);
    assert_int_equal(mkdir(path, 0700), 0);
    const struct {
        mode_t mode;
        bool fine;
    } cases[] = {{0700, true},  {0750, true},  {0755, true},  {0555, true},
                 {0720, false}, {0702, false}, {0777, false}, {01777, false}};
    for (size_t i = 0; i < RK_ARRAY_LEN(cases); i++) {
        assert_int_equal(chmod(path, cases[i].mode), 0);
        for (int readonly = 0; readonly < 2; readonly++) {
            if (cases[i].fine)
                assert_opens(path, readonly);
            else
                assert_refused(path, readonly, RK_PERMISSION_DENIED, remedy);
        }
    }
}

static void no_message_asks_to_lock_others_out(void **state) {
    rk_autofree char *path = rk_path_join(*state, "tmp");
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chmod(path, 0770), 0);
    assert_refused(path, false, RK_PERMISSION_DENIED, "chmod 700"); // empty: it may become ours
    rk_autofree char *project = rk_path_join(path, "train.py");
    for (int i = 0; i < 2; i++) { // /tmp, and a project shared by a group
        assert_int_equal(chmod(path, i == 0 ? 01777 : 0770), 0);
        for (int readonly = 0; readonly < 2; readonly++) {
            rk_store *store = NULL;
            rk_autoerr err = rk_store_open(path, readonly, &store);
            assert_int_equal(rk_err_code(err), RK_PERMISSION_DENIED);
            assert_non_null(strstr(rk_err_message(err), "point REKINDLE_DIR at"));
            assert_null(strstr(rk_err_message(err), "chmod"));
        }
        sample_write_file(project, "x", 1);
    }
}

static void says_where_a_link_leads(void **state) {
    rk_autofree char *link = rk_path_join(*state, "link");
    assert_int_equal(symlink("nowhere/at/all", link), 0);
    assert_refused(link, false, RK_NOT_FOUND, "is a broken symbolic link");
    assert_refused(link, true, RK_NOT_FOUND, "is a broken symbolic link");
}

static int foreign_fstat(int fd, struct stat *out_stat) {
    int status = rk_sys_libc.fstat_fn(fd, out_stat);
    out_stat->st_uid = geteuid() + 1;
    return status;
}

static void refuses_what_belongs_to_others(void **state) {
    rk_autofree char *path = rk_path_join(*state, "store");
    assert_opens(path, false);
    rk_sys_table table = rk_sys_libc;
    table.fstat_fn = foreign_fstat;
    rk_sys_replace(&table);
    assert_refused(path, false, RK_PERMISSION_DENIED, "REKINDLE_DIR");
    assert_refused(path, true, RK_PERMISSION_DENIED, "REKINDLE_DIR");
}

static int foreign_lstat(const char *path, struct stat *out_stat) {
    int status = rk_sys_libc.lstat_fn(path, out_stat);
    out_stat->st_uid = geteuid() + 1;
    return status;
}

static void follows_only_our_own_link(void **state) {
    rk_autofree char *target = rk_path_join(*state, "target");
    rk_autofree char *link = rk_path_join(*state, "link");
    assert_int_equal(mkdir(target, 0700), 0);
    assert_int_equal(symlink(target, link), 0);
    assert_opens(link, false);
    assert_int_equal(chmod(target, 0770), 0);
    assert_refused(link, false, RK_PERMISSION_DENIED, "chmod 700");
    assert_int_equal(chmod(target, 0700), 0);
    rk_sys_table table = rk_sys_libc;
    table.lstat_fn = foreign_lstat;
    rk_sys_replace(&table);
    assert_refused(link, false, RK_PERMISSION_DENIED, "symbolic link");
    char with_slash[4096];
    (void)snprintf(with_slash, sizeof with_slash, "%s/", link);
    rk_store *store = NULL;
    sample_fails(rk_store_open(with_slash, true, &store), RK_PERMISSION_DENIED);
    rk_sys_replace(NULL);
    remove_marker(target);
    assert_int_equal(rmdir(target), 0);
    assert_refused(link, true, RK_NOT_FOUND, ""); // dangling
    assert_refused(link, false, RK_NOT_FOUND, "");
}

enum { NOBODY = 65534, CHILD_FAILED = 1 };

// Runs as an unprivileged user, to whom file permissions apply. Reports by the exit status, because
// a failed assertion in a child would continue with the parent's tests.
static void in_an_unwritable_directory(void *context) {
    const char *path = context;
    if (geteuid() == 0 && seteuid(NOBODY) != 0)
        _exit(CHILD_FAILED);
    rk_entry kept = sample_entry(RK_ENTRY_EXECUTABLE, 1);
    rk_entry refused = sample_entry(RK_ENTRY_EXECUTABLE, 2);
    for (int readonly = 0; readonly < 2; readonly++) {
        rk_store *store = NULL;
        rk_store_lookup lookup = {0};
        rk_autoerr open_err = rk_store_open(path, readonly, &store);
        if (open_err)
            _exit(CHILD_FAILED + 1);
        rk_autoerr get_err = rk_store_get(store, &kept.key, &lookup);
        if (get_err || !lookup.found)
            _exit(CHILD_FAILED + 2);
        rk_store_lookup_cleanup(&lookup);
        rk_autoerr put_err = rk_store_put(store, &refused, NULL);
        if (rk_err_code(put_err) != RK_PERMISSION_DENIED)
            _exit(CHILD_FAILED + 3);
        rk_autoerr miss_err = rk_store_get(store, &refused.key, &lookup);
        if (miss_err || lookup.found)
            _exit(CHILD_FAILED + 4);
        rk_store_free(store);
    }
}

static void foreign_for_real(void *context) {
    rk_store *store = NULL;
    if (seteuid(NOBODY) != 0)
        _exit(CHILD_FAILED);
    rk_autoerr err = rk_store_open(context, true, &store);
    if (rk_err_code(err) != RK_PERMISSION_DENIED || store)
        _exit(CHILD_FAILED + 1);
}

// Sets owner and modes of a file and of all folders above it, up to `top`, which stays unchanged.
static void set_up_to(const char *file, const char *top, uid_t owner, mode_t file_mode,
                      mode_t folder_mode) {
    char path[4096];
    (void)snprintf(path, sizeof path, "%s", file);
    for (mode_t mode = file_mode; strlen(path) > strlen(top); mode = folder_mode) {
        assert_int_equal(chmod(path, mode), 0);
        if (geteuid() == 0)
            assert_int_equal(chown(path, owner, owner), 0);
        *strrchr(path, '/') = '\0';
    }
}

// True if other users can reach the content of `directory`: they may enter it and all folders above
// it.
static bool others_may_reach(const char *directory) {
    rk_autofree char *path = realpath(directory, NULL);
    struct stat info = {.st_mode = S_IXOTH};
    while (path && *path && stat(path, &info) == 0 && (info.st_mode & S_IXOTH))
        *strrchr(path, '/') = '\0';
    return path && !*path && stat("/", &info) == 0 && (info.st_mode & S_IXOTH);
}

static void works_in_an_unwritable_directory(void **state) {
    assert_int_equal(chmod(*state, 0755), 0);
    if (geteuid() == 0 && !others_may_reach(*state)) {
        print_message("skipped: no other user may reach the temporary directory (TMPDIR)\n");
        skip();
    }
    rk_autofree char *path = rk_path_join(*state, "store");
    rk_store *store = NULL;
    sample_ok(rk_store_open(path, false, &store));
    rk_entry entry = sample_entry(RK_ENTRY_EXECUTABLE, 1);
    sample_ok(rk_store_put(store, &entry, NULL));
    rk_store_free(store);
    char *file = sample_path(path, RK_ENTRY_EXECUTABLE, &entry.key);
    set_up_to(file, *state, NOBODY, 0444, 0555);
    assert_int_equal(rk_fault_in_child(in_an_unwritable_directory, path), 0);
    set_up_to(file, *state, geteuid(), 0600, 0700); // so that it can be removed
    if (geteuid() == 0)
        assert_int_equal(rk_fault_in_child(foreign_for_real, path), 0);
    free(file);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(makes_its_directory),
        TEST(slashes_at_the_end_do_not_matter),
        TEST(refuses_addresses),
        TEST(refuses_what_is_no_directory),
        TEST(refuses_what_others_can_write),
        TEST(no_message_asks_to_lock_others_out),
        TEST(says_where_a_link_leads),
        TEST(refuses_what_belongs_to_others),
        TEST(follows_only_our_own_link),
        TEST(works_in_an_unwritable_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
