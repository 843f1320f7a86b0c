// Faults on demand: the n-th system call through rk_sys() fails, or ends the process there as a
// kill would; the n-th allocation through rk_malloc & co fails. A test lets n grow until it is not
// reached:
//
//     for (unsigned nth = 1;; nth++) {
//         rk_fault_begin(&(rk_fault_plan){.nth = nth, .error_number = EIO});
//         rk_err *err = rk_store_put(store, &entry);
//         if (!rk_fault_end())
//             break; // fewer than nth calls were made: every one of them has failed once
//         …                // what must hold after a failure
//     }
#pragma once

#include <stdbool.h>
#include <stddef.h>

// The entries of rk_sys_table, as bits; those that do the same thing by path, by descriptor or
// beneath a directory share one.
typedef enum rk_fault_call {
    RK_FAULT_OPEN = 1 << 0,
    RK_FAULT_CLOSE = 1 << 1, // directory streams too
    RK_FAULT_READ = 1 << 2,
    RK_FAULT_WRITE = 1 << 3,
    RK_FAULT_FSYNC = 1 << 4,
    RK_FAULT_FSTAT = 1 << 5,
    RK_FAULT_LSTAT = 1 << 6, // fstatat too
    RK_FAULT_RENAME = 1 << 7,
    RK_FAULT_UNLINK = 1 << 8,
    RK_FAULT_MKDIR = 1 << 9,
    RK_FAULT_RMDIR = 1 << 10,
    RK_FAULT_OPENDIR = 1 << 11,
    RK_FAULT_READDIR = 1 << 12,
    RK_FAULT_LINK = 1 << 13,
    RK_FAULT_UTIME = 1 << 14,   // fchmod too
    RK_FAULT_STATVFS = 1 << 15, // eaccess too
    RK_FAULT_LOCK = 1 << 16,
    RK_FAULT_ALLOC = 1 << 17, // malloc and realloc; never counted unless asked for
} rk_fault_call;

enum {
    RK_FAULT_EVERY_SYSCALL = RK_FAULT_ALLOC - 1,
    // What changes files: the calls that a full or read-only file system refuses.
    RK_FAULT_EVERY_CHANGE = RK_FAULT_OPEN | RK_FAULT_WRITE | RK_FAULT_FSYNC | RK_FAULT_RENAME |
                            RK_FAULT_MKDIR | RK_FAULT_LINK | RK_FAULT_UTIME,
    RK_FAULT_EXIT_STATUS = 97,
};

typedef struct rk_fault_plan {
    unsigned nth;     // which of the counted calls, from 1; 0: only count
    unsigned calls;   // RK_FAULT_… that count; 0 means RK_FAULT_EVERY_SYSCALL
    int error_number; // what errno becomes; 0 means EIO. (Allocations return NULL.)
    bool lasting;     // every counted call after the n-th fails too, as on a full disk
    bool exits;       // instead of failing: _exit(RK_FAULT_EXIT_STATUS); a write writes half before

    // What is no failure, whatever nth says.
    size_t most_io_bytes; // reads and writes move no more than this at a time; 0: as they like
    bool interrupts;      // open, read, write and fsync answer EINTR every other time
} rk_fault_plan;

// Replaces both tables and starts to count. Calls made by several threads are counted together, but
// begin and end only while no other thread is in rekindle's code.
void rk_fault_begin(const rk_fault_plan *plan);

// Restores both tables. True if the n-th call was reached.
bool rk_fault_end(void);

// Counted calls since rk_fault_begin.
unsigned rk_fault_count(void);

// Runs `body` in a forked child; its exit status (0 if it returned), or 128 + signal.
int rk_fault_in_child(void (*body)(void *context), void *context);
