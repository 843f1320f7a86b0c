// Who collects: at most one process at a time, as far as that can be told; private to src/store. A
// lease (store/lease.h) like that of a compilation, which is late after five minutes. Two that
// collect at once only do more than was needed.
#pragma once

#include "store/lease.h"
#include "store/store_path_internal.h"

typedef struct rk_gc_lock {
    const rk_store *store; // NULL: not held; borrowed
    rk_lease lease;
} rk_gc_lock;

// Takes the hold if nobody has it, or its holder is dead or late; else `out_hold->store` is NULL.
// Where no lease can be had for lack of space, or because the file system knows no links, everybody
// holds. Released by rk_gc_lock_cleanup.
RK_HIDDEN RK_NODISCARD rk_err *rk_gc_lock_try(const rk_store *store, rk_gc_lock *out_hold);

// As rk_gc_lock_try, for at most `timeout_ms`.
RK_HIDDEN RK_NODISCARD rk_err *rk_gc_lock_wait(const rk_store *store, unsigned timeout_ms,
                                               rk_gc_lock *out_hold);
RK_HIDDEN void rk_gc_lock_pause(unsigned milliseconds);
RK_HIDDEN void rk_gc_lock_cleanup(rk_gc_lock *hold);
