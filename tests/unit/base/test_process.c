#include "base/process.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sys.h"
#include "support/expect.h"
#include "support/faults.h"

static void self_is_known_and_alive(void **state) {
    (void)state;
    rk_process self;
    rk_process_self(&self);
    assert_int_equal(self.pid, getpid());
    assert_true(self.start_ticks > 0);
    assert_true(self.pid_namespace > 0);
    assert_true(self.boot[0] || self.boot[1]);
    assert_true(self.host[0]);
    assert_int_equal(rk_process_liveness(&self), RK_LIVENESS_ALIVE);
    rk_process again;
    rk_process_self(&again);
    assert_true(rk_process_equal(&self, &again));
}

// A child that has recorded its identity. It waits for a signal.
typedef struct child {
    pid_t pid;
    rk_process *process; // shared memory
} child;

static child start_child(const char *name) {
    child started = {.process = mmap(NULL, sizeof(rk_process), PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0)};
    assert_ptr_not_equal(started.process, MAP_FAILED);
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    started.pid = fork();
    assert_true(started.pid >= 0);
    if (started.pid == 0) {
        (void)prctl(PR_SET_NAME, name);
        rk_process_self(started.process);
        (void)!write(ready[1], "", 1);
        for (;;)
            (void)pause();
    }
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    (void)close(ready[1]);
    return started;
}

static void reap(child *started) {
    assert_int_equal(waitpid(started->pid, NULL, 0), started->pid);
}

static void forget(child *started) {
    assert_int_equal(munmap(started->process, sizeof(rk_process)), 0);
}

static void wait_until_zombie(const child *started) {
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)started->pid, &info, WEXITED | WNOWAIT), 0);
}

static void a_child_lives_and_dies(void **state) {
    (void)state;
    child started = start_child("plain");
    assert_int_equal(rk_process_liveness(started.process), RK_LIVENESS_ALIVE);
    rk_process self;
    rk_process_self(&self);
    assert_false(rk_process_equal(&self, started.process));
    assert_int_equal(kill(started.pid, SIGKILL), 0);
    wait_until_zombie(&started); // the child is not reaped yet
    assert_int_equal(rk_process_liveness(started.process), RK_LIVENESS_DEAD);
    reap(&started);
    assert_int_equal(rk_process_liveness(started.process), RK_LIVENESS_DEAD);
    forget(&started);
}

static void names_with_brackets_and_blanks(void **state) {
    (void)state;
    child started = start_child(") R 1 (x y)");
    assert_int_equal(rk_process_liveness(started.process), RK_LIVENESS_ALIVE);
    assert_int_equal(kill(started.pid, SIGKILL), 0);
    reap(&started);
    forget(&started);
}

static void a_stopped_process_is_alive(void **state) {
    (void)state;
    child started = start_child("stopped");
    assert_int_equal(kill(started.pid, SIGSTOP), 0);
    assert_int_equal(waitpid(started.pid, NULL, WUNTRACED), started.pid);
    assert_int_equal(rk_process_liveness(started.process), RK_LIVENESS_ALIVE);
    assert_int_equal(kill(started.pid, SIGKILL), 0);
    reap(&started);
    forget(&started);
}

static void *outlive_first_thread(void *argument) {
    const int *ends = argument;
    char byte;
    // The first thread has ended only when the kernel shows it as a zombie.
    for (;;) {
        char text[512] = "";
        FILE *file = fopen("/proc/self/stat", "re");
        size_t got = file ? fread(text, 1, sizeof text - 1, file) : 0;
        if (file)
            (void)fclose(file);
        const char *end = got ? strrchr(text, ')') : NULL;
        if (end && end[2] == 'Z')
            break;
        (void)usleep(1000);
    }
    (void)!write(ends[1], "", 1);
    (void)!read(ends[2], &byte, 1); // until the parent ends or closes the pipe
    _exit(0);
}

