// The state of one compile request, shared by compile.c, compile_aot.c, publish.c, verify.c and
// others. Used only inside src/pjrt.
#pragma once

#include "pjrt/clients.h"
#include "pjrt/runtime.h"
#include "program/program.h"

// One request, from the framework's call to its answer.
typedef struct rk_request {
    rk_plugin *plugin;
    rk_runtime *runtime;
    const rk_client *client;        // or, for AOT, the target: the description of a topology
    PJRT_Client_Compile_Args *args; // NULL for AOT
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

// Programs that wait in the background to be stored or verified are copies of the framework's. This
// is the limit for all of them together.
#define RK_WAITING_MAX_BYTES ((size_t)512 << 20)

// How long other processes compile without waiting, after a program was not kept: RK_SETTLED_NS if
// the reason is permanent, RK_BAD_LUCK_NS if it may be temporary.
#define RK_SETTLED_NS  (3600 * (uint64_t)1000000000u)
#define RK_BAD_LUCK_NS (10 * (uint64_t)1000000000u)

RK_HIDDEN void rk_request_cleanup(rk_request *r);

// Records an unknown extension of the call or of its program.
RK_HIDDEN void rk_request_note_extensions(rk_request *r, const PJRT_Extension_Base *start,
                                          const PJRT_Program *program);

// Returns the reason why the request cannot be cached, borrowed from the request. NULL if it can be
// cached; then it has a key.
RK_HIDDEN const char *rk_request_reason_to_bypass(rk_request *r);

// Looks the key up in the store, once. True if the entry is there and, unless the request is AOT,
// loaded. Otherwise sets the reason in the request's event; of several look-ups, the most
// informative reason stays.
RK_HIDDEN bool rk_request_look_up(rk_request *r);

// Writes the request's event into the journal. `start_ns` is the start of the request, by
// rk_monotonic_ns.
RK_HIDDEN void rk_request_report(rk_request *r, uint64_t start_ns);

// Reports the result to the requests that wait for this one. Does nothing if the request has no
// flight. `not_kept_ns`: how long other processes compile without waiting for this key.
static inline void rk_request_finish(rk_request *r, rk_flight_result result, uint64_t not_kept_ns) {
    rk_flight *flight = RK_TAKE(r->wait.flight);
    if (flight)
        rk_flight_finish(r->runtime->flights, flight, result, not_kept_ns);
}

// True if this process can store executables of this plugin and this key.
RK_HIDDEN bool rk_publish_possible(const rk_request *r);

// Sets the request's name from the compiled executable, and publishes the executable if its
// compilation took long enough.
RK_HIDDEN void rk_publish_compiled(rk_request *r);

// Like rk_publish_compiled, for AOT. The framework owns the executable and may destroy it at any
// time, so it is serialized before this function returns and stored in the background. May block
// while the plugin serializes.
RK_HIDDEN void rk_publish_aot(rk_request *r, PJRT_Executable *executable);

// Stores only the program of a request whose executable is not stored or does not exist, so that
// the command line can explain it.
RK_HIDDEN void rk_publish_program(const rk_request *r);

// True if this run published the entry with this metadata.
RK_HIDDEN bool rk_publish_was_ours(const rk_request *r, rk_span metadata);

// Reads the digest of the program bytes that the entry with this metadata was compiled from. False
// if the metadata does not contain it.
RK_NODISCARD RK_HIDDEN bool rk_publish_made_of(rk_span metadata, rk_digest *out_digest);
