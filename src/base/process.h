// Who a process is, so that another one can tell later whether it still lives: for leases, and for
// files that a dead writer left behind. A process id alone says little: ids are used again, and
// hosts and containers that share a directory each have their own.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

enum { RK_PROCESS_HOST_MAX_CHARS = 64, RK_PROCESS_TEXT_MAX_CHARS = 192 };

typedef struct rk_process {
    pid_t pid;
    uint64_t start_ticks;   // since boot, /proc/PID/stat field 22 (proc(5)); 0: not known
    uint64_t pid_namespace; // inode of /proc/self/ns/pid (namespaces(7)); 0: not known
    uint64_t boot[2];       // /proc/sys/kernel/random/boot_id, big-endian; both 0: not known
    char host[RK_PROCESS_HOST_MAX_CHARS + 1]; // its name, others than A-Z a-z 0-9 . _ replaced by _
} rk_process;

// The calling process. Never fails: what /proc does not tell is left unknown. Reads three small
// files in /proc, once a process unless something stays unknown; allocates nothing, thread-safe.
// Never keep the answer across a fork.
void rk_process_self(rk_process *out_process);

// A child of the calling process, alive or not yet reaped, in the same pid namespace. What cannot
// be read is left unknown, as above.
void rk_process_of_child(pid_t child, rk_process *out_process);

// True if nothing of it was left unknown.
RK_NODISCARD bool rk_process_is_known(const rk_process *process);

typedef enum rk_liveness {
    RK_LIVENESS_UNKNOWN, // of another host, boot or pid namespace, or something is not known
    RK_LIVENESS_ALIVE,
    RK_LIVENESS_DEAD, // it has ended, also where its id is in use again or nobody reaped it yet
} rk_liveness;

// What is to be known here, now, about `process`. Thread-safe; reads /proc.
rk_liveness rk_process_liveness(const rk_process *process);

// True if both are the same process for certain: everything known, and equal.
RK_NODISCARD bool rk_process_equal(const rk_process *a, const rk_process *b);

// Appends "<pid>-<start>-<namespace>-<boot>-<host>", the numbers in lower-case hex and the boot id
// in 32 digits, at most RK_PROCESS_TEXT_MAX_CHARS in all: safe within a file's name.
void rk_process_add_text(const rk_process *process, rk_buf *out);

// Reads what rk_process_add_text wrote; false for anything else.
RK_NODISCARD bool rk_process_parse(rk_span text, rk_process *out_process);
