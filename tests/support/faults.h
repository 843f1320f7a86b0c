// Injected faults: the n-th system call through rk_sys() fails, or ends the process as a kill
// would. The n-th allocation through rk_malloc and its relatives fails. A test increases n until
// the n-th call no longer happens:
//
//     for (unsigned nth = 1;; nth++) {
//         rk_fault_begin(&(rk_fault_plan){.nth = nth, .error_number = EIO});
//         rk_err *err = rk_store_put(store, &entry);
//         if (!rk_fault_end())
//             break; // fewer than nth calls were made: each of them has failed once
//         …                // what must hold after a failure
//     }
#pragma once

#include <stdbool.h>
#include <stddef.h>

// The entries of rk_sys_table, as bits. Variants that take a path, a descriptor or a directory
// descriptor share one bit.
typedef enum rk_fault_call {
    RK_FAULT_OPEN = 1 << 0,
    RK_FAULT_CLOSE = 1 << 1, // also closes directory streams
    RK_FAULT_READ = 1 << 2,
    RK_FAULT_WRITE = 1 << 3,
    RK_FAULT_FSYNC = 1 << 4,
    RK_FAULT_FSTAT = 1 << 5,
    RK_FAULT_LSTAT = 1 << 6, // also fstatat
    RK_FAULT_RENAME = 1 << 7,
    RK_FAULT_UNLINK = 1 << 8,
    RK_FAULT_MKDIR = 1 << 9,
    RK_FAULT_RMDIR = 1 << 10,
    RK_FAULT_OPENDIR = 1 << 11,
    RK_FAULT_READDIR = 1 << 12,
    RK_FAULT_LINK = 1 << 13,
    RK_FAULT_UTIME = 1 << 14,   // also fchmod, ftruncate
    RK_FAULT_STATVFS = 1 << 15, // also eaccess
    RK_FAULT_LOCK = 1 << 16,
    RK_FAULT_ALLOC = 1 << 17, // malloc and realloc; counted only if requested
} rk_fault_call;

enum {
    RK_FAULT_EVERY_SYSCALL = RK_FAULT_ALLOC - 1,
    // The calls that change files, which a full or read-only file system refuses.
    RK_FAULT_EVERY_CHANGE = RK_FAULT_OPEN | RK_FAULT_WRITE | RK_FAULT_FSYNC | RK_FAULT_RENAME |
                            RK_FAULT_MKDIR | RK_FAULT_LINK | RK_FAULT_UTIME,
    RK_FAULT_EXIT_STATUS = 97,
};

typedef struct rk_fault_plan {
    unsigned nth;     // number of the failing call among the counted ones, from 1; 0: only count
    unsigned calls;   // RK_FAULT_… bits of the calls to count; 0 means RK_FAULT_EVERY_SYSCALL
    int error_number; // errno of the failed call; 0 means EIO. Allocations return NULL.
    bool lasting;     // every later counted call fails too, as on a full disk
    bool exits;       // _exit(RK_FAULT_EXIT_STATUS) instead of failing; a write writes half first

    // These apply to all calls, whatever `nth` says.
    size_t most_io_bytes; // the most bytes of one read or write; 0: no limit
    bool interrupts;      // every second open, read, write and fsync fails with EINTR
} rk_fault_plan;

// Replaces both tables and starts to count. Calls of all threads share one count. While
// rk_fault_begin and rk_fault_end run, no other thread may run rekindle's code.
void rk_fault_begin(const rk_fault_plan *plan);

// Restores both tables. True if the n-th call was made.
bool rk_fault_end(void);

// Number of counted calls since rk_fault_begin.
unsigned rk_fault_count(void);

// Runs `body` in a forked child. Returns the child's exit status (0 if `body` returned), or 128
// plus the signal.
int rk_fault_in_child(void (*body)(void *context), void *context);