// A program may end its first thread and continue in others. The kernel then shows it as a zombie.
static void first_thread_may_end(void **state) {
    (void)state;
    int up[2], down[2];
    assert_int_equal(pipe(up), 0);
    assert_int_equal(pipe(down), 0);
    rk_process *process =
        mmap(NULL, sizeof *process, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(process, MAP_FAILED);
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(down[1]);
        rk_process_self(process);
        static int ends[3];
        ends[1] = up[1];
        ends[2] = down[0];
        pthread_t thread;
        if (pthread_create(&thread, NULL, outlive_first_thread, ends) != 0)
            _exit(1);
        pthread_exit(NULL);
    }
    char byte;
    assert_int_equal(read(up[0], &byte, 1), 1);
    assert_int_equal(rk_process_liveness(process), RK_LIVENESS_ALIVE);
    (void)close(down[1]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(rk_process_liveness(process), RK_LIVENESS_DEAD);
    assert_int_equal(munmap(process, sizeof *process), 0);
}

static void an_id_used_again_is_another_process(void **state) {
    (void)state;
    rk_process earlier;
    rk_process_self(&earlier);
    earlier.start_ticks--;
    assert_int_equal(rk_process_liveness(&earlier), RK_LIVENESS_DEAD);
}

static void elsewhere_is_not_judged(void **state) {
    (void)state;
    rk_process self;
    rk_process_self(&self);
    for (int what = 0; what < 7; what++) {
        rk_process other = self;
        other.pid = INT32_MAX; // no local process has this id
        if (what == 0)
            other.boot[1] ^= 1;
        else if (what == 1)
            other.pid_namespace++;
        else if (what == 2)
            other.host[0] = other.host[0] == 'x' ? 'y' : 'x';
        else if (what == 3)
            other.start_ticks = 0;
        else if (what == 4)
            other.pid_namespace = 0;
        else if (what == 5)
            other.boot[0] = other.boot[1] = 0;
        else
            other.host[0] = '\0';
        assert_int_equal(rk_process_liveness(&other), RK_LIVENESS_UNKNOWN);
        assert_false(rk_process_equal(&other, &other) && what >= 3);
    }
}

// Runs in a child that has not read its identity yet. Returns 0 on success, 1 if the n-th call was
// not made, 2 on failure.
static int ask_while_failing(unsigned nth) {
    rk_process process, afterwards;
    rk_fault_begin(&(rk_fault_plan){.nth = nth, .error_number = EACCES});
    rk_process_self(&process);
    bool reached = rk_fault_end();
    rk_process_self(&afterwards);
    // If only close fails, everything is known.
    bool fine = process.pid == getpid() && (rk_process_is_known(&process) || reached) &&
                rk_process_is_known(&afterwards) &&
                rk_process_liveness(&afterwards) == RK_LIVENESS_ALIVE;
    return fine ? !reached : 2;
}

static void what_proc_did_not_report_is_read_again(void **state) {
    (void)state;
    for (unsigned nth = 1;; nth++) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(ask_while_failing(nth));
        int status = 0;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_true(WEXITSTATUS(status) == 0 || (WEXITSTATUS(status) == 1 && nth > 4));
        if (WEXITSTATUS(status))
            break;
    }
}

static void a_failing_proc_reports_no_death(void **state) {
    (void)state;
    rk_process self;
    rk_process_self(&self);
    for (unsigned nth = 1;; nth++) {
        rk_fault_begin(&(rk_fault_plan){.nth = nth, .error_number = EACCES});
        rk_liveness liveness = rk_process_liveness(&self);
        if (!rk_fault_end())
            break;
        assert_int_not_equal(liveness, RK_LIVENESS_DEAD);
    }
}

static void text_round_trip(void **state) {
    (void)state;
    rk_process full = {.pid = INT32_MAX,
                       .start_ticks = UINT64_MAX,
                       .pid_namespace = UINT64_MAX,
                       .boot = {UINT64_MAX, UINT64_MAX}};
    memset(full.host, 'h', RK_PROCESS_HOST_MAX_CHARS);
    const rk_process nothing_known = {.pid = 1};
    rk_process self;
    rk_process_self(&self);
    const rk_process *all[] = {&full, &nothing_known, &self};
    for (size_t i = 0; i < RK_ARRAY_LEN(all); i++) {
        RK_AUTO(rk_buf) text = {0};
        rk_process_add_text(all[i], &text);
        assert_true(text.len <= RK_PROCESS_TEXT_MAX_CHARS);
        assert_null(strchr(rk_buf_text(&text), '/'));
        rk_process back;
        assert_true(rk_process_parse(rk_buf_span(&text), &back));
        RK_AUTO(rk_buf) again = {0};
        rk_process_add_text(&back, &again);
        assert_string_equal(rk_buf_text(&again), rk_buf_text(&text));
        for (size_t len = 0; len + strlen(all[i]->host) < text.len; len++)
            assert_false(rk_process_parse(rk_span_of(text.data, len), &back));
    }
}

static void other_text_is_refused(void **state) {
    (void)state;
    static const char boot[] = "00000000000000010000000000000002";
    static const char *const formats[] = {
        "0-1-2-%s-h",        // no such process
        "80000000-1-2-%s-h", // more than any process id
        "1-1-2-%s-h/h",      // not allowed in a file name
        "1-1-2-%s-h h",      "1-1-2-%s",    "1-1-2-%s0-h",
        "1--2-%s-h",         "-1-1-2-%s-h", "1-00000000000000001-2-%s-h",
        "1-1-2-X%s-h",       " 1-1-2-%s-h",
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(formats); i++) {
        RK_AUTO(rk_buf) text = {0};
        const char *at = strstr(formats[i], "%s");
        rk_buf_add(&text, formats[i], (size_t)(at - formats[i]));
        rk_buf_add_text(&text, boot);
        rk_buf_add_text(&text, at + 2);
        rk_process process;
        assert_false(rk_process_parse(rk_buf_span(&text), &process));
    }
    rk_process process;
    assert_true(
        rk_process_parse(rk_span_text("1-1-2-00000000000000010000000000000002-h"), &process));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(self_is_known_and_alive),
        cmocka_unit_test(a_child_lives_and_dies),
        cmocka_unit_test(names_with_brackets_and_blanks),
        cmocka_unit_test(a_stopped_process_is_alive),
        cmocka_unit_test(first_thread_may_end),
        cmocka_unit_test(an_id_used_again_is_another_process),
        cmocka_unit_test(elsewhere_is_not_judged),
        cmocka_unit_test(what_proc_did_not_report_is_read_again),
        cmocka_unit_test(a_failing_proc_reports_no_death),
        cmocka_unit_test(text_round_trip),
        cmocka_unit_test(other_text_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
