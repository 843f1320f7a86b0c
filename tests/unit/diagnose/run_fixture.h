// Runs made here: a journal's model of each, and a store with the programs that they asked for.
#pragma once

#include "diagnose/explain/explain.h"
#include "support/expect.h"

enum { RUN_FIXTURE_REQUESTS_MAX = 16 };

typedef struct fixture_run {
    rk_run_model model;
    rk_run_process processes[2];
    rk_run_compile compiles[RUN_FIXTURE_REQUESTS_MAX];
} fixture_run;

typedef struct fixture {
    char *directory;
    rk_store *store;
    rk_corpus library; // to be loaded by the test; freed by the teardown
    fixture_run run, other;
} fixture;

// cmocka's; `*state` is a fixture.
int run_fixture_setup(void **state);
int run_fixture_teardown(void **state);

// Puts programs/JOB.NUMBER.mlir into the store, with its sketch, and without itself unless
// `with_program`.
void run_fixture_keep(fixture *f, const char *job, unsigned number, bool with_program);

// Adds a request for it to a run: a miss that was compiled for a second.
rk_run_compile *run_fixture_ask(fixture_run *run, const char *job, unsigned number);

void run_fixture_load(fixture *f); // the library
