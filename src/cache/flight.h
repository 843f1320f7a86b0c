// Single flight: of several requests for one executable, one compiles it. The others wait and then
// load the published result. Covers threads of one process, and processes that share a store.
//
// After a failed lookup, a request calls rk_flights_ask in a loop until it returns
// RK_FLIGHT_COMPILE or the lookup succeeds:
//
//     rk_flight_wait wait = {.key = &key, .between_processes = true};
//     while (!hit && rk_flights_ask(flights, &wait) == RK_FLIGHT_LOOK)
//         hit = look_up();
//     if (!hit)
//         compile();
//     if (wait.flight) // others may be waiting
//         rk_flight_finish(flights, RK_TAKE(wait.flight), …);
//
// Every wait ends at a deadline. Correctness does not depend on single flight: any failure leads at
// worst to a second compilation. Processes coordinate by leases (store/lease.h). A lease is taken
// over at once if its process is dead, and after `late_ns` if the process gives no heartbeat.
#pragma once

#include "base/process.h"
#include "store/store.h"

typedef struct rk_flights rk_flights; // one per process; thread-safe
typedef struct rk_flight rk_flight;   // one executable that this process compiles

typedef struct rk_flights_options {
    uint64_t wait_ns;      // maximum total wait of one request; 0: no waiting
    uint64_t heartbeat_ns; // heartbeat interval of this process's leases
    uint64_t late_ns;      // a lease without a heartbeat for this long is taken over
    uint64_t publish_ns;   // timeout for publishing; twice the compile time if that is longer
} rk_flights_options;

#define RK_FLIGHTS_BEAT_NS    ((uint64_t)5000000000)
#define RK_FLIGHTS_LATE_NS    ((uint64_t)30000000000)
#define RK_FLIGHTS_PUBLISH_NS ((uint64_t)3000000000)

// Makes the flights of this process. `store` must outlive them. The heartbeat thread starts with
// the first request that needs a lease. Owned: rk_flights_free, after the last flight is finished.
RK_NODISCARD rk_err *rk_flights_new(rk_store *store, const rk_flights_options *options,
                                    rk_flights **out_flights);
void rk_flights_free(rk_flights *flights); // NULL is fine

// Called when the process ends: releases all leases and takes no more.
void rk_flights_close(rk_flights *flights);

typedef enum rk_flight_advice {
    RK_FLIGHT_LOOK,    // look the key up; on a miss, call rk_flights_ask again
    RK_FLIGHT_COMPILE, // compile
} rk_flight_advice;

// How the last wait ended. The names go into the journal.
typedef enum rk_wait_end {
    RK_WAIT_NONE,       // the request did not wait
    RK_WAIT_FINISHED,   // the other request finished: it published the result, or has none
    RK_WAIT_NOT_KEPT,   // the other request found that the executable cannot be kept
    RK_WAIT_TAKEN_OVER, // the other process is dead or silent
    RK_WAIT_SLOW,       // compiled, but publishing took too long
    // The deadline passed; or an earlier wait for the same process reached its deadline; or leases
    // do not work.
    RK_WAIT_GAVE_UP,
} rk_wait_end;
const char *rk_wait_end_name(rk_wait_end end); // "landed", …; static

// The wait state of one request.
typedef struct rk_flight_wait {
    const rk_key *key;      // borrowed
    bool between_processes; // false: coordinates threads of this process only
    bool asked, granted;    // internal
    int cancel_state;       // cancel state during a wait, as for pthread_setcancelstate

    rk_flight *flight;  // the caller must finish it, even without compiling; NULL: none
    uint64_t waited_ns; // from the first rk_flights_ask to the end of the last wait; 0: no wait
    rk_wait_end wait_end;
    char waited_for[RK_PROCESS_HOST_MAX_CHARS + 16]; // "host/pid"; "" if unknown

    // Set if taking a lease showed that the store refuses all writes (full, read-only). The store
    // would refuse the executable too. Owned by the caller, who reports it. NULL: no refusal.
    rk_err *refusal;

    uint64_t asked_at_ns, deadline_ns; // internal
} rk_flight_wait;

// Returns what the request does next. May block until the deadline. If the thread is cancelled
// while it waits, it holds no lock afterwards; `wait->flight` must still be finished.
rk_flight_advice rk_flights_ask(rk_flights *flights, rk_flight_wait *wait);

// Reports that compilation is done. From now on, others wait only for publishing.
void rk_flight_compiled(rk_flights *flights, rk_flight *flight, uint64_t compile_ns);

typedef enum rk_flight_result {
    RK_FLIGHT_PUBLISHED, // the executable can be loaded
    RK_FLIGHT_NOT_KEPT,  // it cannot be kept: all waiting requests compile at once
    RK_FLIGHT_ABANDONED, // no result: another request must try
} rk_flight_result;

// Ends a flight; consumes it. `not_kept_ns` is used only with RK_FLIGHT_NOT_KEPT: during this time,
// other processes compile this key without waiting.
void rk_flight_finish(rk_flights *flights, rk_flight *flight, rk_flight_result result,
                      uint64_t not_kept_ns);
