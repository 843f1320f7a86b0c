#include "base/thread.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

static const uint64_t second_ns = 1000000000u;

int rk_thread_start(void *(*run)(void *argument), void *argument, pthread_t *out_thread) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t mask, before;
    (void)sigfillset(&mask);
    for (size_t i = 0; i < RK_ARRAY_LEN(faults); i++)
        (void)sigdelset(&mask, faults[i]);
    (void)pthread_sigmask(SIG_SETMASK, &mask, &before);
    int error_number = pthread_create(out_thread, NULL, run, argument);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error_number;
}

uint64_t rk_steady_ns(void) {
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * second_ns + (uint64_t)now.tv_nsec;
}

void rk_cond_init(pthread_cond_t *cond) {
    pthread_condattr_t attributes;
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(cond, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

bool rk_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t deadline_ns) {
    struct timespec at = {.tv_sec = (time_t)(deadline_ns / second_ns),
                          .tv_nsec = (long)(deadline_ns % second_ns)};
    return pthread_cond_timedwait(cond, mutex, &at) != ETIMEDOUT;
}
