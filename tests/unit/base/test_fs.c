#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "support/expect.h"
#include "support/tempdir.h"

static int set_up(void **state) {
    *state = rk_test_tempdir();
    return 0;
}

static int tear_down(void **state) {
    rk_test_tempdir_remove(*state);
    return 0;
}

static void write_file(const char *path, const void *data, size_t len) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}

// Reads and writes one byte at a time, with EINTR before each call.
static bool interrupt_now;

static bool interrupted(void) {
    interrupt_now = !interrupt_now;
    if (interrupt_now)
        errno = EINTR;
    return interrupt_now;
}

static ssize_t slow_read(int fd, void *data, size_t len) {
    return interrupted() ? -1 : rk_sys_libc.read_fn(fd, data, len ? 1 : 0);
}

static ssize_t slow_write(int fd, const void *data, size_t len) {
    return interrupted() ? -1 : rk_sys_libc.write_fn(fd, data, len ? 1 : 0);
}

static int interrupted_open(const char *path, int flags, mode_t mode) {
    return interrupted() ? -1 : rk_sys_libc.open_fn(path, flags, mode);
}

static void use_slow_table(void) {
    static rk_sys_table table;
    table = rk_sys_libc;
    table.read_fn = slow_read;
    table.write_fn = slow_write;
    table.open_fn = interrupted_open;
    interrupt_now = false;
    rk_sys_replace(&table);
}

static void reads_what_was_published(void **state) {
    rk_autofree char *path = rk_path_join(*state, "file");
    static uint8_t data[100000];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 7);
    static const size_t sizes[] = {0, 1, 4095, 4096, 4097, sizeof data};
    for (size_t i = 0; i < RK_ARRAY_LEN(sizes); i++) {
        rk_expect_ok(rk_fs_publish(path, data, sizes[i], 0600));
        RK_AUTO(rk_buf) content = RK_BUF_INIT(sizes[i] ? sizes[i] : 1); // exactly the needed size
        rk_expect_ok(rk_fs_read(path, sizes[i], &content));
        assert_int_equal(content.len, sizes[i]);
        assert_true(sizes[i] == 0 || memcmp(content.data, data, sizes[i]) == 0);
    }
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
}

static void read_appends(void **state) {
    rk_autofree char *path = rk_path_join(*state, "file");
    write_file(path, "def", 3);
    RK_AUTO(rk_buf) content = {0};
    rk_buf_add_text(&content, "abc");
    rk_expect_ok(rk_fs_read(path, 3, &content));
    assert_string_equal(rk_buf_text(&content), "abcdef");
}

static void short_and_interrupted_calls_are_repeated(void **state) {
    rk_autofree char *path = rk_path_join(*state, "file");
    use_slow_table();
    rk_err *published = rk_fs_publish(path, "some bytes", 10, 0600);
    RK_AUTO(rk_buf) content = {0};
    rk_err *read = rk_fs_read(path, 100, &content);
    rk_sys_replace(NULL);
    rk_expect_ok(published);
    rk_expect_ok(read);
    assert_string_equal(rk_buf_text(&content), "some bytes");
}

static void files_that_claim_no_size_are_read(void **state) {
    (void)state;
    RK_AUTO(rk_buf) content = {0};
    rk_expect_ok(rk_fs_read("/proc/self/status", 1 << 20, &content));
    assert_non_null(strstr(rk_buf_text(&content), "Pid:"));
    RK_AUTO(rk_buf) maps = {0};
    rk_expect_code(RK_OUT_OF_RANGE, rk_fs_read("/proc/self/maps", 100, &maps));
}

static void what_is_no_readable_file_is_refused(void **state) {
    const char *directory = *state;
    RK_AUTO(rk_buf) content = {0};
    rk_autofree char *missing = rk_path_join(directory, "missing");
    rk_expect_code(RK_NOT_FOUND, rk_fs_read(missing, 10, &content));
    rk_expect_code(RK_OUT_OF_RANGE, rk_fs_read(directory, 10, &content));
    rk_expect_code(RK_OUT_OF_RANGE, rk_fs_read("/dev/zero", 10, &content));

    rk_autofree char *fifo = rk_path_join(directory, "fifo");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    rk_expect_code(RK_OUT_OF_RANGE, rk_fs_read(fifo, 10, &content)); // does not wait for a writer

    rk_autofree char *file = rk_path_join(directory, "file");
    write_file(file, "12345678901", 11);
    rk_expect_code(RK_OUT_OF_RANGE, rk_fs_read(file, 10, &content));
    rk_autofree char *link = rk_path_join(directory, "link");
    assert_int_equal(symlink(file, link), 0);
    rk_expect_code(RK_INVALID_ARGUMENT, rk_fs_read(link, 100, &content));
    assert_int_equal(content.len, 0);

    RK_AUTO(rk_buf) small = RK_BUF_INIT(5);
    rk_expect_code(RK_RESOURCE_EXHAUSTED, rk_fs_read(file, 100, &small));
}

