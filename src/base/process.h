// The identity of a process. Another process can use it later to find out whether the first one is
// still alive: for leases, and for files of dead writers. A process id alone is not enough: ids are
// reused, and hosts and containers that share a directory have separate ids.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

enum { RK_PROCESS_HOST_MAX_CHARS = 64, RK_PROCESS_TEXT_MAX_CHARS = 192 };

typedef struct rk_process {
    pid_t pid;
    uint64_t start_ticks;   // since boot, /proc/PID/stat field 22 (proc(5)); 0: unknown
    uint64_t pid_namespace; // inode of /proc/self/ns/pid (namespaces(7)); 0: unknown
    uint64_t boot[2];       // /proc/sys/kernel/random/boot_id, big-endian; both 0: unknown
    // The host name, with '_' for all characters except A-Z a-z 0-9 . _; "": unknown.
    char host[RK_PROCESS_HOST_MAX_CHARS + 1];
} rk_process;

// Returns the identity of the calling process. Never fails: a field that /proc does not provide
// stays unknown. Reads three small files in /proc; caches the result if no field is unknown.
// Allocates nothing. Thread-safe. Do not keep the result across a fork.
void rk_process_self(rk_process *out_process);

// Returns the identity of a child of the calling process, alive or not yet reaped, in the same pid
// namespace. A field that cannot be read stays unknown.
void rk_process_of_child(pid_t child, rk_process *out_process);

// True if no field is unknown.
RK_NODISCARD bool rk_process_is_known(const rk_process *process);

typedef enum rk_liveness {
    RK_LIVENESS_UNKNOWN, // other host, boot or pid namespace; unknown field; unreadable /proc entry
    RK_LIVENESS_ALIVE,
    RK_LIVENESS_DEAD, // it has ended, even if its id is reused or it is not yet reaped
} rk_liveness;

// Returns whether `process` is alive now, as seen from the calling process. Reads /proc.
// Thread-safe.
rk_liveness rk_process_liveness(const rk_process *process);

// True if both are certainly the same process: all fields known and equal.
RK_NODISCARD bool rk_process_equal(const rk_process *a, const rk_process *b);

// Appends "<pid>-<start>-<namespace>-<boot>-<host>": numbers in lower-case hex, the boot id with 32
// digits, at most RK_PROCESS_TEXT_MAX_CHARS in all. Safe in a file name.
void rk_process_add_text(const rk_process *process, rk_buf *out);

// Parses the text of rk_process_add_text. False for any other text.
RK_NODISCARD bool rk_process_parse(rk_span text, rk_process *out_process);
