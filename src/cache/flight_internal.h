// Types and functions shared by flight*.c. Inside src/cache only.
#pragma once

#include <pthread.h>

#include "cache/flight.h"
#include "store/lease.h"

struct rk_flight {
    rk_digest key;
    unsigned references; // one for the compiling thread, one for each waiting thread
    bool finished;
    rk_flight_result result; // once finished
    bool compiled;
    uint64_t compiled_at_ns, compile_ns; // once compiled
    rk_lease lease;                      // identity 0: none
    bool noted;                          // the lease says that compilation is done
    uint64_t heartbeat_at_ns;            // when the next heartbeat is due
    struct rk_flight *next;
};

struct rk_flights {
    rk_store *store; // borrowed
    rk_flights_options options;
    rk_process self;
    char self_name[RK_PROCESS_HOST_MAX_CHARS + 16];

    pthread_mutex_t mutex;  // guards all members below, and the flights
    pthread_cond_t changed; // a flight is finished or compiled
    rk_flight *flights;     // not finished yet
    bool closed;
    uint64_t no_leases_until_ns; // the store refused a lease; none is taken before this time
    rk_process skipped; // a wait for this process reached the deadline, so no further request
                        // waits; pid 0: none

    pthread_t heartbeat_thread;
    pthread_cond_t heartbeat_wakes;
    bool heartbeat_runs, heartbeat_idles, heartbeat_stops;
};

// Begins a flight with one reference, for the compiling thread. NULL if memory is short. Called
// with the mutex held.
RK_HIDDEN rk_flight *rk_flight_begin(rk_flights *flights, const rk_digest *key);

// Drops a reference, and frees the flight after the last one. Called with the mutex held.
RK_HIDDEN void rk_flight_drop(rk_flight *flight);

// Takes the lease of the key, or waits for its holder.
RK_HIDDEN rk_flight_advice rk_flight_join(rk_flights *flights, rk_flight_wait *wait);

// Timeout for publishing an executable whose compilation took `compile_ns`.
RK_HIDDEN uint64_t rk_flight_timeout_ns(const rk_flights *flights, uint64_t compile_ns);

// Starts the heartbeat thread if it does not run yet. False: it cannot be started.
RK_HIDDEN bool rk_flight_start_heartbeat(rk_flights *flights);

// Wakes the heartbeat thread for a new lease. Called with the mutex held.
RK_HIDDEN void rk_flight_wake_heartbeat(rk_flights *flights);

// Ends the heartbeat thread, if it runs.
RK_HIDDEN void rk_flight_stop_heartbeat(rk_flights *flights);

// "host/pid" of a process; "" if unknown.
RK_HIDDEN void rk_flight_name(const rk_process *process, char *out_name, size_t size);
