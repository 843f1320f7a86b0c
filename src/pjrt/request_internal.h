// The state of one compile request, shared by the files that answer it. Used only inside src/pjrt.
#pragma once

#include "pjrt/clients.h"
#include "pjrt/runtime.h"
#include "program/program.h"

typedef enum rk_request_kind {
    RK_REQUEST_CLIENT, // PJRT_Client_Compile: compiled or loaded for a client's devices
    RK_REQUEST_AOT,    // PJRT_Compile: compiled for a topology, without a client
} rk_request_kind;

// One request, from the framework's call to its answer.
typedef struct rk_request {
    rk_request_kind kind;
    rk_plugin *plugin;
    rk_runtime *runtime;
    const rk_client *client;        // or, for AOT, the target: the description of a topology
    PJRT_Client_Compile_Args *args; // of RK_REQUEST_CLIENT; NULL for RK_REQUEST_AOT
    rk_span code, format;           // the program; borrowed from the framework, like the options
    rk_span sent_options;
    int state;                            // of the environment (pjrt/changes_internal.h)
    const PJRT_Extension_Base *extension; // an unknown one that came with the call, or NULL
    char extension_reason[64];
    rk_program_info info;
    rk_components options;
    rk_key key;
    bool has_key;
    char *name; // of the executable; owned
    rk_journal_compile event;
    rk_flight_wait wait;
    uint64_t executable_bytes; // size of the loaded executable, serialized; 0: none was loaded
    bool absent;      // the last look-up found no usable entry, so a later look-up may find one
    int cancel_state; // the thread's own setting; cancellation is disabled inside rekindle's code
    rk_load_doubt doubt; // whether loading the entry may crash the process
    int died_of;         // the signal that killed an earlier process; 0: not known
    uint64_t
        created_ns;    // of the loaded entry; set if hits are verified or the entry was prefetched
    rk_digest made_of; // digest of the program bytes that the entry was compiled from, or zeroes;
                       // set if hits are verified
} rk_request;

// Reports the result to the requests that wait for this one. Does nothing if the request has no
// flight. `not_kept_ns`: how long other processes compile without waiting for this key.
static inline void rk_request_finish(rk_request *r, rk_flight_result result, uint64_t not_kept_ns) {
    rk_flight *flight = RK_TAKE(r->wait.flight);
    if (flight)
        rk_flight_finish(r->runtime->flights, flight, result, not_kept_ns);
}
