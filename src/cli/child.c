#include "cli/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "cli/fail.h"
#include "cli/text.h"

// Changed signal state of this process, to restore in the child and at the end.
typedef struct signals {
    sigset_t watched;
    sigset_t mask;
    struct sigaction child_action;
} signals;

// The dispositions that rk_child_outlive_streams replaced, to restore in the child.
static const int stream_signals[] = {SIGPIPE, SIGXFSZ};
static struct sigaction stream_actions[RK_ARRAY_LEN(stream_signals)];
static bool outlives_streams;

// Signals that ask a process to end.
static const int end_signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
static bool outlives_ends;
static sigset_t held_ends; // those that are blocked after the command

void rk_child_outlive_streams(void) {
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    for (size_t i = 0; i < RK_ARRAY_LEN(stream_signals); i++)
        (void)sigaction(stream_signals[i], &ignore, &stream_actions[i]);
    outlives_streams = true;
}

static void restore_stream_signals(void) {
    for (size_t i = 0; outlives_streams && i < RK_ARRAY_LEN(stream_signals); i++)
        (void)sigaction(stream_signals[i], &stream_actions[i], NULL);
}

// All signals except those that cannot be caught, those that report a fault of this process, and
// those that stop a background process at its terminal.
static void add_watched(sigset_t *out) {
    static const int own[] = {SIGSEGV, SIGBUS,  SIGILL,  SIGFPE, SIGTRAP,
                              SIGSYS,  SIGPIPE, SIGTTIN, SIGTTOU};
    (void)sigfillset(out);
    for (size_t i = 0; i < RK_ARRAY_LEN(own); i++)
        (void)sigdelset(out, own[i]);
}

// Blocks all watched signals, so that sigwaitinfo takes them one by one: no handlers, no races.
// Leaves dispositions alone, so that the child also ignores what this process ignores (nohup).
static void watch_signals(signals *s) {
    add_watched(&s->watched);
    (void)sigprocmask(SIG_BLOCK, &s->watched, &s->mask);
    // If SIGCHLD is ignored, the kernel discards the status of children.
    struct sigaction plain = {.sa_handler = SIG_DFL};
    (void)sigaction(SIGCHLD, &plain, &s->child_action);
}

static void restore_signals(const signals *s) {
    (void)sigaction(SIGCHLD, &s->child_action, NULL);
    (void)sigprocmask(SIG_SETMASK, &s->mask, NULL);
}

// True if the signal would end this process: it is neither ignored (nohup) nor blocked.
static bool would_end(const signals *s, int signal_number) {
    struct sigaction action;
    return sigismember(&s->mask, signal_number) == 0 &&
           sigaction(signal_number, NULL, &action) == 0 && action.sa_handler != SIG_IGN;
}

// Restores the signals when the command has ended.
static void restore_after(const signals *s) {
    signals now = *s;
    (void)sigemptyset(&held_ends);
    for (size_t i = 0; outlives_ends && i < RK_ARRAY_LEN(end_signals); i++)
        if (would_end(s, end_signals[i])) {
            (void)sigaddset(&held_ends, end_signals[i]);
            (void)sigaddset(&now.mask, end_signals[i]);
        }
    restore_signals(&now);
}

void rk_child_outlive_ends(void) {
    outlives_ends = true;
}

bool rk_child_is_asked_to_end(void) {
    sigset_t pending;
    bool asked = false;
    if (sigpending(&pending) != 0)
        return false;
    for (size_t i = 0; i < RK_ARRAY_LEN(end_signals); i++)
        asked |= sigismember(&held_ends, end_signals[i]) == 1 &&
                 sigismember(&pending, end_signals[i]) == 1;
    return asked;
}

// Makes the kernel kill the command when this process dies, even by SIGKILL. Otherwise the command
// would go on without a parent and keep its devices. The kernel drops this rule for processes that
// the command forks, and if executing the command changes the user. If the parent died before the
// call of prctl, another process is the parent now; that is not always process 1.
static void die_with(pid_t parent) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(RK_EXIT_NO_PROCESS);
}

static _Noreturn void become(char **argv, char **environment, const signals *s, int report_fd) {
    restore_signals(s);
    restore_stream_signals();
    (void)execvpe(argv[0], argv, environment);
    int exec_errno = errno;
    ssize_t written = write(report_fd, &exec_errno, sizeof exec_errno);
    (void)written;
    _exit(RK_EXIT_NOT_FOUND);
}

// Returns the errno of a failed exec, or 0: a successful exec closes the pipe.
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

// Stops this process by the signal that stopped the child. In an orphaned process group the kernel
// ignores these signals, so this cannot hang where no shell could continue it.
static void stop(int signal_number) {
    sigset_t one, before;
    (void)sigemptyset(&one);
    (void)sigaddset(&one, signal_number);
    (void)raise(signal_number);
    (void)sigprocmask(SIG_UNBLOCK, &one, &before); // returns when this process is continued
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
}

