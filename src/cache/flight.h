// Single flight: of all who want one executable, one compiles it, and the others wait and load what
// it published; threads of a process, and processes that share a store.
//
// A request that found nothing asks rk_flights_ask, which may block, again and again until it says
// what to do:
//
//     rk_flight_wait ticket = {.key = &key, .between_processes = true};
//     while (!hit && rk_flights_ask(flights, &ticket) == RK_FLIGHT_LOOK)
//         hit = look_up();
//     if (!hit)
//         compile();
//     if (ticket.flight) // others may be waiting
//         rk_flight_finish(flights, RK_TAKE(ticket.flight), …);
//
// It never keeps anybody from compiling for ever, and correctness does not rest on it: whatever
// fails, the worst is a second compilation. Between processes there are leases (store/lease.h): the
// dead are replaced at once, the silent when late.
#pragma once

#include "base/process.h"
#include "store/store.h"

typedef struct rk_flights rk_flights; // of one process; thread-safe
typedef struct rk_flight rk_flight;   // one executable that is being made here

typedef struct rk_flights_options {
    uint64_t wait_ns;    // how long one request waits for others in all; 0: not at all
    uint64_t beat_ns;    // between the signs of life that this process gives
    uint64_t late_ns;    // after so long without one another process counts as gone
    uint64_t publish_ns; // what publishing may take; more where compiling took more than half of it
} rk_flights_options;

#define RK_FLIGHTS_BEAT_NS    ((uint64_t)5000000000)
#define RK_FLIGHTS_LATE_NS    ((uint64_t)30000000000)
#define RK_FLIGHTS_PUBLISH_NS ((uint64_t)3000000000)

// `store` must outlive it. A thread that gives signs of life starts with the first lease. Owned:
// rk_flights_free, when no flight is left.
RK_NODISCARD rk_err *rk_flights_new(rk_store *store, const rk_flights_options *options,
                                    rk_flights **out_flights);
void rk_flights_free(rk_flights *flights); // NULL is fine

// The process ends: gives all leases back and takes no more.
void rk_flights_close(rk_flights *flights);

typedef enum rk_flight_advice {
    RK_FLIGHT_LOOK,    // look the key up; if it is not there, ask again
    RK_FLIGHT_COMPILE, // compile it
} rk_flight_advice;

// How the last wait ended. The names go into the journal.
typedef enum rk_wait_end {
    RK_WAIT_NONE,       // there was none
    RK_WAIT_FINISHED,   // the other one is done
    RK_WAIT_NOT_KEPT,   // the other one found that it cannot be kept
    RK_WAIT_TAKEN_OVER, // the other one is dead or silent
    RK_WAIT_SLOW,       // it was compiled, and publishing took too long
    RK_WAIT_GAVE_UP,    // the time to wait was over
} rk_wait_end;
const char *rk_wait_end_name(rk_wait_end end); // "landed", …; static

// One request's part in it.
typedef struct rk_flight_wait {
    const rk_key *key;      // borrowed
    bool between_processes; // else threads of this process only
    bool asked, granted;    // inside
    int cancel_state;       // as for pthread_setcancelstate: what holds while it waits

    rk_flight *flight;  // to be landed by whoever asked, also if it compiles nothing; NULL: none
    uint64_t waited_ns; // from the first question to the end of the last wait; 0: there was none
    rk_wait_end wait_end;
    char waited_for[RK_PROCESS_HOST_MAX_CHARS + 16]; // "host/pid"; "" if it is not known

    // The store refused a lease as a whole (full, read-only) and so will refuse the executable;
    // owned by whoever asked, who tells it. NULL otherwise.
    rk_err *refusal;

    uint64_t asked_at_ns, deadline_ns; // inside
} rk_flight_wait;

// May block until the deadline; a cancelled thread leaves it with all locks free, and its flight
// still to be landed.
rk_flight_advice rk_flights_ask(rk_flights *flights, rk_flight_wait *ticket);

// Compiled: from here on the others wait for the publishing only.
void rk_flight_compiled(rk_flights *flights, rk_flight *flight, uint64_t compile_ns);

typedef enum rk_flight_result {
    RK_FLIGHT_PUBLISHED, // it can be loaded
    RK_FLIGHT_NOT_KEPT,  // it cannot be kept: everybody compiles, at once
    RK_FLIGHT_ABANDONED, // nothing is known: somebody else has to try
} rk_flight_result;

// The end of a flight; consumes it. `not_kept_ns`: for how long others need not try either.
void rk_flight_finish(rk_flights *flights, rk_flight *flight, rk_flight_result landing,
                      uint64_t not_kept_ns);
