// The heartbeat thread: renews the leases of this process, so that other processes keep waiting.
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

// The flight whose heartbeat is due first; NULL if no flight has a lease.
static rk_flight *find_next(const rk_flights *flights) {
    rk_flight *next = NULL;
    for (rk_flight *flight = flights->flights; flight; flight = flight->next)
        if (has_lease(flight) && (!next || flight->heartbeat_at_ns < next->heartbeat_at_ns))
            next = flight;
    return next;
}

// Called with the mutex held; unlocks it during file system calls. If another process has taken the
// lease over, the flight loses it.
static void send_heartbeat(rk_flights *flights, rk_flight *flight) {
    rk_lease lease = flight->lease;
    uint64_t compile_ns = flight->compile_ns;
    bool note = flight->compiled && !flight->noted;
    flight->noted = flight->compiled;
    flight->heartbeat_at_ns = rk_steady_ns() + flights->options.heartbeat_ns;
    (void)pthread_mutex_unlock(&flights->mutex);
    if (note)
        rk_lease_note_compiled(flights->store, &lease, compile_ns);
    bool ours = rk_lease_beat(flights->store, &lease);
    (void)pthread_mutex_lock(&flights->mutex);
    rk_flight *lost = ours ? NULL : find_lease(flights, &lease);
    if (lost)
        lost->lease.identity = 0;
}

static void *run_heartbeat(void *argument) {
    rk_flights *flights = argument;
    rk_err_drop(rk_lease_sweep(flights->store, NULL), "the next process sweeps again");
    (void)pthread_mutex_lock(&flights->mutex);
    bool quiet = false; // there was no lease for a whole interval
    while (!flights->heartbeat_stops) {
        rk_flight *next = find_next(flights);
        uint64_t now_ns = rk_steady_ns();
        if (!next && quiet) {
            flights->heartbeat_idles = true;
            (void)pthread_cond_wait(&flights->heartbeat_wakes, &flights->mutex);
            flights->heartbeat_idles = false;
            quiet = false;
            continue;
        }
        // Without a lease, the thread first sleeps for one interval and becomes idle only after
        // that. Short gaps between compilations then need no signal.
        if (next && next->heartbeat_at_ns <= now_ns)
            send_heartbeat(flights, next);
        else
            (void)rk_cond_wait_until(&flights->heartbeat_wakes, &flights->mutex,
                                     next ? next->heartbeat_at_ns
                                          : now_ns + flights->options.heartbeat_ns);
        quiet = !next;
    }
    (void)pthread_mutex_unlock(&flights->mutex);
    return NULL;
}

bool rk_flight_start_heartbeat(rk_flights *flights) {
    (void)pthread_mutex_lock(&flights->mutex);
    if (!flights->heartbeat_runs)
        flights->heartbeat_runs =
            rk_thread_start(run_heartbeat, flights, &flights->heartbeat_thread) == 0;
    bool runs = flights->heartbeat_runs;
    (void)pthread_mutex_unlock(&flights->mutex);
    return runs;
}

void rk_flight_wake_heartbeat(rk_flights *flights) {
    if (flights->heartbeat_idles)
        (void)pthread_cond_signal(&flights->heartbeat_wakes);
}

void rk_flight_stop_heartbeat(rk_flights *flights) {
    (void)pthread_mutex_lock(&flights->mutex);
    flights->heartbeat_stops = true;
    (void)pthread_cond_signal(&flights->heartbeat_wakes);
    (void)pthread_mutex_unlock(&flights->mutex);
    if (flights->heartbeat_runs)
        (void)pthread_join(flights->heartbeat_thread, NULL);
}
