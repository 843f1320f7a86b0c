// A gate that blocks the code under test until the test opens it.
#pragma once

#include <pthread.h>
#include <stdbool.h>

typedef struct rk_gate {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool open;
    int waiting; // number of callers so far
} rk_gate;

void rk_gate_init(rk_gate *gate);
void rk_gate_pass(rk_gate *gate);             // blocks until the gate is open; NULL: no block
void rk_gate_open(rk_gate *gate);             // permanently
void rk_gate_await(rk_gate *gate, int count); // blocks until `count` callers have arrived
