#include "cli/probe_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/sys.h"
#include "cli/pipe_read.h"
#include "probe/probe.h"

void rk_probe_child_cleanup(rk_probe_child *child) {
    rk_buf_cleanup(&child->lines);
}

static _Noreturn void become_probe(const char *plugin, int out_fd, pid_t parent) {
    static const struct rlimit none = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)setpgid(0, 0);
    // This process must end when its parent ends, for whatever reason.
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    (void)dup2(STDERR_FILENO, STDOUT_FILENO);
    rk_probe_take_steps(plugin, out_fd);
    _exit(0); // without exit handlers: the plugin's clean-up is no part of the probe
}

rk_err *rk_probe_child_run(const char *plugin, uint64_t timeout_ms, rk_probe_child *out_child) {
    enum { LINES_MAX_BYTES = 16 << 20 };
    *out_child = (rk_probe_child){.lines = RK_BUF_INIT(LINES_MAX_BYTES)};
    uint64_t end_ns = rk_monotonic_ns() + timeout_ms * 1000000;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return rk_error_errno(errno, "cannot make a pipe");
    rk_autofd in = ends[0];
    pid_t parent = getpid(), child = fork();
    int fork_errno = errno;
    if (child == 0)
        become_probe(plugin, ends[1], parent);
    (void)close(ends[1]);
    if (child < 0)
        return rk_error_errno(fork_errno, "cannot start a process");
    out_child->timed_out = !rk_pipe_read(in, end_ns, &out_child->lines);
    if (out_child->timed_out) {
        (void)kill(child, SIGKILL);
        (void)kill(-child, SIGKILL);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    out_child->signal = WIFSIGNALED(status) && !out_child->timed_out ? WTERMSIG(status) : 0;
    out_child->status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    return rk_buf_status(&out_child->lines);
}
