#include "cache/flight.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "cache/flight_internal.h"

const char *rk_wait_end_name(rk_wait_end end) {
    static const char *const names[] = {
        [RK_WAIT_NONE] = "none",
        [RK_WAIT_FINISHED] = "landed",
        [RK_WAIT_NOT_KEPT] = "not_kept",
        [RK_WAIT_TAKEN_OVER] = "taken_over",
        [RK_WAIT_SLOW] = "slow_to_publish",
        [RK_WAIT_GAVE_UP] = "gave_up",
    };
    return names[end];
}

void rk_flight_name(const rk_process *process, char *out_name, size_t size) {
    out_name[0] = '\0';
    if (process->pid > 0)
        (void)snprintf(out_name, size, "%s/%ld", process->host, (long)process->pid);
}

rk_err *rk_flights_new(rk_store *store, const rk_flights_options *options,
                       rk_flights **out_flights) {
    rk_flights *flights = rk_calloc(1, sizeof *flights);
    if (!flights)
        return rk_err_no_memory();
    flights->store = store;
    flights->options = *options;
    rk_process_self(&flights->self);
    rk_flight_name(&flights->self, flights->self_name, sizeof flights->self_name);
    (void)pthread_mutex_init(&flights->mutex, NULL);
    rk_cond_init(&flights->changed);
    rk_cond_init(&flights->heartbeat_wakes);
    *out_flights = flights;
    return NULL;
}

void rk_flights_free(rk_flights *flights) {
    if (!flights)
        return;
    rk_flight_stop_heartbeat(flights);
    (void)pthread_cond_destroy(&flights->heartbeat_wakes);
    (void)pthread_cond_destroy(&flights->changed);
    (void)pthread_mutex_destroy(&flights->mutex);
    rk_free(flights);
}

void rk_flights_close(rk_flights *flights) {
    (void)pthread_mutex_lock(&flights->mutex);
    flights->closed = true;
    for (;;) {
        rk_flight *flight = flights->flights;
        while (flight && !flight->lease.identity)
            flight = flight->next;
        if (!flight)
            break;
        rk_lease lease = flight->lease;
        flight->lease.identity = 0;
        (void)pthread_mutex_unlock(&flights->mutex);
        rk_lease_release(flights->store, &lease);
        (void)pthread_mutex_lock(&flights->mutex);
    }
    (void)pthread_mutex_unlock(&flights->mutex);
}

uint64_t rk_flight_timeout_ns(const rk_flights *flights, uint64_t compile_ns) {
    uint64_t twice_ns = 2 * compile_ns;
    return twice_ns > flights->options.publish_ns ? twice_ns : flights->options.publish_ns;
}

static rk_flight *find(const rk_flights *flights, const rk_digest *key) {
    for (rk_flight *flight = flights->flights; flight; flight = flight->next)
        if (rk_digest_equal(&flight->key, key))
            return flight;
    return NULL;
}

// Called with the mutex held.
static void drop_reference(rk_flight *flight) {
    if (--flight->references == 0)
        rk_free(flight);
}

typedef struct waiter {
    rk_flights *flights;
    rk_flight *flight;
} waiter;

// Drops the waiter's reference and unlocks the mutex. Called at the end of a wait, and as the
// cleanup handler of a cancelled one. The mutex is held in both cases.
static void leave(void *argument) {
    const waiter *self = argument;
    drop_reference(self->flight);
    (void)pthread_mutex_unlock(&self->flights->mutex);
}

static bool wait_once(const rk_flight_wait *wait, const waiter *self) {
    const rk_flight *flight = self->flight;
    uint64_t until_ns = wait->deadline_ns;
    if (flight->compiled) {
        uint64_t late_ns =
            flight->compiled_at_ns + rk_flight_timeout_ns(self->flights, flight->compile_ns);
        until_ns = late_ns < until_ns ? late_ns : until_ns;
    }
    return rk_cond_wait_until(&self->flights->changed, &self->flights->mutex, until_ns);
}

