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

rk_flight *rk_flight_begin(rk_flights *flights, const rk_digest *key) {
    rk_flight *flight = rk_calloc(1, sizeof *flight);
    if (!flight)
        return NULL;
    *flight = (rk_flight){.key = *key, .references = 1, .next = flights->flights};
    flights->flights = flight;
    return flight;
}

void rk_flight_drop(rk_flight *flight) {
    if (--flight->references == 0)
        rk_free(flight);
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
    rk_flight_drop(flight);
    (void)pthread_cond_broadcast(&flights->changed);
    (void)pthread_mutex_unlock(&flights->mutex);
    if (result == RK_FLIGHT_NOT_KEPT)
        rk_lease_release_not_kept(flights->store, &lease, &flights->self, not_kept_ns);
    else
        rk_lease_release(flights->store, &lease);
}
