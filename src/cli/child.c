#include "cli/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "cli/cli.h"

// What had to be changed in this process, to be put back in the child and at the end.
typedef struct signals {
    sigset_t watched;
    sigset_t mask;
    struct sigaction child_action;
} signals;

// All watched signals are blocked and then taken one by one with sigwaitinfo: no handlers, no
// races. What was ignored (nohup) stays ignored in the child, since dispositions are left alone.
static void watch_signals(signals *s) {
    static const int watched[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2,
                                  SIGCONT, SIGINT, SIGQUIT, SIGCHLD};
    (void)sigemptyset(&s->watched);
    for (size_t i = 0; i < RK_ARRAY_LEN(watched); i++)
        (void)sigaddset(&s->watched, watched[i]);
    (void)sigprocmask(SIG_BLOCK, &s->watched, &s->mask);
    // Where SIGCHLD is ignored, the kernel throws the status of children away.
    struct sigaction plain = {.sa_handler = SIG_DFL};
    (void)sigaction(SIGCHLD, &plain, &s->child_action);
}

static void restore_signals(const signals *s) {
    (void)sigaction(SIGCHLD, &s->child_action, NULL);
    (void)sigprocmask(SIG_SETMASK, &s->mask, NULL);
}

static _Noreturn void become(char **argv, char **environment, const signals *s, int report_fd) {
    restore_signals(s);
    (void)execvpe(argv[0], argv, environment);
    int exec_errno = errno;
    ssize_t written = write(report_fd, &exec_errno, sizeof exec_errno);
    (void)written;
    _exit(RK_EXIT_NOT_FOUND);
}

// The errno of a failed exec, or 0: a successful one closes the pipe.
static int read_report(int fd) {
    int exec_errno = 0;
    ssize_t got;
    do {
        got = read(fd, &exec_errno, sizeof exec_errno);
    } while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof exec_errno ? exec_errno : 0;
}

static bool stopped_from_terminal(int status) {
    if (!WIFSTOPPED(status))
        return false;
    int signal_number = WSTOPSIG(status);
    return signal_number == SIGTSTP || signal_number == SIGTTIN || signal_number == SIGTTOU;
}

// Takes the news of all children. True once `child` is gone.
static bool collect(pid_t child, int *out_status) {
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG | WUNTRACED);
        if (pid <= 0)
            return pid < 0 && errno == ECHILD;
        if (pid != child)
            continue;
        if (stopped_from_terminal(status)) {
            // The shell must see the whole job stopped. In an orphaned group the kernel ignores
            // this signal, so nothing hangs where nobody could wake us.
            (void)raise(WSTOPSIG(status));
        } else if (!WIFSTOPPED(status)) {
            *out_status = status;
            return true;
        }
    }
}

static bool to_be_passed_on(const siginfo_t *info, pid_t child) {
    if ((info->si_signo == SIGINT || info->si_signo == SIGQUIT) && info->si_code == SI_KERNEL)
        return false;
    // A command that signals its whole group, as kill(0, …) does, has reached itself already.
    return !(info->si_code == SI_USER && info->si_pid == child);
}

static int wait_for(pid_t child, const sigset_t *watched) {
    int status = 0;
    while (!collect(child, &status)) {
        siginfo_t info;
        if (sigwaitinfo(watched, &info) < 0 || info.si_signo == SIGCHLD)
            continue;
        if (to_be_passed_on(&info, child))
            (void)kill(child, info.si_signo);
    }
    return status;
}

// Signals that were meant for the child, which is gone, must not hit us when the mask falls.
static void drain(const sigset_t *watched) {
    static const struct timespec at_once = {0, 0};
    while (sigtimedwait(watched, NULL, &at_once) > 0) {
    }
}

// Forks and executes. `*out_exec_errno` is not 0 where the command could not be executed.
static rk_err *start(char **argv, char **environment, const signals *s, pid_t *out_child,
                     int *out_exec_errno) {
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0)
        return rk_error_errno(errno, "cannot make a pipe");
    rk_autofd report_fd = report[0];
    pid_t child = fork();
    int fork_errno = errno;
    if (child == 0)
        become(argv, environment, s, report[1]);
    (void)close(report[1]);
    if (child < 0)
        return rk_error_errno(fork_errno, "cannot start a process");
    *out_child = child;
    *out_exec_errno = read_report(report_fd);
    return NULL;
}

rk_err *rk_child_run(char **argv, char **environment, rk_child_end *out_end) {
    signals s;
    pid_t child = 0;
    watch_signals(&s);
    rk_err *err = start(argv, environment, &s, &child, &out_end->exec_errno);
    if (!err) {
        out_end->status = wait_for(child, &s.watched);
        drain(&s.watched);
    }
    restore_signals(&s);
    return err;
}

int rk_child_exit_status(const rk_child_end *end) {
    if (WIFSIGNALED(end->status))
        return 128 + WTERMSIG(end->status);
    return WEXITSTATUS(end->status);
}
