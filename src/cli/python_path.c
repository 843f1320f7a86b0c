#include "cli/python_path.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/sys.h"
#include "cli/env.h"
#include "cli/pipe_read.h"

#define TIMEOUT_NS ((uint64_t)10 * 1000000000)

enum { TEXT_MAX_BYTES = 1 << 20 };

static _Noreturn void become_python(const char *python, const rk_env *environment, int out_fd,
                                    pid_t parent) {
    // The first folder is that of the script, which is empty with -c.
    static const char program[] = "import sys; print(*filter(None, sys.path), sep='\\n')";
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || null < 0 || dup2(null, STDIN_FILENO) < 0 ||
        dup2(null, STDERR_FILENO) < 0 || dup2(out_fd, STDOUT_FILENO) < 0)
        _exit(1);
    (void)execle(python, python, "-c", program, (char *)NULL, environment->items);
    _exit(1);
}

// Returns whether the child ended with success.
static bool end_child(pid_t child, bool timed_out) {
    int status = 0;
    if (timed_out) {
        (void)kill(child, SIGKILL);
        (void)kill(-child, SIGKILL);
    }
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return false;
    return !timed_out && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void rk_python_path_ask(const char *python, rk_buf *out) {
    RK_AUTO(rk_buf) text = RK_BUF_INIT(TEXT_MAX_BYTES);
    RK_AUTO(rk_env) environment = {0};
    int ends[2];
    rk_env_copy(&environment);
    rk_env_set(&environment, "LD_PRELOAD", ""); // this Python is no part of the job
    if (pipe2(ends, O_CLOEXEC) != 0)
        return;
    rk_autofd in = ends[0];
    pid_t parent = getpid(), child = fork();
    if (child == 0)
        become_python(python, &environment, ends[1], parent);
    (void)close(ends[1]);
    if (child < 0)
        return;
    bool closed = rk_pipe_read(in, rk_monotonic_ns() + TIMEOUT_NS, &text);
    if (end_child(child, !closed) && !text.failed)
        rk_buf_add(out, text.data, text.len);
}
