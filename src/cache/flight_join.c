// Single flight between processes: takes the lease of a key, or waits for its holder.
#include <time.h>

#include "base/log.h"
#include "base/thread.h"
#include "cache/flight_internal.h"

// After a temporary failure, no lease is taken for this long.
static const uint64_t refused_for_ns = 30000000000u;

// One wait for another process's lease.
typedef struct watch {
    rk_flights *flights;
    rk_flight_wait *wait;
    uint64_t start_ns;
    uint64_t identity;            // of the lease that was read last
    size_t size_bytes;            // of its file; grows with every heartbeat
    uint64_t changed_ns;          // when identity or size last changed
    uint64_t checked_ns;          // when the holder's liveness was last checked
    uint64_t compiled_seen_at_ns; // when the lease first had `compiled`; 0: not yet
    bool logged;
} watch;

// Allows the request to compile, after one more lookup: another process may have published the
// executable since the last one.
static rk_flight_advice grant(rk_flight_wait *wait) {
    wait->granted = true;
    return RK_FLIGHT_LOOK;
}

static rk_flight_advice grant_lease(rk_flights *flights, rk_flight_wait *wait, rk_lease *lease) {
    (void)pthread_mutex_lock(&flights->mutex);
    bool closed = flights->closed;
    if (!closed) {
        wait->flight->lease = *lease;
        wait->flight->heartbeat_at_ns = rk_steady_ns() + flights->options.heartbeat_ns;
        rk_flight_wake_heartbeat(flights);
    }
    (void)pthread_mutex_unlock(&flights->mutex);
    if (closed)
        rk_lease_release(flights->store, lease);
    return grant(wait);
}

static bool leases_are_off(rk_flights *flights) {
    (void)pthread_mutex_lock(&flights->mutex);
    bool off = flights->closed || rk_steady_ns() < flights->no_leases_until_ns;
    (void)pthread_mutex_unlock(&flights->mutex);
    return off;
}

// Switches leases off: for good if the store cannot take any, else for `refused_for_ns`. An error
// from `writing` can mean that the whole store is full, read-only or not accessible. Then the store
// is informed, and the error goes to the caller.
static void note_refusal(rk_flights *flights, rk_flight_wait *wait, bool writing, rk_err *err) {
    bool for_good =
        rk_err_code(err) == RK_PERMISSION_DENIED || rk_err_code(err) == RK_UNIMPLEMENTED;
    rk_log_info("cannot take a lease; other processes may compile the same program: %s",
                rk_err_message(err));
    (void)pthread_mutex_lock(&flights->mutex);
    flights->no_leases_until_ns = for_good ? UINT64_MAX : rk_steady_ns() + refused_for_ns;
    (void)pthread_mutex_unlock(&flights->mutex);
    if (writing && !wait->refusal && rk_store_note_refusal(flights->store, err)) {
        wait->refusal = err;
        return;
    }
    rk_err_drop(err, "this process compiles without a lease");
}

static rk_flight_advice stop_waiting(watch *self, rk_wait_end end) {
    if (self->flights->options.wait_ns)
        self->wait->wait_end = end;
    return grant(self->wait);
}

static bool is_skipped(rk_flights *flights, const rk_process *holder) {
    (void)pthread_mutex_lock(&flights->mutex);
    bool skipped = flights->skipped.pid && rk_process_equal(&flights->skipped, holder);
    (void)pthread_mutex_unlock(&flights->mutex);
    return skipped;
}

// Records the holder, so that no later request waits for the same process.
static rk_flight_advice give_up(watch *self, const rk_lease_view *view) {
    (void)pthread_mutex_lock(&self->flights->mutex);
    self->flights->skipped = view->holder;
    (void)pthread_mutex_unlock(&self->flights->mutex);
    return stop_waiting(self, RK_WAIT_GAVE_UP);
}

// Ends this process's flight as well, so that its other threads compile at once.
static rk_flight_advice compile_without_waiting(watch *self) {
    self->wait->wait_end = RK_WAIT_NOT_KEPT;
    rk_flight_finish(self->flights, RK_TAKE(self->wait->flight), RK_FLIGHT_NOT_KEPT, 0);
    self->wait->granted = true;
    return RK_FLIGHT_COMPILE;
}

static void note_change(watch *self, const rk_lease_view *view, uint64_t now_ns) {
    if (view->identity != self->identity) {
        self->checked_ns = 0;
        self->compiled_seen_at_ns = 0;
        self->wait->waited_for[0] = '\0';
    }
    if (!self->wait->waited_for[0]) // a lease just created has no holder yet
        rk_flight_name(&view->holder, self->wait->waited_for, sizeof self->wait->waited_for);
    if (view->compiled && !self->compiled_seen_at_ns)
        self->compiled_seen_at_ns = now_ns;
    if (view->identity == self->identity && view->size_bytes == self->size_bytes)
        return;
    self->identity = view->identity;
    self->size_bytes = view->size_bytes;
    self->changed_ns = now_ns;
}