// Waits for the flight of another thread. Called with the mutex held; unlocks it.
static rk_flight_advice wait_for_thread(rk_flight_wait *wait, waiter *self) {
    rk_flight *flight = self->flight;
    flight->references++;
    int before = PTHREAD_CANCEL_DISABLE;
    pthread_cleanup_push(leave, self);
    (void)pthread_setcancelstate(wait->cancel_state, &before);
    while (!flight->finished && wait_once(wait, self))
        continue;
    (void)pthread_setcancelstate(before, NULL);
    pthread_cleanup_pop(0);
    bool finished = flight->finished;
    rk_flight_result result = flight->result;
    (void)snprintf(wait->waited_for, sizeof wait->waited_for, "%s", self->flights->self_name);
    leave(self);

    uint64_t now_ns = rk_steady_ns();
    wait->waited_ns = now_ns - wait->asked_at_ns;
    if (finished && result == RK_FLIGHT_NOT_KEPT)
        wait->wait_end = RK_WAIT_NOT_KEPT;
    else if (finished)
        wait->wait_end = RK_WAIT_FINISHED;
    else
        wait->wait_end = now_ns >= wait->deadline_ns ? RK_WAIT_GAVE_UP : RK_WAIT_SLOW;
    return wait->wait_end == RK_WAIT_FINISHED ? RK_FLIGHT_LOOK : RK_FLIGHT_COMPILE;
}

// Waits for the thread of this process that compiles the key; if there is none, begins a flight.
static rk_flight_advice join_in_process(rk_flights *flights, rk_flight_wait *wait) {
    (void)pthread_mutex_lock(&flights->mutex);
    rk_flight *flight = find(flights, &wait->key->digest);
    if (flight && flights->options.wait_ns) {
        waiter self = {flights, flight};
        return wait_for_thread(wait, &self);
    }
    if (!flight)
        wait->flight = rk_calloc(1, sizeof *wait->flight);
    if (wait->flight) {
        *wait->flight =
            (rk_flight){.key = wait->key->digest, .references = 1, .next = flights->flights};
        flights->flights = wait->flight;
    }
    (void)pthread_mutex_unlock(&flights->mutex);
    return RK_FLIGHT_COMPILE;
}

rk_flight_advice rk_flights_ask(rk_flights *flights, rk_flight_wait *wait) {
    if (!wait->asked) {
        wait->asked = true;
        wait->asked_at_ns = rk_steady_ns();
        wait->deadline_ns = wait->asked_at_ns + flights->options.wait_ns;
    }
    if (wait->granted)
        return RK_FLIGHT_COMPILE;
    // First the threads of this process; the one that gets the flight coordinates with other
    // processes.
    if (!wait->flight) {
        rk_flight_advice advice = join_in_process(flights, wait);
        if (!wait->flight)
            return advice;
    }
    return rk_flight_join(flights, wait);
}

void rk_flight_compiled(rk_flights *flights, rk_flight *flight, uint64_t compile_ns) {
    (void)pthread_mutex_lock(&flights->mutex);
    flight->compiled = true;
    flight->compile_ns = compile_ns;
    flight->compiled_at_ns = rk_steady_ns();
    (void)pthread_cond_broadcast(&flights->changed);
    (void)pthread_mutex_unlock(&flights->mutex);
}

void rk_flight_finish(rk_flights *flights, rk_flight *flight, rk_flight_result result,
                      uint64_t not_kept_ns) {
    (void)pthread_mutex_lock(&flights->mutex);
    rk_flight **link = &flights->flights;
    while (*link != flight)
        link = &(*link)->next;
    *link = flight->next;
    flight->finished = true;
    flight->result = result;
    rk_lease lease = flight->lease;
    drop_reference(flight);
    (void)pthread_cond_broadcast(&flights->changed);
    (void)pthread_mutex_unlock(&flights->mutex);
    if (result == RK_FLIGHT_NOT_KEPT)
        rk_lease_release_not_kept(flights->store, &lease, &flights->self, not_kept_ns);
    else
        rk_lease_release(flights->store, &lease);
}
