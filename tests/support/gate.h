// A gate at which what a test has called waits until the test opens it.
#pragma once

#include <pthread.h>
#include <stdbool.h>

typedef struct rk_gate {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool open;
    int waiting; // how many have come so far
} rk_gate;

void rk_gate_init(rk_gate *gate);
void rk_gate_pass(rk_gate *gate);             // NULL: does not wait
void rk_gate_open(rk_gate *gate);             // for good
void rk_gate_await(rk_gate *gate, int count); // until so many have come