// True if the holder is dead or late, or the lease has expired. A liveness check costs more than
// reading the lease, so it runs less often.
static bool is_over(watch *self, const rk_lease_view *view, uint64_t now_ns) {
    enum { BETWEEN_CHECKS_NS = 100000000 };
    if (now_ns - self->changed_ns >= self->flights->options.late_ns)
        return true;
    if (view->state == RK_LEASE_HELD && now_ns - self->checked_ns < BETWEEN_CHECKS_NS)
        return false;
    self->checked_ns = now_ns;
    return rk_lease_is_over(view);
}

static void log_wait(watch *self, uint64_t now_ns) {
    const uint64_t log_after_ns = 10000000000u;
    if (self->logged || now_ns - self->start_ns < log_after_ns)
        return;
    self->logged = true;
    rk_log_info("waiting for process %s to compile a program",
                self->wait->waited_for[0] ? self->wait->waited_for : "unknown");
}

// Sleeps for a twentieth of the time waited so far, at least 1 ms and at most 250 ms: polling then
// prolongs a long wait by 5 % at most.
static void pause_between_looks(const watch *self, uint64_t now_ns) {
    enum { LEAST_NS = 1000000, MOST_NS = 250000000 };
    uint64_t pause_ns = (now_ns - self->start_ns) / 20;
    pause_ns = pause_ns < LEAST_NS ? LEAST_NS : pause_ns > MOST_NS ? MOST_NS : pause_ns;
    struct timespec pause = {.tv_nsec = (long)pause_ns};
    int before = PTHREAD_CANCEL_DISABLE;
    (void)pthread_setcancelstate(self->wait->cancel_state, &before);
    (void)nanosleep(&pause, NULL);
    (void)pthread_setcancelstate(before, NULL);
}

// Reads the lease once. False: the wait goes on. True: it is over, and `*out_advice` is the result.
static bool look(watch *self, rk_flight_advice *out_advice) {
    rk_flights *flights = self->flights;
    rk_flight_wait *wait = self->wait;
    rk_lease_view view;
    rk_err *err = rk_lease_read(flights->store, &wait->key->digest, &view);
    if (err) {
        note_refusal(flights, wait, false, err);
        *out_advice = stop_waiting(self, RK_WAIT_GAVE_UP);
        return true;
    }
    if (view.state == RK_LEASE_NONE) { // published or released; the caller's lookup shows which
        wait->wait_end = RK_WAIT_FINISHED;
        *out_advice = RK_FLIGHT_LOOK;
        return true;
    }
    uint64_t now_ns = rk_steady_ns();
    note_change(self, &view, now_ns);
    if (is_over(self, &view, now_ns)) {
        rk_lease lease = {0};
        err = rk_lease_take_over(flights->store, &view, &wait->key->digest, &flights->self, &lease);
        if (err)
            note_refusal(flights, wait, true, err);
        if (err || lease.identity) {
            wait->wait_end = RK_WAIT_TAKEN_OVER;
            *out_advice = lease.identity ? grant_lease(flights, wait, &lease) : grant(wait);
            return true;
        }
    } else if (view.state == RK_LEASE_NOT_KEPT) {
        *out_advice = compile_without_waiting(self);
        return true;
    }
    bool slow = self->compiled_seen_at_ns &&
                now_ns - self->compiled_seen_at_ns > rk_flight_timeout_ns(flights, view.compile_ns);
    if (slow)
        *out_advice = stop_waiting(self, RK_WAIT_SLOW);
    else if (now_ns >= wait->deadline_ns)
        *out_advice = give_up(self, &view);
    else if (is_skipped(flights, &view.holder) || leases_are_off(flights))
        *out_advice = stop_waiting(self, RK_WAIT_GAVE_UP);
    else
        return false;
    return true;
}

static rk_flight_advice wait_for_holder(rk_flights *flights, rk_flight_wait *wait) {
    uint64_t start_ns = rk_steady_ns();
    watch self = {.flights = flights, .wait = wait, .start_ns = start_ns};
    rk_flight_advice advice = RK_FLIGHT_LOOK;
    uint64_t now_ns = start_ns;
    while (!look(&self, &advice)) {
        log_wait(&self, now_ns);
        pause_between_looks(&self, now_ns);
        now_ns = rk_steady_ns();
    }
    wait->waited_ns = rk_steady_ns() - wait->asked_at_ns;
    return advice;
}

rk_flight_advice rk_flight_join(rk_flights *flights, rk_flight_wait *wait) {
    if (!wait->between_processes || leases_are_off(flights) || !rk_flight_start_heartbeat(flights))
        return grant(wait);
    rk_lease lease;
    rk_err *err = rk_lease_take(flights->store, &wait->key->digest, &flights->self, &lease);
    if (err) {
        note_refusal(flights, wait, true, err);
        return grant(wait);
    }
    if (lease.identity)
        return grant_lease(flights, wait, &lease);
    return wait_for_holder(flights, wait);
}
