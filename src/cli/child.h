// Running a command as if it had been started in our place: signals sent to us reach it, keys of
// the terminal act on both once, and it inherits everything as we got it.
#pragma once

#include <sys/types.h>

#include "base/process.h"
#include "base/status.h"
#include "journal/read.h"

typedef struct rk_child_end {
    int exec_errno;     // not 0: the command was never executed
    int status;         // else as waitpid(2) gives it
    rk_process process; // that ended; what is not known of it is left out
} rk_child_end;

// Runs the command and waits for its end. `argv[0]` is looked up in the PATH of `environment`.
//
// Meanwhile signals that are sent to us are passed on to it, but for those of faults (SIGSEGV and
// the like), SIGPIPE, SIGTTIN and SIGTTOU. SIGINT, SIGQUIT, SIGTSTP and SIGWINCH are passed on when
// a process sent them, not when the terminal did, which sends them to the whole foreground group.
// When the child is stopped from the terminal, so are we. Orphans that become our children are
// reaped, so that we may be the first process of a container. If we are killed, the command is
// killed with SIGKILL; what the command itself started is not.
//
// Errors: no process could be made. Signal mask and dispositions are as before when it returns.
RK_NODISCARD rk_err *rk_child_run(char **argv, char **environment, rk_child_end *out_end);

// Ignores SIGPIPE and SIGXFSZ in this process, so that a write to a standard error that nobody
// reads, or to a file at its size limit, does not end it: the command still starts, and its exit
// status is still passed on. Commands start with the dispositions of before. To be called once,
// before there are other threads.
void rk_child_outlive_streams(void);

// The exit status of a shell for it: its own, or 128 + N when signal N killed it.
int rk_child_exit_status(const rk_child_end *end);

// The same for the journal of its run.
rk_run_command rk_child_describe(const rk_child_end *end);
