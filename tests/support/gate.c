#include "support/gate.h"

void rk_gate_init(rk_gate *gate) {
    *gate = (rk_gate){0};
    (void)pthread_mutex_init(&gate->mutex, NULL);
    (void)pthread_cond_init(&gate->changed, NULL);
}

void rk_gate_pass(rk_gate *gate) {
    if (!gate)
        return;
    (void)pthread_mutex_lock(&gate->mutex);
    gate->waiting++;
    (void)pthread_cond_broadcast(&gate->changed);
    while (!gate->open)
        (void)pthread_cond_wait(&gate->changed, &gate->mutex);
    (void)pthread_mutex_unlock(&gate->mutex);
}

void rk_gate_open(rk_gate *gate) {
    (void)pthread_mutex_lock(&gate->mutex);
    gate->open = true;
    (void)pthread_cond_broadcast(&gate->changed);
    (void)pthread_mutex_unlock(&gate->mutex);
}

void rk_gate_await(rk_gate *gate, int count) {
    (void)pthread_mutex_lock(&gate->mutex);
    while (gate->waiting < count)
        (void)pthread_cond_wait(&gate->changed, &gate->mutex);
    (void)pthread_mutex_unlock(&gate->mutex);
}
