// The runtime and fork: a child that is forked at any moment of the start does not hang.
#include "support/cmocka.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sys.h"
#include "pjrt/lifecycle.h"
#include "support/tempdir.h"

#ifndef __has_feature
#define __has_feature(feature) 0
#endif
// If a thread is inside pthread_once() during a fork, glibc runs it again in the child.
// ThreadSanitizer's pthread_once() blocks forever.
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define ONCE_OUTLIVES_FORK false
#else
#define ONCE_OUTLIVES_FORK true
#endif

enum { LONG_SECONDS = 20 };

static int child_status;

// The alarm ends a child that hangs.
static void *fork_a_child(void *argument) {
    (void)argument;
    pid_t child = fork();
    if (child == 0) {
        (void)alarm(LONG_SECONDS);
        rk_sys_replace(NULL);
        (void)rk_lifecycle_start();
        _exit(0);
    }
    if (waitpid(child, &child_status, 0) != child)
        child_status = -1;
    return NULL;
}

static unsigned forks, calls;

// Now and then another thread forks in the middle of the start.
static int fork_and_open(int dir_fd, const char *path, int flags, mode_t mode) {
    enum { BETWEEN = 8 };
    if (calls++ % BETWEEN == 0 && child_status == 0) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, fork_a_child, NULL) == 0)
            (void)pthread_join(thread, NULL);
        forks++;
    }
    return rk_sys_libc.openat_fn(dir_fd, path, flags, mode);
}

static void a_child_forked_while_the_runtime_starts_does_not_hang(void **state) {
    (void)state;
    if (!ONCE_OUTLIVES_FORK)
        skip();
    rk_sys_table table = rk_sys_libc;
    table.openat_fn = fork_and_open;
    rk_sys_replace(&table);
    const rk_runtime *runtime = rk_lifecycle_start();
    rk_sys_replace(NULL);
    assert_non_null(runtime);
    assert_true(forks >= 2);
    assert_int_equal(child_status, 0);
    (void)fork_a_child(NULL); // also after the start
    assert_int_equal(child_status, 0);
    assert_ptr_equal(rk_runtime_get(), runtime);
}

int main(void) {
    char *directory = rk_test_tempdir();
    if (setenv("REKINDLE_DIR", directory, 1) != 0)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_forked_while_the_runtime_starts_does_not_hang),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rk_test_tempdir_remove(directory);
    return failed;
}
