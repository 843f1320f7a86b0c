// What `verify` finds out about its runs. Inside src/cli only.
#pragma once

#include "journal/read.h"

// How a run was started.
typedef enum rk_verify_kind {
    RK_VERIFY_COLD, // on an empty store
    RK_VERIFY_WARM, // again, everything loaded when it is asked for
    RK_VERIFY_ZERO, // again, loaded ahead
} rk_verify_kind;
const char *rk_verify_kind_name(rk_verify_kind kind); // "cold", "warm", "zero-wait"; static

typedef struct rk_verify_run {
    rk_verify_kind kind;
    char *id;            // owned
    int status;          // exit status of the command, as a shell has it
    uint64_t seconds_ns; // of the command, from start to end
    bool known;          // it left a journal
    rk_run_model model;
    rk_run_totals totals;
} rk_verify_run;
void rk_verify_run_cleanup(rk_verify_run *run);

uint64_t rk_verify_requests(const rk_verify_run *run);

// Calls of the compiler that gave an executable; and those that it refused, which are the job's own
// affair: a program that does not compile is in no cache.
uint64_t rk_verify_compiled(const rk_verify_run *run);
uint64_t rk_verify_failed(const rk_verify_run *run);

// Why a program of a warm run was compiled, for people, appended to `out`: what the cold run did
// with it, or which part of its key is another one.
void rk_verify_add_reason(const rk_verify_run *cold, const rk_run_compile *compile, rk_buf *out);

// Why the runs prove nothing, for people; "" if they prove that a restart compiles nothing.
void rk_verify_judge(const rk_verify_run *runs, size_t count, rk_buf *out);

// What came of it, on stdout; `reason` as rk_verify_judge gave it. `store` is where the runs' store
// was kept, "" if it was not.
void rk_verify_print_text(const rk_verify_run *runs, size_t count, const char *reason);
void rk_verify_print_json(const rk_verify_run *runs, size_t count, const char *reason,
                          const char *store);
