// Runs for tests: a journal model of each run, and a store with the programs that the runs request.
#pragma once

#include "diagnose/explain/explain.h"
#include "support/expect.h"

enum { RUN_FIXTURE_REQUESTS_MAX = 32 };

typedef struct fixture_run {
    rk_run_model model;
    rk_run_process processes[2];
    rk_run_compile compiles[RUN_FIXTURE_REQUESTS_MAX];
} fixture_run;

typedef struct fixture {
    char *directory;
    rk_store *store;
    rk_corpus corpus; // loaded by run_fixture_load, freed by the teardown
    fixture_run run, other;
} fixture;

// For cmocka; `*state` is a fixture.
int run_fixture_setup(void **state);
int run_fixture_teardown(void **state);

// A program to store. The default of each member is 0.
typedef struct fixture_kept {
    const char *job;
    unsigned file;          // programs/JOB.FILE.mlir
    unsigned number;        // in the key; 0: `file`
    unsigned environment;   // in the key
    const char *components; // JSON, elements of the environment's list
    const char *toolchain;  // JSON object
    bool is_of_other_run, without_program;
} fixture_kept;
void run_fixture_keep_entry(fixture *f, const fixture_kept *kept);

// Stores programs/JOB.NUMBER.mlir with its sketch. Without `with_program`, stores the sketch only.
void run_fixture_keep(fixture *f, const char *job, unsigned number, bool with_program);

// Adds a request for that program to a run: a miss with a compilation of one second.
rk_run_compile *run_fixture_ask(fixture_run *run, const char *job, unsigned number);
rk_run_compile *run_fixture_ask_in(fixture_run *run, const char *job, unsigned number,
                                   unsigned environment);

void run_fixture_load(fixture *f); // loads the corpus
