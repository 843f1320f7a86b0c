// Running a command as if it had been started in our place: signals sent to us reach it, keys of
// the terminal act on both once, and it inherits everything as we got it.
#pragma once

#include "base/status.h"

typedef struct rk_child_end {
    int exec_errno; // not 0: the command was never executed
    int status;     // else as waitpid(2) gives it
} rk_child_end;

// Runs the command and waits for its end. `argv[0]` is looked up in the PATH of `environment`.
//
// Meanwhile SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 and SIGCONT are passed on to it. SIGINT and SIGQUIT
// are passed on when a process sent them, not when the terminal did, which sends them to the whole
// foreground group. When the child is stopped from the terminal, so are we. Children left to us by
// others are reaped, so that we may be the first process of a container.
//
// Errors: no process could be made. Signal mask and dispositions are as before when it returns.
RK_NODISCARD rk_err *rk_child_run(char **argv, char **environment, rk_child_end *out_end);

// The exit status of a shell for it: its own, or 128 + N when signal N killed it.
int rk_child_exit_status(const rk_child_end *end);
