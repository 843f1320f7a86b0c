// Runs a command as if it had been started in place of this process. Signals sent to this process
// reach the command, a key such as Ctrl-C reaches each of the two processes once, and the command
// inherits everything that this process inherited.
#pragma once

#include <sys/types.h>

#include "base/process.h"
#include "base/status.h"
#include "journal/read.h"

typedef struct rk_child_end {
    int exec_errno;     // not 0: the command could not be executed
    int status;         // valid if exec_errno is 0; from waitpid(2)
    rk_process process; // the command's process; members that could not be read are unknown
} rk_child_end;

// Runs the command and waits until it ends. Looks up `argv[0]` in the PATH of this process
// (execvpe(3)).
//
// While it waits, this process passes the signals it gets to the command, except fault signals
// (SIGSEGV and the like), SIGPIPE, SIGTTIN and SIGTTOU. SIGINT, SIGQUIT, SIGTSTP, SIGWINCH, SIGXCPU
// and SIGXFSZ are passed on only if a process sent them: the terminal signals the whole foreground
// group itself, and the limits of this process do not concern the command. A signal that the
// command sent is not passed on. If the terminal stops the child, this process stops too. Orphans
// that become children of this process are reaped, so it may be the first process of a container.
// If this process is killed, the kernel kills the command with SIGKILL, but not the processes that
// the command started.
//
// Fails if no pipe or process can be made. On return, the signal mask and the dispositions are as
// before, unless rk_child_outlive_ends was called.
RK_NODISCARD rk_err *rk_child_run(char **argv, char **environment, rk_child_end *out_end);

// Ignores SIGPIPE and SIGXFSZ in this process. Then a write to a closed standard error, or to a
// file at its size limit, does not end this process: the command still starts, and its exit status
// is still passed on. Commands start with the original dispositions. Call once, before other
// threads exist.
void rk_child_outlive_streams(void);

// After this call, SIGHUP, SIGINT, SIGQUIT and SIGTERM stay blocked when rk_child_run returns,
// unless they were ignored or blocked before: what this process does after the command does not
// replace the command's exit status by a signal. rk_child_is_asked_to_end is true once such a
// signal has come; the storing of torch.compile's files then ends.
void rk_child_outlive_ends(void);
bool rk_child_is_asked_to_end(void);

// The exit status that a shell would report: the command's own, or 128 + N if signal N killed it.
int rk_child_exit_status(const rk_child_end *end);

// Returns the end of the command in the form that the journal of the run records.
rk_run_command rk_child_describe(const rk_child_end *end);
