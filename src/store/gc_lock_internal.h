// The gc lock, so that one process at a time evicts or collects garbage; private to src/store. The
// lock is a lease (store/lease.h) that expires after five minutes. Two processes can hold the lock
// at once, for example if no lease is possible; they then only remove more than necessary.
#pragma once

#include "store/lease.h"
#include "store/store_path_internal.h"

typedef struct rk_gc_lock {
    const rk_store *store; // NULL: not held; borrowed
    rk_lease lease;
} rk_gc_lock;

// Takes the lock if no process holds it, or if its holder is dead or late. Otherwise
// `out_lock->store` is NULL. If no lease is possible, because the disk is full or the file system
// has no hard links, every process gets the lock. Released by rk_gc_lock_cleanup.
RK_HIDDEN RK_NODISCARD rk_err *rk_gc_lock_try(const rk_store *store, rk_gc_lock *out_lock);

// As rk_gc_lock_try, but waits up to `timeout_ms` for the lock.
RK_HIDDEN RK_NODISCARD rk_err *rk_gc_lock_wait(const rk_store *store, unsigned timeout_ms,
                                               rk_gc_lock *out_lock);
// Sleeps.
RK_HIDDEN void rk_gc_lock_pause(unsigned milliseconds);
RK_HIDDEN void rk_gc_lock_cleanup(rk_gc_lock *lock);
