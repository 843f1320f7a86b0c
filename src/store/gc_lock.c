#include "store/gc_lock_internal.h"

#include <errno.h>
#include <time.h>

#include "base/sys.h"

static const uint64_t late_ns = UINT64_C(300) * 1000000000;

static rk_digest lease_key(void) {
    rk_digest key;
    rk_digest_of(rk_span_text("rekindle gc"), &key);
    return key;
}

// True if the lease may be taken over. Unlike a compilation, a collection writes no heartbeats, so
// its lease is late a fixed time after its creation. An invalid lease has created_ns 0 and is late
// at once.
static bool is_stale(const rk_lease_view *view) {
    uint64_t now_ns = rk_realtime_ns(), then_ns = view->created_ns;
    uint64_t distance_ns = now_ns > then_ns ? now_ns - then_ns : then_ns - now_ns;
    return rk_lease_is_over(view) || distance_ns >= late_ns;
}

static rk_err *take(const rk_store *store, rk_lease *out_lease) {
    const rk_digest key = lease_key();
    rk_process self;
    rk_lease_view view;
    rk_process_self(&self);
    RK_TRY(rk_lease_take(store, &key, &self, out_lease));
    if (out_lease->identity)
        return NULL;
    RK_TRY(rk_lease_read(store, &key, &view));
    if (view.state == RK_LEASE_NONE)
        return rk_lease_take(store, &key, &self, out_lease);
    return is_stale(&view) ? rk_lease_take_over(store, &view, &key, &self, out_lease) : NULL;
}

rk_err *rk_gc_lock_try(const rk_store *store, rk_gc_lock *out_lock) {
    *out_lock = (rk_gc_lock){0};
    rk_err *err = take(store, &out_lock->lease);
    bool held = !err && out_lock->lease.identity;
    if (rk_err_code(err) == RK_UNIMPLEMENTED || rk_err_errno(err) == ENOSPC ||
        rk_err_errno(err) == EDQUOT) {
        rk_err_drop(err,
                    "no leases on this file system, or a full disk, which only collecting frees");
        err = NULL;
        held = true;
    }
    out_lock->store = held ? store : NULL;
    return err;
}

void rk_gc_lock_pause(unsigned milliseconds) {
    struct timespec pause = {.tv_sec = milliseconds / 1000,
                             .tv_nsec = (long)(milliseconds % 1000) * 1000000};
    (void)nanosleep(&pause, NULL);
}

rk_err *rk_gc_lock_wait(const rk_store *store, unsigned timeout_ms, rk_gc_lock *out_lock) {
    enum { POLL_MS = 20 };
    for (unsigned waited_ms = 0;; waited_ms += POLL_MS) {
        RK_TRY(rk_gc_lock_try(store, out_lock));
        if (out_lock->store || waited_ms >= timeout_ms)
            return NULL;
        rk_gc_lock_pause(POLL_MS);
    }
}

void rk_gc_lock_cleanup(rk_gc_lock *lock) {
    if (lock->store)
        rk_lease_release(lock->store, &lock->lease);
    *lock = (rk_gc_lock){0};
}