// Collects the status changes of all children. Returns true once `child` has ended.
static bool collect(pid_t child, int *out_status) {
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG | WUNTRACED);
        if (pid <= 0)
            return pid < 0 && errno == ECHILD;
        if (pid != child)
            continue;
        if (stopped_from_terminal(status)) {
            stop(WSTOPSIG(status)); // the shell must see the whole job stopped
        } else if (!WIFSTOPPED(status)) {
            *out_status = status;
            return true;
        }
    }
}

// True if a field of /proc/<pid>/status, such as "SigIgn:\t0000000000000006", holds the signal.
static bool has_signal(const rk_buf *status, const char *field, int signal_number) {
    const char *line = strstr(rk_buf_text(status), field);
    return line && (strtoull(line + strlen(field), NULL, 16) >> (signal_number - 1) & 1);
}

// True if the default action of the signal stops the child. A child that handles the signal itself
// may stop later or not at all; this process then follows the child.
static bool stops_at(int signal_number, pid_t child) {
    enum { STATUS_MAX_BYTES = 64 << 10 };
    RK_AUTO(rk_buf) path = RK_BUF_INIT(64), status = RK_BUF_INIT(STATUS_MAX_BYTES + 1);
    rk_buf_add_format(&path, "/proc/%ld/status", (long)child);
    rk_err *err = rk_fs_read(rk_need_text(&path), STATUS_MAX_BYTES, &status);
    bool known = !err;
    rk_err_drop(err, "its end, or its stop, is reported later");
    return known && !has_signal(&status, "\nSigBlk:", signal_number) &&
           !has_signal(&status, "\nSigIgn:", signal_number) &&
           !has_signal(&status, "\nSigCgt:", signal_number);
}

static bool to_be_passed_on(const siginfo_t *info, pid_t child) {
    // The kernel sends these to the whole foreground group, or for limits of this process.
    static const int of_kernel[] = {SIGINT, SIGQUIT, SIGTSTP, SIGWINCH, SIGXCPU, SIGXFSZ};
    for (size_t i = 0; i < RK_ARRAY_LEN(of_kernel); i++)
        if (info->si_signo == of_kernel[i] && info->si_code == SI_KERNEL)
            return false;
    // A command that signals its whole group, as kill(0, …) does, already has the signal.
    return !(info->si_code == SI_USER && info->si_pid == child);
}

static void pass_on(const siginfo_t *info, pid_t child) {
    if (info->si_code == SI_QUEUE)
        (void)sigqueue(child, info->si_signo, info->si_value);
    else
        (void)kill(child, info->si_signo);
}

static int wait_for(pid_t child, const sigset_t *watched) {
    int status = 0;
    while (!collect(child, &status)) {
        siginfo_t info;
        if (sigwaitinfo(watched, &info) < 0 || info.si_signo == SIGCHLD)
            continue;
        // A child that waits in vfork(2) cannot stop before its own child executes a program. So
        // this process stops without waiting for it, which gives the terminal back.
        if (info.si_signo == SIGTSTP && info.si_code == SI_KERNEL && stops_at(SIGTSTP, child))
            stop(SIGTSTP);
        else if (to_be_passed_on(&info, child))
            pass_on(&info, child);
    }
    return status;
}

// Discards signals that were meant for the child: it has ended, and they must not hit this process
// when the mask is restored.
static void drain(const sigset_t *watched) {
    static const struct timespec at_once = {0, 0};
    while (sigtimedwait(watched, NULL, &at_once) > 0) {
    }
}

// Forks and executes. `*out_exec_errno` is not 0 if the command could not be executed.
static rk_err *start(char **argv, char **environment, const signals *s, pid_t *out_child,
                     int *out_exec_errno) {
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0)
        return rk_error_errno(errno, "cannot make a pipe");
    rk_autofd report_fd = report[0];
    pid_t own = getpid(), child = fork();
    int fork_errno = errno;
    if (child == 0) {
        die_with(own);
        become(argv, environment, s, report[1]);
    }
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
        rk_process_of_child(child, &out_end->process);
        out_end->status = wait_for(child, &s.watched);
        drain(&s.watched);
    }
    restore_after(&s);
    return err;
}

int rk_child_exit_status(const rk_child_end *end) {
    if (WIFSIGNALED(end->status))
        return 128 + WTERMSIG(end->status);
    return WEXITSTATUS(end->status);
}

rk_run_command rk_child_describe(const rk_child_end *end) {
    rk_run_command command = {.known = true, .pid = end->process.pid};
    if (WIFSIGNALED(end->status))
        command.signal_number = WTERMSIG(end->status);
    else
        command.exit_status = (unsigned)WEXITSTATUS(end->status);
    if (gethostname(command.host, sizeof command.host - 1) != 0)
        command.host[0] = '\0';
    return command;
}
