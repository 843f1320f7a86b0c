// What flight*.c share. Inside src/cache only.
#pragma once

#include <pthread.h>

#include "cache/flight.h"
#include "store/lease.h"

struct rk_flight {
    rk_digest key;
    unsigned references; // the lander's, and one a waiter
    bool landed;
    rk_flight_result landing; // once landed
    bool compiled;
    uint64_t compiled_at_ns, compile_ns; // once compiled
    rk_lease lease;                      // identity 0: none
    bool noted;                          // the lease says that it is compiled
    uint64_t beat_at_ns;                 // the next sign of life
    struct rk_flight *next;
};

struct rk_flights {
    rk_store *store; // borrowed
    rk_flights_options options;
    rk_process self;
    char self_name[RK_PROCESS_HOST_MAX_CHARS + 16];

    pthread_mutex_t mutex;  // for all below, and for the flights
    pthread_cond_t changed; // a flight has landed or was compiled
    rk_flight *flights;     // not landed yet
    bool closed;
    uint64_t no_leases_until_ns; // the store refused one
    rk_process shunned;          // waited for in vain; pid 0: nobody

    pthread_t keeper; // gives signs of life
    pthread_cond_t keeper_wakes;
    bool keeper_runs, keeper_idles, keeper_stops;
};

// For the one who compiles: takes the lease, or waits for whoever has it.
RK_HIDDEN rk_flight_advice rk_flight_join(rk_flights *flights, rk_flight_wait *ticket);

// Compiling took that long: how long to wait for the publishing.
RK_HIDDEN uint64_t rk_flight_timeout_ns(const rk_flights *flights, uint64_t compile_ns);

// True if the keeper runs, or could be started.
RK_HIDDEN bool rk_flight_start_heartbeat(rk_flights *flights);

// Tells the keeper about a new lease. Called with the mutex held.
RK_HIDDEN void rk_flight_wake_heartbeat(rk_flights *flights);

// Ends the keeper, if it runs.
RK_HIDDEN void rk_flight_stop_heartbeat(rk_flights *flights);

// "host/pid" of a process; "" where it is not known.
RK_HIDDEN void rk_flight_name(const rk_process *process, char *out_name, size_t size);
