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

// Unlike a compilation, a collection gives no signs of life: it is late by its beginning. So is
// what names nobody.
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

rk_err *rk_gc_lock_try(const rk_store *store, rk_gc_lock *out_hold) {
    *out_hold = (rk_gc_lock){0};
    rk_err *err = take(store, &out_hold->lease);
    bool held = !err && out_hold->lease.identity;
    if (rk_err_code(err) == RK_UNIMPLEMENTED || rk_err_errno(err) == ENOSPC ||
        rk_err_errno(err) == EDQUOT) {
        rk_err_drop(err, "no leases here, or no room for one, which only collecting makes");
        err = NULL;
        held = true;
    }
    out_hold->store = held ? store : NULL;
    return err;
}

void rk_gc_lock_pause(unsigned milliseconds) {
    struct timespec pause = {.tv_sec = milliseconds / 1000,
                             .tv_nsec = (long)(milliseconds % 1000) * 1000000};
    (void)nanosleep(&pause, NULL);
}

rk_err *rk_gc_lock_wait(const rk_store *store, unsigned timeout_ms, rk_gc_lock *out_hold) {
    enum { POLL_MS = 20 };
    for (unsigned waited_ms = 0;; waited_ms += POLL_MS) {
        RK_TRY(rk_gc_lock_try(store, out_hold));
        if (out_hold->store || waited_ms >= timeout_ms)
            return NULL;
        rk_gc_lock_pause(POLL_MS);
    }
}

void rk_gc_lock_cleanup(rk_gc_lock *hold) {
    if (hold->store)
        rk_lease_release(hold->store, &hold->lease);
    *hold = (rk_gc_lock){0};
}
