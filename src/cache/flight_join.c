// Between processes: the lease, and waiting for another's.
#include <time.h>

#include "base/log.h"
#include "base/thread.h"
#include "cache/flight_internal.h"

static const uint64_t refused_for_ns = 30000000000u; // then leases are tried again

// One wait for another process's lease.
typedef struct watch {
    rk_flights *flights;
    rk_flight_wait *ticket;
    uint64_t start_ns;
    uint64_t identity;            // the lease that was seen last
    size_t size_bytes;            // how long it was then
    uint64_t changed_ns;          // when that was new
    uint64_t judged_ns;           // when its holder was last asked for
    uint64_t compiled_seen_at_ns; // when it was first seen to be compiled; 0: it was not
    bool told;
} watch;

// Compile now: but look once more, for it may have been published since the last look.
static rk_flight_advice grant(rk_flight_wait *ticket) {
    ticket->granted = true;
    return RK_FLIGHT_LOOK;
}

static rk_flight_advice grant_lease(rk_flights *flights, rk_flight_wait *ticket, rk_lease *lease) {
    (void)pthread_mutex_lock(&flights->mutex);
    bool closed = flights->closed;
    if (!closed) {
        ticket->flight->lease = *lease;
        ticket->flight->beat_at_ns = rk_steady_ns() + flights->options.beat_ns;
        rk_flight_wake_heartbeat(flights);
    }
    (void)pthread_mutex_unlock(&flights->mutex);
    if (closed)
        rk_lease_release(flights->store, lease);
    return grant(ticket);
}

static bool leases_are_off(rk_flights *flights) {
    (void)pthread_mutex_lock(&flights->mutex);
    bool off = flights->closed || rk_steady_ns() < flights->no_leases_until_ns;
    (void)pthread_mutex_unlock(&flights->mutex);
    return off;
}

// A store that refuses is not asked again; one that fails, later. Who was `writing` speaks for the
// whole store where that is full, read-only or closed to us.
static void note_refusal(rk_flights *flights, rk_flight_wait *ticket, bool writing, rk_err *err) {
    bool for_good =
        rk_err_code(err) == RK_PERMISSION_DENIED || rk_err_code(err) == RK_UNIMPLEMENTED;
    rk_log_info("no lease was taken, so other processes may compile the same: %s",
                rk_err_message(err));
    (void)pthread_mutex_lock(&flights->mutex);
    flights->no_leases_until_ns = for_good ? UINT64_MAX : rk_steady_ns() + refused_for_ns;
    (void)pthread_mutex_unlock(&flights->mutex);
    if (writing && !ticket->refusal && rk_store_note_refusal(flights->store, err)) {
        ticket->refusal = err;
        return;
    }
    rk_err_drop(err, "then this process compiles for itself");
}

static rk_flight_advice stop_waiting(watch *self, rk_wait_end end) {
    if (self->flights->options.wait_ns)
        self->ticket->wait_end = end;
    return grant(self->ticket);
}

static bool is_shunned(rk_flights *flights, const rk_process *holder) {
    (void)pthread_mutex_lock(&flights->mutex);
    bool shunned = flights->shunned.pid && rk_process_equal(&flights->shunned, holder);
    (void)pthread_mutex_unlock(&flights->mutex);
    return shunned;
}

// Nobody waits a whole deadline for the same process again.
static rk_flight_advice give_up(watch *self, const rk_lease_view *view) {
    (void)pthread_mutex_lock(&self->flights->mutex);
    self->flights->shunned = view->holder;
    (void)pthread_mutex_unlock(&self->flights->mutex);
    return stop_waiting(self, RK_WAIT_GAVE_UP);
}

// Everybody compiles at once, the threads of this process too.
static rk_flight_advice compile_without_waiting(watch *self) {
    self->ticket->wait_end = RK_WAIT_NOT_KEPT;
    rk_flight_finish(self->flights, RK_TAKE(self->ticket->flight), RK_FLIGHT_NOT_KEPT, 0);
    self->ticket->granted = true;
    return RK_FLIGHT_COMPILE;
}

static void note_change(watch *self, const rk_lease_view *view, uint64_t now_ns) {
    if (view->identity != self->identity) {
        self->judged_ns = 0;
        self->compiled_seen_at_ns = 0;
        rk_flight_name(&view->holder, self->ticket->waited_for, sizeof self->ticket->waited_for);
    }
    if (view->compiled && !self->compiled_seen_at_ns)
        self->compiled_seen_at_ns = now_ns;
    if (view->identity == self->identity && view->size_bytes == self->size_bytes)
        return;
    self->identity = view->identity;
    self->size_bytes = view->size_bytes;
    self->changed_ns = now_ns;
}

