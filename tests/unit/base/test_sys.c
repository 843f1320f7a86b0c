#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "support/cmocka.h"
#include "support/tempdir.h"

static int set_up(void **state) {
    *state = rk_test_tempdir();
    return 0;
}

static int tear_down(void **state) {
    rk_test_tempdir_remove(*state);
    return 0;
}

static void make_path(const char *directory, char out_path[4096]) {
    (void)snprintf(out_path, 4096, "%s/file", directory);
}

// The descriptors that the calls return while `stream` is closed.
static void open_all(const char *directory, int stream, int out_fds[3]) {
    char path[4096];
    make_path(directory, path);
    const rk_sys_table *sys = rk_sys();
    int saved = fcntl(stream, F_DUPFD_CLOEXEC, 10);
    (void)close(stream);
    out_fds[0] = sys->open_fn(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    (void)close(out_fds[0]);
    out_fds[1] = sys->openat_fn(AT_FDCWD, path, O_PATH | O_CLOEXEC, 0);
    (void)close(out_fds[1]);
    DIR *listing = sys->opendir_fn(directory);
    out_fds[2] = listing ? dirfd(listing) : -1;
    (void)sys->closedir_fn(listing);
    (void)dup2(saved, stream);
    (void)close(saved);
}

static void no_file_is_a_standard_stream(void **state) {
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++) {
        int fds[3];
        open_all(*state, stream, fds);
        for (int i = 0; i < 3; i++)
            assert_true(fds[i] > STDERR_FILENO);
    }
}

static void what_cannot_be_opened_keeps_its_errno(void **state) {
    (void)state;
    errno = 0;
    assert_int_equal(rk_sys()->open_fn("/nowhere/at/all", O_RDONLY, 0), -1);
    assert_int_equal(errno, ENOENT);
    assert_null(rk_sys()->opendir_fn("/nowhere/at/all"));
    assert_int_equal(errno, ENOENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_file_is_a_standard_stream, set_up, tear_down),
        cmocka_unit_test(what_cannot_be_opened_keeps_its_errno),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