static void publish_replaces_and_leaves_nothing_beside(void **state) {
    rk_autofree char *path = rk_path_join(*state, "file");
    rk_expect_ok(rk_fs_publish(path, "old", 3, 0600));
    rk_expect_ok(rk_fs_publish(path, "new!", 4, 0600));
    RK_AUTO(rk_buf) content = {0};
    rk_expect_ok(rk_fs_read(path, 100, &content));
    assert_string_equal(rk_buf_text(&content), "new!");
    assert_int_equal(rk_test_count_entries(*state), 1);
}

static void publish_without_a_directory_in_the_path(void **state) {
    rk_autofree char *before = getcwd(NULL, 0);
    assert_int_equal(chdir(*state), 0);
    rk_err *err = rk_fs_publish("plain", "x", 1, 0600);
    assert_int_equal(access("plain", R_OK), 0);
    assert_int_equal(chdir(before), 0);
    rk_expect_ok(err);
}

static void publish_names_what_failed(void **state) {
    rk_autofree char *path = rk_path_join(*state, "no/such/file");
    rk_err *err = rk_fs_publish(path, "x", 1, 0600);
    assert_int_equal(rk_err_code(err), RK_NOT_FOUND);
    assert_non_null(strstr(rk_err_message(err), path));
    rk_err_free(err);
    // The target is a directory: rename fails, and the temporary file is removed.
    rk_autofree char *taken = rk_path_join(*state, "taken");
    assert_int_equal(mkdir(taken, 0700), 0);
    err = rk_fs_publish(taken, "x", 1, 0600);
    assert_int_not_equal(rk_err_code(err), RK_OK);
    rk_err_free(err);
    assert_int_equal(rk_test_count_entries(*state), 1);
}

// With `ulimit -f`, the kernel sends SIGXFSZ, which would end a job that is not aware of our files.
static void a_limit_on_files_is_an_error_and_no_signal(void **state) {
    rk_autofree char *path = rk_path_join(*state, "file");
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        static const char data[64];
        const struct rlimit limit = {.rlim_cur = 10, .rlim_max = 10};
        (void)signal(SIGXFSZ, SIG_DFL);
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
            _exit(1);
        rk_autoerr err = rk_fs_publish(path, data, sizeof data, 0600);
        _exit(rk_err_errno(err) == EFBIG ? 0 : 2);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(rk_test_count_entries(*state), 0);
}

static void make_dirs_makes_all_of_them(void **state) {
    rk_autofree char *deep = rk_path_join(*state, "a//b/c/");
    rk_expect_ok(rk_fs_make_dirs(deep, 0700));
    rk_expect_ok(rk_fs_make_dirs(deep, 0700)); // succeeds again
    struct stat info;
    assert_int_equal(stat(deep, &info), 0);
    assert_true(S_ISDIR(info.st_mode));
    assert_int_equal(info.st_mode & 0777, 0700);
    rk_expect_ok(rk_fs_make_dirs("/", 0700));
    rk_expect_ok(rk_fs_make_dirs("", 0700));
}

static void make_dirs_follows_links_to_directories(void **state) {
    rk_autofree char *real = rk_path_join(*state, "real");
    assert_int_equal(mkdir(real, 0700), 0);
    rk_autofree char *link = rk_path_join(*state, "link");
    assert_int_equal(symlink(real, link), 0);
    rk_autofree char *below = rk_path_join(link, "below");
    rk_expect_ok(rk_fs_make_dirs(link, 0700));
    rk_expect_ok(rk_fs_make_dirs(below, 0700));
}

static void make_dirs_refuses_a_file_in_the_way(void **state) {
    rk_autofree char *file = rk_path_join(*state, "file");
    write_file(file, "x", 1);
    rk_expect_code(RK_ALREADY_EXISTS, rk_fs_make_dirs(file, 0700));
    rk_autofree char *below = rk_path_join(file, "below");
    rk_err *err = rk_fs_make_dirs(below, 0700);
    assert_int_not_equal(rk_err_code(err), RK_OK);
    assert_non_null(strstr(rk_err_message(err), file));
    rk_err_free(err);
}

