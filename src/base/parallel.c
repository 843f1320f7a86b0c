#include "base/parallel.h"

#include <sched.h>

#include "base/alloc.h"
#include "base/thread.h"

typedef struct parallel {
    const rk_parallel_work *work;
    pthread_mutex_t mutex;
    size_t next, ended; // items begun, and items whose `end` was called
    bool *is_done;      // owned: by item; `run` has returned without an error
    rk_err *err;        // owned
    size_t err_index;
} parallel;

size_t rk_parallel_threads(void) {
    cpu_set_t set;
    CPU_ZERO(&set);
    // Fails on a machine with more processors than the set can hold.
    int count =
        sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : RK_PARALLEL_THREADS_MAX;
    return 2 * count < RK_PARALLEL_THREADS_MAX ? 2 * (size_t)count : RK_PARALLEL_THREADS_MAX;
}

static void note(parallel *self, size_t index, rk_err *err) {
    if (!err)
        return;
    rk_err *other = self->err;
    if (other && self->err_index < index) {
        rk_err_drop(err, "an earlier item has failed");
        return;
    }
    rk_err_drop(other, "an earlier item has failed");
    self->err = err;
    self->err_index = index;
}

// Takes the next item. False if there is none, or after an error.
static bool take(parallel *self, size_t *out_index) {
    if (self->err || self->next == self->work->count)
        return false;
    *out_index = self->next++;
    if (self->work->begin)
        note(self, *out_index, self->work->begin(self->work->context, *out_index));
    return !self->err;
}

static void end_in_order(parallel *self) {
    while (!self->err && self->ended < self->next && self->is_done[self->ended]) {
        size_t index = self->ended++;
        if (self->work->end)
            note(self, index, self->work->end(self->work->context, index));
    }
}

static void *run_items(void *argument) {
    parallel *self = argument;
    size_t index;
    (void)pthread_mutex_lock(&self->mutex);
    while (take(self, &index)) {
        (void)pthread_mutex_unlock(&self->mutex);
        rk_err *err = self->work->run(self->work->context, index);
        (void)pthread_mutex_lock(&self->mutex);
        self->is_done[index] = !err;
        note(self, index, err);
        end_in_order(self);
    }
    (void)pthread_mutex_unlock(&self->mutex);
    return NULL;
}

rk_err *rk_parallel_run(const rk_parallel_work *work, size_t threads) {
    parallel self = {.work = work};
    pthread_t others[RK_PARALLEL_THREADS_MAX];
    size_t started = 0;
    self.is_done = rk_calloc(work->count + 1, sizeof *self.is_done);
    if (!self.is_done)
        return rk_err_no_memory();
    (void)pthread_mutex_init(&self.mutex, NULL);
    threads = threads < RK_PARALLEL_THREADS_MAX ? threads : RK_PARALLEL_THREADS_MAX;
    while (started + 1 < threads && started + 1 < work->count &&
           rk_thread_start(run_items, &self, &others[started]) == 0)
        started++;
    (void)run_items(&self);
    for (size_t i = 0; i < started; i++)
        (void)pthread_join(others[i], NULL);
    (void)pthread_mutex_destroy(&self.mutex);
    rk_free(self.is_done);
    return self.err;
}

bool rk_parallel_is_large(size_t threads, uint64_t item_bytes, uint64_t left_bytes) {
    return threads > 1 && item_bytes > left_bytes / threads;
}
