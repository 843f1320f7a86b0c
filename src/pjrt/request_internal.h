// The state of one compile request, shared by the files that answer it. Used only inside src/pjrt.
#pragma once

#include "pjrt/clients.h"
#include "pjrt/runtime.h"
#include "program/program.h"

typedef enum rk_request_kind {
    RK_REQUEST_CLIENT, // PJRT_Client_Compile: compiled or loaded for a client's devices
    RK_REQUEST_AOT,    // PJRT_Compile: compiled for a topology, without a client
} rk_request_kind;

typedef enum rk_request_result {
    RK_REQUEST_MISS,   // not loaded; compiled unless refused, and stored if that is possible; also
                       // an RK_REQUEST_AOT whose entry was found
    RK_REQUEST_HIT,    // loaded, not compiled; never for RK_REQUEST_AOT
    RK_REQUEST_BYPASS, // not looked up; compiled unless refused, and not stored
} rk_request_result;

// What happened to a request so far. Later steps of the request act on it. At the end,
// rk_request_report fills the journal's event from it (rk_journal_compile in journal/journal.h).
typedef struct rk_request_outcome {
    rk_request_result result;
    const char *reason; // of a miss or bypass; NULL for a hit; static or borrowed from the request
    bool compiled;      // the plugin's compiler was called
    bool failed;        // the framework gets an error
    bool late;          // not loaded, after warm-up, with REKINDLE_STRICT set
    bool refused;       // not compiled, because it is late
    bool found;         // RK_REQUEST_AOT: the executable is in the store
    bool preloaded;     // loaded by the prefetch
    bool storing;       // the executable was given to the publisher
    bool deserialize_failed; // the plugin did not load an entry that was found
    bool quarantined;        // an entry was moved to quarantine/
    uint64_t compile_ns;     // inside the plugin's compiler
    uint64_t load_ns;    // of all look-ups together; of a prefetched hit: the time waited for it
    uint64_t preload_ns; // duration of the prefetch's load
    uint64_t saved_ns;   // hit: how long the compilation took when the entry was made
} rk_request_outcome;

// One request, from the framework's call to its answer.
typedef struct rk_request {
    rk_request_kind kind;
    uint64_t seq; // number of the request in this process, from 1
    rk_plugin *plugin;
    rk_runtime *runtime;
    const rk_client *client;        // or, for AOT, the target: the description of a topology
    PJRT_Client_Compile_Args *args; // of RK_REQUEST_CLIENT; NULL for RK_REQUEST_AOT
    rk_span code, format;           // the program; borrowed from the framework, like the options
    rk_span sent_options;
    int state;                            // of the environment (pjrt/changes_internal.h)
    const PJRT_Extension_Base *extension; // an unknown one that came with the call, or NULL
    char extension_reason[96];
    rk_program_info info;
    rk_components options;
    rk_key key;
    bool has_key;
    char *name;  // of the executable; owned
    char *error; // message of the compiler's error; owned; NULL: none
    rk_request_outcome outcome;
    rk_flight_wait wait;
    uint64_t executable_bytes; // size of the loaded executable, serialized; 0: none was loaded
    bool absent;      // the last look-up found no usable entry, so a later look-up may find one
    int cancel_state; // the thread's own setting; cancellation is disabled inside rekindle's code
    rk_load_doubt doubt; // whether loading the entry may crash the process
    int died_of;         // the signal that killed an earlier process; 0: not known
    // Of the loaded entry, both set if hits are verified or if the entry was prefetched: when it
    // was made, and the digest of the program bytes that it was compiled from, or zeroes.
    uint64_t created_ns;
    rk_digest made_of;
} rk_request;

// Reports the result to the requests that wait for this one. Does nothing if the request has no
// flight. `not_kept_ns`: how long other processes compile without waiting for this key.
static inline void rk_request_finish(rk_request *r, rk_flight_result result, uint64_t not_kept_ns) {
    rk_flight *flight = RK_TAKE(r->wait.flight);
    if (flight)
        rk_flight_finish(r->runtime->flights, flight, result, not_kept_ns);
}
