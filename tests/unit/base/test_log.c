#include "base/log.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sys.h"
#include "support/cmocka.h"

static char written[8192];
static size_t written_len;
static unsigned writes;
static int written_fd;

static ssize_t catch_write(int fd, const void *data, size_t len) {
    written_fd = fd;
    writes++;
    assert_true(written_len + len < sizeof written);
    memcpy(written + written_len, data, len);
    written_len += len;
    written[written_len] = '\0';
    errno = EIO; // the caller's errno must not change
    return -1;
}

static int set_up(void **state) {
    (void)state;
    static rk_sys_table table;
    table = rk_sys_libc;
    table.write_fn = catch_write;
    rk_sys_replace(&table);
    written_len = 0;
    writes = 0;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    rk_sys_replace(NULL);
    rk_log_set_level(RK_LOG_WARN);
    return 0;
}

static void one_write_a_line_on_stderr(void **state) {
    (void)state;
    errno = ENOENT;
    rk_log_warn("%d programs", 3);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(writes, 1);
    assert_int_equal(written_fd, STDERR_FILENO);
    assert_string_equal(written, "rekindle: 3 programs\n");
}

static void levels_are_kept(void **state) {
    (void)state;
    rk_log_info("not told");
    assert_int_equal(writes, 0);
    rk_log_error("told");
    assert_int_equal(writes, 1);
    rk_log_set_level(RK_LOG_ERROR);
    rk_log_warn("not told");
    assert_int_equal(writes, 1);
    rk_log_set_level(RK_LOG_DEBUG);
    rk_log_debug("told");
    assert_int_equal(writes, 2);
}

static void long_messages_are_cut_and_end_in_a_newline(void **state) {
    (void)state;
    static char message[6000];
    memset(message, 'x', sizeof message - 1);
    rk_log_warn("%s", message);
    assert_int_equal(writes, 1);
    assert_int_equal(written_len, 4095);
    assert_int_equal(written[written_len - 1], '\n');
    assert_int_equal(written[written_len - 2], 'x');
    assert_null(memchr(written, '\0', written_len));
}

static volatile sig_atomic_t caught;

static void catch_signal(int number) {
    caught = number;
}

// A silent job continues after the reader of its stderr is gone. rekindle's messages must not end
// it.
static void a_closed_stderr_does_not_end_the_job(void **state) {
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int ends[2];
        if (pipe(ends) != 0 || dup2(ends[1], STDERR_FILENO) < 0 || close(ends[0]) != 0)
            _exit(1);
        (void)signal(SIGPIPE, SIG_DFL);
        rk_log_warn("told to nobody");
        // A SIGPIPE that the job itself raised stays pending.
        sigset_t only;
        (void)sigemptyset(&only);
        (void)sigaddset(&only, SIGPIPE);
        (void)signal(SIGPIPE, catch_signal);
        (void)sigprocmask(SIG_BLOCK, &only, NULL);
        (void)raise(SIGPIPE);
        rk_log_warn("told to nobody");
        (void)sigprocmask(SIG_UNBLOCK, &only, NULL);
        _exit(caught == SIGPIPE ? 0 : 2);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void level_names(void **state) {
    (void)state;
    rk_log_level level = RK_LOG_ERROR;
    assert_true(rk_log_level_parse("info", &level));
    assert_int_equal(level, RK_LOG_INFO);
    assert_true(rk_log_level_parse("debug", &level));
    assert_int_equal(level, RK_LOG_DEBUG);
    assert_false(rk_log_level_parse("INFO", &level));
    assert_false(rk_log_level_parse("", &level));
    assert_int_equal(level, RK_LOG_DEBUG);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_write_a_line_on_stderr, set_up, tear_down),
        cmocka_unit_test_setup_teardown(levels_are_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(long_messages_are_cut_and_end_in_a_newline, set_up,
                                        tear_down),
        cmocka_unit_test(a_closed_stderr_does_not_end_the_job),
        cmocka_unit_test(level_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
