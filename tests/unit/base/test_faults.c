// Tests of support/faults.h. If its faults never happened, every fault test would pass.
#include "support/faults.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/sys.h"
#include "support/cmocka.h"

static int try_open(void) {
    errno = 0;
    int fd = rk_sys()->open_fn("/dev/null", O_RDONLY | O_CLOEXEC, 0);
    int error_number = errno;
    if (fd >= 0)
        (void)close(fd);
    return error_number;
}

static void only_the_nth_fails(void **state) {
    (void)state;
    rk_fault_begin(&(rk_fault_plan){.nth = 2, .error_number = ENOSPC});
    int results[] = {try_open(), try_open(), try_open()};
    assert_int_equal(rk_fault_count(), 3);
    assert_true(rk_fault_end());
    assert_int_equal(results[0], 0);
    assert_int_equal(results[1], ENOSPC);
    assert_int_equal(results[2], 0);
    assert_ptr_equal(rk_sys(), &rk_sys_libc);
}

static void lasting_faults_last(void **state) {
    (void)state;
    rk_fault_begin(&(rk_fault_plan){.nth = 2, .lasting = true});
    int results[] = {try_open(), try_open(), try_open()};
    assert_true(rk_fault_end());
    assert_int_equal(results[0], 0);
    assert_int_equal(results[1], EIO);
    assert_int_equal(results[2], EIO);
}

static void only_chosen_calls_count(void **state) {
    (void)state;
    rk_fault_begin(&(rk_fault_plan){.nth = 1, .calls = RK_FAULT_WRITE | RK_FAULT_ALLOC});
    int opened = try_open();
    void *first = rk_malloc(1);
    void *second = rk_malloc(1);
    assert_int_equal(rk_fault_count(), 2);
    assert_true(rk_fault_end());
    assert_int_equal(opened, 0);
    assert_null(first);
    assert_non_null(second);
    rk_free(second);
}

static void an_unreached_fault_is_reported(void **state) {
    (void)state;
    rk_fault_begin(&(rk_fault_plan){.nth = 2});
    assert_int_equal(try_open(), 0);
    assert_false(rk_fault_end());
    rk_fault_begin(&(rk_fault_plan){0});
    assert_int_equal(try_open(), 0);
    assert_int_equal(rk_fault_count(), 1);
    assert_false(rk_fault_end());
}

static void a_failing_close_still_closes(void **state) {
    (void)state;
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    rk_fault_begin(&(rk_fault_plan){.nth = 1, .calls = RK_FAULT_CLOSE});
    int status = rk_sys()->close_fn(fd);
    assert_true(rk_fault_end());
    assert_int_equal(status, -1);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void write_ten(void *context) {
    const int *fd = context;
    ssize_t written = rk_sys()->write_fn(*fd, "0123456789", 10);
    (void)written;
}

static void an_exit_in_write_tears_it(void **state) {
    (void)state;
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    rk_fault_begin(&(rk_fault_plan){.nth = 1, .exits = true});
    int status = rk_fault_in_child(write_ten, &ends[1]);
    rk_fault_end();
    assert_int_equal(status, RK_FAULT_EXIT_STATUS);
    char data[16];
    assert_int_equal(read(ends[0], data, sizeof data), 5);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static ssize_t read_some(void *data, size_t len) {
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(write(ends[1], "0123456789", 10), 10);
    ssize_t got = rk_sys()->read_fn(ends[0], data, len);
    (void)close(ends[0]);
    (void)close(ends[1]);
    return got;
}

static void reads_and_writes_can_be_short(void **state) {
    (void)state;
    char data[16];
    rk_fault_begin(&(rk_fault_plan){.most_io_bytes = 3});
    ssize_t got = read_some(data, sizeof data);
    assert_false(rk_fault_end());
    assert_int_equal(got, 3);
}

static void calls_can_be_interrupted(void **state) {
    (void)state;
    rk_fault_begin(&(rk_fault_plan){.interrupts = true});
    int results[] = {try_open(), try_open(), try_open(), try_open()};
    assert_false(rk_fault_end());
    assert_int_equal(results[0], EINTR);
    assert_int_equal(results[1], 0);
    assert_int_equal(results[2], EINTR);
    assert_int_equal(results[3], 0);
}

static void raise_kill(void *context) {
    (void)context;
    (void)raise(SIGKILL);
}

static void nothing(void *context) {
    (void)context;
}

static void a_child_reports_how_it_ended(void **state) {
    (void)state;
    assert_int_equal(rk_fault_in_child(nothing, NULL), 0);
    assert_int_equal(rk_fault_in_child(raise_kill, NULL), 128 + SIGKILL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_nth_fails),
        cmocka_unit_test(lasting_faults_last),
        cmocka_unit_test(only_chosen_calls_count),
        cmocka_unit_test(an_unreached_fault_is_reported),
        cmocka_unit_test(a_failing_close_still_closes),
        cmocka_unit_test(an_exit_in_write_tears_it),
        cmocka_unit_test(reads_and_writes_can_be_short),
        cmocka_unit_test(calls_can_be_interrupted),
        cmocka_unit_test(a_child_reports_how_it_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
