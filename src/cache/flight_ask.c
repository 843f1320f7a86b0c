// Single flight between threads: begins a flight, or waits for the thread that compiles the key.
#include <stdio.h>

#include "base/thread.h"
#include "cache/flight_internal.h"

static rk_flight *find(const rk_flights *flights, const rk_digest *key) {
    for (rk_flight *flight = flights->flights; flight; flight = flight->next)
        if (rk_digest_equal(&flight->key, key))
            return flight;
    return NULL;
}

typedef struct waiter {
    rk_flights *flights;
    rk_flight *flight;
} waiter;

// Drops the waiter's reference and unlocks the mutex. Called at the end of a wait, and as the
// cleanup handler of a cancelled one. The mutex is held in both cases.
static void leave(void *argument) {
    const waiter *self = argument;
    rk_flight_drop(self->flight);
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
        wait->flight = rk_flight_begin(flights, &wait->key->digest);
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
