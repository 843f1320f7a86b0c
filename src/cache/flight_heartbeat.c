// The thread that gives signs of life for the leases of this process.
#include "base/thread.h"
#include "cache/flight_internal.h"

static bool has_lease(const rk_flight *flight) {
    return flight->lease.identity != 0;
}

static rk_flight *find_lease(const rk_flights *flights, const rk_lease *lease) {
    rk_flight *flight = flights->flights;
    while (flight && flight->lease.identity != lease->identity)
        flight = flight->next;
    return flight;
}

// The lease whose next sign of life comes first; NULL if there is none.
static rk_flight *find_next(const rk_flights *flights) {
    rk_flight *next = NULL;
    for (rk_flight *flight = flights->flights; flight; flight = flight->next)
        if (has_lease(flight) && (!next || flight->beat_at_ns < next->beat_at_ns))
            next = flight;
    return next;
}

// Called with the mutex held, which is let go of while the file system is asked.
static void beat(rk_flights *flights, rk_flight *flight) {
    rk_lease lease = flight->lease;
    uint64_t compile_ns = flight->compile_ns;
    bool note = flight->compiled && !flight->noted;
    flight->noted = flight->compiled;
    flight->beat_at_ns = rk_steady_ns() + flights->options.beat_ns;
    (void)pthread_mutex_unlock(&flights->mutex);
    if (note)
        rk_lease_note_compiled(flights->store, &lease, compile_ns);
    bool ours = rk_lease_beat(flights->store, &lease);
    (void)pthread_mutex_lock(&flights->mutex);
    rk_flight *lost = ours ? NULL : find_lease(flights, &lease);
    if (lost)
        lost->lease.identity = 0;
}

static void *keep(void *argument) {
    rk_flights *flights = argument;
    rk_err_drop(rk_lease_sweep(flights->store, NULL), "the next process sweeps again");
    (void)pthread_mutex_lock(&flights->mutex);
    bool quiet = false; // there was nothing to do for a whole beat
    while (!flights->keeper_stops) {
        rk_flight *next = find_next(flights);
        uint64_t now_ns = rk_steady_ns();
        if (!next && quiet) {
            flights->keeper_idles = true;
            (void)pthread_cond_wait(&flights->keeper_wakes, &flights->mutex);
            flights->keeper_idles = false;
            quiet = false;
            continue;
        }
        if (next && next->beat_at_ns <= now_ns)
            beat(flights, next);
        else // a job that compiles one program after the other need not wake it every time
            (void)rk_cond_wait_until(&flights->keeper_wakes, &flights->mutex,
                                     next ? next->beat_at_ns : now_ns + flights->options.beat_ns);
        quiet = !next;
    }
    (void)pthread_mutex_unlock(&flights->mutex);
    return NULL;
}

bool rk_flight_start_heartbeat(rk_flights *flights) {
    (void)pthread_mutex_lock(&flights->mutex);
    if (!flights->keeper_runs)
        flights->keeper_runs = rk_thread_start(keep, flights, &flights->keeper) == 0;
    bool runs = flights->keeper_runs;
    (void)pthread_mutex_unlock(&flights->mutex);
    return runs;
}

void rk_flight_wake_heartbeat(rk_flights *flights) {
    if (flights->keeper_idles)
        (void)pthread_cond_signal(&flights->keeper_wakes);
}

void rk_flight_stop_heartbeat(rk_flights *flights) {
    (void)pthread_mutex_lock(&flights->mutex);
    flights->keeper_stops = true;
    (void)pthread_cond_signal(&flights->keeper_wakes);
    (void)pthread_mutex_unlock(&flights->mutex);
    if (flights->keeper_runs)
        (void)pthread_join(flights->keeper, NULL);
}