static int refuse_mkdir(const char *path, mode_t mode) {
    (void)path;
    (void)mode;
    errno = EROFS;
    return -1;
}

static void make_dirs_accepts_what_a_read_only_parent_holds(void **state) {
    rk_autofree char *missing = rk_path_join(*state, "missing");
    rk_sys_table table = rk_sys_libc;
    table.mkdir_fn = refuse_mkdir;
    rk_sys_replace(&table);
    rk_err *there = rk_fs_make_dirs(*state, 0700);
    rk_err *not_there = rk_fs_make_dirs(missing, 0700);
    rk_sys_replace(NULL);
    rk_expect_ok(there);
    rk_expect_code(RK_PERMISSION_DENIED, not_there);
}

typedef struct names_seen {
    char text[256];
    unsigned count, stop_at;
} names_seen;

static rk_err *see(void *context, const char *name) {
    names_seen *seen = context;
    if (++seen->count == seen->stop_at)
        return rk_error(RK_CANCELLED, "enough");
    size_t len = strlen(seen->text);
    (void)snprintf(seen->text + len, sizeof seen->text - len, "%s ", name);
    return NULL;
}

static void list_is_in_byte_order(void **state) {
    static const char *const names[] = {"b", "a", "B", ".hidden", "a.b", "\xC3\xA4"};
    for (size_t i = 0; i < RK_ARRAY_LEN(names); i++) {
        rk_autofree char *path = rk_path_join(*state, names[i]);
        write_file(path, "", 0);
    }
    names_seen seen = {0};
    rk_expect_ok(rk_fs_list(*state, 100, see, &seen));
    assert_string_equal(seen.text, ".hidden B a a.b b \xC3\xA4 ");

    names_seen some = {0};
    rk_expect_ok(rk_fs_list(*state, 2, see, &some));
    assert_int_equal(some.count, 2);

    names_seen stopped = {.stop_at = 3};
    rk_expect_code(RK_CANCELLED, rk_fs_list(*state, 100, see, &stopped));
    assert_int_equal(stopped.count, 3);
}

static void list_needs_a_directory(void **state) {
    names_seen seen = {0};
    rk_autofree char *missing = rk_path_join(*state, "missing");
    rk_expect_code(RK_NOT_FOUND, rk_fs_list(missing, 100, see, &seen));
    rk_expect_ok(rk_fs_list(*state, 100, see, &seen));
    assert_int_equal(seen.count, 0);
}

static void remove_says_when_there_is_nothing(void **state) {
    rk_autofree char *path = rk_path_join(*state, "file");
    rk_expect_code(RK_NOT_FOUND, rk_fs_remove(path));
    write_file(path, "x", 1);
    rk_expect_ok(rk_fs_remove(path));
    rk_expect_code(RK_NOT_FOUND, rk_fs_remove(path));
}

static void expect_joined(const char *directory, const char *name, const char *expected) {
    rk_autofree char *path = rk_path_join(directory, name);
    assert_string_equal(path, expected);
}

static void paths_are_joined_with_one_slash(void **state) {
    (void)state;
    expect_joined("a", "b", "a/b");
    expect_joined("a///", "b", "a/b");
    expect_joined("/", "b", "/b");
    expect_joined("", "b", "b");
}

#define WITH_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_DIRECTORY(reads_what_was_published),
        WITH_DIRECTORY(read_appends),
        WITH_DIRECTORY(short_and_interrupted_calls_are_repeated),
        cmocka_unit_test(files_that_claim_no_size_are_read),
        WITH_DIRECTORY(what_is_no_readable_file_is_refused),
        WITH_DIRECTORY(publish_replaces_and_leaves_nothing_beside),
        WITH_DIRECTORY(publish_without_a_directory_in_the_path),
        WITH_DIRECTORY(publish_names_what_failed),
        WITH_DIRECTORY(a_limit_on_files_is_an_error_and_no_signal),
        WITH_DIRECTORY(make_dirs_makes_all_of_them),
        WITH_DIRECTORY(make_dirs_follows_links_to_directories),
        WITH_DIRECTORY(make_dirs_refuses_a_file_in_the_way),
        WITH_DIRECTORY(make_dirs_accepts_what_a_read_only_parent_holds),
        WITH_DIRECTORY(list_is_in_byte_order),
        WITH_DIRECTORY(list_needs_a_directory),
        WITH_DIRECTORY(remove_says_when_there_is_nothing),
        cmocka_unit_test(paths_are_joined_with_one_slash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
