// The results of `rekindle verify`: its runs, and what they prove. For src/cli only.
#pragma once

#include "journal/read.h"

// How a run starts.
typedef enum rk_verify_kind {
    RK_VERIFY_COLD, // with an empty store
    RK_VERIFY_WARM, // again: executables are loaded on request
    RK_VERIFY_ZERO, // again: executables are prefetched
} rk_verify_kind;
const char *rk_verify_kind_name(rk_verify_kind kind); // "cold", "warm", "zero-wait"; static

typedef struct rk_verify_run {
    rk_verify_kind kind;
    char *id;            // owned
    int status;          // exit status of the command, as a shell reports it
    uint64_t seconds_ns; // duration of the command
    bool known;          // the run left a journal
    rk_run_model model;
    rk_run_totals totals;
} rk_verify_run;
void rk_verify_run_cleanup(rk_verify_run *run);

uint64_t rk_verify_requests(const rk_verify_run *run);

// Return the number of compiler calls that returned an executable, and of calls that failed. A
// failed call does not count against the run, because no cache can hold a program that does not
// compile.
uint64_t rk_verify_compiled(const rk_verify_run *run);
uint64_t rk_verify_failed(const rk_verify_run *run);

// Appends, for people, why a warm run compiled a program: what the cold run did with it, or which
// part of its key changed.
void rk_verify_add_reason(const rk_verify_run *cold, const rk_run_compile *compile, rk_buf *out);

// Appends, for people, why the runs prove nothing. Appends nothing if they prove that a restart
// compiles nothing.
void rk_verify_judge(const rk_verify_run *runs, size_t count, rk_buf *out);

// Print the results on stdout. `reason` comes from rk_verify_judge. `store`: directory of the runs'
// store; "" if it was deleted.
void rk_verify_print_text(const rk_verify_run *runs, size_t count, const char *reason);
void rk_verify_print_json(const rk_verify_run *runs, size_t count, const char *reason,
                          const char *store);
