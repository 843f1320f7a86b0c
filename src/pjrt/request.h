// One request for an executable, from the framework's call to our answer, as the files compile*.c
// and publish.c share it. Inside src/pjrt only.
#pragma once

#include "pjrt/runtime.h"
#include "program/program.h"

typedef struct rk_request {
    rk_plugin *plugin;
    rk_runtime *runtime;
    const rk_client *client; // or what stands for one that is not there: a topology's description
    rk_span code, format;    // the program; borrowed from the framework, as are the options
    rk_span sent_options;
    PJRT_Client_Compile_Args *args; // NULL for a compilation ahead of time
    rk_program_info info;
    rk_components options;
    rk_key key;
    bool has_key;
    char *name; // of the executable; owned
    rk_journal_compile event;
    rk_ticket ticket;
    bool absent;      // the last look found nothing, so that it makes sense to look again
    int cancel_state; // what the thread had set; no thread is cancelled inside our own code
} rk_request;

void rk_request_cleanup(rk_request *request);

// Why the request is not for the cache at all; NULL if it is, and then it has a key. Borrowed from
// the request.
const char *rk_request_reason_to_bypass(rk_request *request);

// One look into the store; true if the executable was there, and is loaded unless it is asked for
// ahead of time. Of several, the journal keeps the reason that says most.
bool rk_request_look_up(rk_request *request);

// Writes it into the journal, as begun at that time of rk_monotonic_ns.
void rk_request_report(rk_request *request, uint64_t start_ns);
