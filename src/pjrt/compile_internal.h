// One request on the way of a compilation, shared by compile.c, compile_ahead.c, publish.c and
// verify.c. Inside src/pjrt only.
#pragma once

#include "pjrt/runtime.h"
#include "program/program.h"

// From the framework's call to our answer.
typedef struct rk_request {
    rk_plugin *plugin;
    rk_runtime *runtime;
    const rk_client *client; // or what stands for one that is not there: a topology's description
    PJRT_Client_Compile_Args *args; // NULL for a compilation ahead of time
    rk_span code, format;           // the program; borrowed from the framework, as are the options
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
    rk_flight_wait ticket;
    uint64_t executable_bytes; // what was loaded, serialized; 0: nothing was
    bool absent;               // the last look found nothing, so that it makes sense to look again
    int cancel_state;    // what the thread had set; no thread is cancelled inside our own code
    rk_load_doubt doubt; // whether loading it may kill the process
    int died_of;         // the signal that killed another; 0: none that is known
    uint64_t created_ns; // of the entry, where hits are verified
    rk_digest made_of;   // digest of the bytes it was made from, or zeroes; where hits are verified
} rk_request;

// Programs that wait in the background, to be stored or verified, are copies of the framework's:
// together at most so much.
#define RK_WAITING_MAX_BYTES ((size_t)512 << 20)

// How long other processes need not wait for a program that was not kept: where that was settled,
// and where it may have been bad luck.
#define RK_SETTLED_NS  (3600 * (uint64_t)1000000000u)
#define RK_BAD_LUCK_NS (10 * (uint64_t)1000000000u)

RK_HIDDEN void rk_request_cleanup(rk_request *r);

// Notes an unknown extension of the call or of its program.
RK_HIDDEN void rk_request_note_extensions(rk_request *r, const PJRT_Extension_Base *start,
                                          const PJRT_Program *program);

// Why the request is not for the cache at all; NULL if it is, and then it has a key. Borrowed from
// the request.
RK_HIDDEN const char *rk_request_reason_to_bypass(rk_request *r);

// One look into the store; true if the executable was there, and is loaded unless it is asked for
// ahead of time. Of several, the journal keeps the reason that says most.
RK_HIDDEN bool rk_request_look_up(rk_request *r);

// Writes it into the journal, as begun at that time of rk_monotonic_ns.
RK_HIDDEN void rk_request_report(rk_request *r, uint64_t start_ns);

// Lets those who wait for this request know how it ended; does nothing where nobody could wait.
static inline void rk_request_finish(rk_request *r, rk_flight_result landing,
                                     uint64_t not_kept_ns) {
    rk_flight *flight = RK_TAKE(r->ticket.flight);
    if (flight)
        rk_flight_finish(r->runtime->flights, flight, landing, not_kept_ns);
}

// Whether anything is stored at all, by this process and for this plugin.
RK_HIDDEN bool rk_publish_possible(const rk_request *r);

// What was just compiled gets its name, and is published if it is worth it.
RK_HIDDEN void rk_publish_compiled(rk_request *r);

// The same for one that was compiled ahead of time. It is the framework's alone, which may destroy
// it at any time: it is serialized before this returns, and stored in the background.
RK_HIDDEN void rk_publish_aot(rk_request *r, PJRT_Executable *executable);

// A program whose executable is not kept, or does not exist, is kept all the same, to be explained.
RK_HIDDEN void rk_publish_program(const rk_request *r);

// True if this run has published the entry that has this metadata.
RK_HIDDEN bool rk_publish_was_ours(const rk_request *r, rk_span metadata);

// The digest of the bytes that the entry with this metadata was made from; false if it does not
// say.
RK_NODISCARD RK_HIDDEN bool rk_publish_made_of(rk_span metadata, rk_digest *out_digest);