// Dead, expired or late. Asking whether a process lives costs more than a look at its lease.
static bool no_longer_counts(watch *self, const rk_lease_view *view, uint64_t now_ns) {
    enum { BETWEEN_JUDGEMENTS_NS = 100000000 };
    if (now_ns - self->changed_ns >= self->flights->options.late_ns)
        return true;
    if (view->state == RK_LEASE_HELD && now_ns - self->judged_ns < BETWEEN_JUDGEMENTS_NS)
        return false;
    self->judged_ns = now_ns;
    return rk_lease_is_over(view);
}

static void tell(watch *self, uint64_t now_ns) {
    const uint64_t worth_telling_ns = 10000000000u;
    if (self->told || now_ns - self->start_ns < worth_telling_ns)
        return;
    self->told = true;
    rk_log_info("waiting for process %s to compile a program",
                self->ticket->waited_for[0] ? self->ticket->waited_for : "unknown");
}

// A twentieth of what was waited already: a wait is prolonged by 5 % at most.
static void pause_between_looks(const watch *self, uint64_t now_ns) {
    enum { LEAST_NS = 1000000, MOST_NS = 250000000 };
    uint64_t pause_ns = (now_ns - self->start_ns) / 20;
    pause_ns = pause_ns < LEAST_NS ? LEAST_NS : pause_ns > MOST_NS ? MOST_NS : pause_ns;
    struct timespec pause = {.tv_nsec = (long)pause_ns};
    int before = PTHREAD_CANCEL_DISABLE;
    (void)pthread_setcancelstate(self->ticket->cancel_state, &before);
    (void)nanosleep(&pause, NULL);
    (void)pthread_setcancelstate(before, NULL);
}

// One look at the lease. False: go on waiting; true: `*out_advice` says what to do.
static bool look(watch *self, rk_flight_advice *out_advice) {
    rk_flights *flights = self->flights;
    rk_flight_wait *ticket = self->ticket;
    rk_lease_view view;
    rk_err *err = rk_lease_read(flights->store, &ticket->key->digest, &view);
    if (err) {
        note_refusal(flights, ticket, false, err);
        *out_advice = stop_waiting(self, RK_WAIT_GAVE_UP);
        return true;
    }
    if (view.state == RK_LEASE_NONE) { // published, or given back: the caller finds out
        ticket->wait_end = RK_WAIT_FINISHED;
        *out_advice = RK_FLIGHT_LOOK;
        return true;
    }
    uint64_t now_ns = rk_steady_ns();
    note_change(self, &view, now_ns);
    if (no_longer_counts(self, &view, now_ns)) {
        rk_lease lease = {0};
        err =
            rk_lease_take_over(flights->store, &view, &ticket->key->digest, &flights->self, &lease);
        if (err)
            note_refusal(flights, ticket, true, err);
        if (err || lease.identity) {
            ticket->wait_end = RK_WAIT_TAKEN_OVER;
            *out_advice = lease.identity ? grant_lease(flights, ticket, &lease) : grant(ticket);
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
    else if (now_ns >= ticket->deadline_ns)
        *out_advice = give_up(self, &view);
    else if (is_shunned(flights, &view.holder) || leases_are_off(flights))
        *out_advice = stop_waiting(self, RK_WAIT_GAVE_UP);
    else
        return false;
    return true;
}

static rk_flight_advice wait_for_holder(rk_flights *flights, rk_flight_wait *ticket) {
    uint64_t start_ns = rk_steady_ns();
    watch self = {.flights = flights, .ticket = ticket, .start_ns = start_ns};
    rk_flight_advice advice = RK_FLIGHT_LOOK;
    uint64_t now_ns = start_ns;
    while (!look(&self, &advice)) {
        tell(&self, now_ns);
        pause_between_looks(&self, now_ns);
        now_ns = rk_steady_ns();
    }
    ticket->waited_ns = rk_steady_ns() - ticket->asked_at_ns;
    return advice;
}

rk_flight_advice rk_flight_join(rk_flights *flights, rk_flight_wait *ticket) {
    if (!ticket->between_processes || leases_are_off(flights) ||
        !rk_flight_start_heartbeat(flights))
        return grant(ticket);
    rk_lease lease;
    rk_err *err = rk_lease_take(flights->store, &ticket->key->digest, &flights->self, &lease);
    if (err) {
        note_refusal(flights, ticket, true, err);
        return grant(ticket);
    }
    if (lease.identity)
        return grant_lease(flights, ticket, &lease);
    return wait_for_holder(flights, ticket);
}
