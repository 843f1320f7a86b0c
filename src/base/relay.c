#include "base/relay.h"

#include "base/alloc.h"
#include "base/thread.h"

typedef struct worker {
    rk_relay *relay;
    rk_relay_consumer consumer;
    uint64_t done; // parts received
    pthread_t thread;
    bool is_started;
} worker;

struct rk_relay {
    pthread_mutex_t mutex;
    pthread_cond_t passed_more, done_more;
    uint64_t passed; // parts
    bool is_ended;
    size_t lengths[RK_RELAY_PARTS];
    worker workers[RK_RELAY_CONSUMERS_MAX];
    size_t count;
    uint8_t *buffers; // owned: RK_RELAY_PARTS, or one if nothing runs on threads
    size_t buffer_count;
};

static uint8_t *buffer_of(const rk_relay *self, uint64_t part) {
    return self->buffers + part % self->buffer_count * RK_RELAY_PART_BYTES;
}

static void *work(void *argument) {
    worker *self = argument;
    rk_relay *relay = self->relay;
    (void)pthread_mutex_lock(&relay->mutex);
    for (;;) {
        while (self->done == relay->passed && !relay->is_ended)
            (void)pthread_cond_wait(&relay->passed_more, &relay->mutex);
        if (self->done == relay->passed)
            break;
        rk_span part = rk_span_of(buffer_of(relay, self->done),
                                  relay->lengths[self->done % relay->buffer_count]);
        (void)pthread_mutex_unlock(&relay->mutex);
        self->consumer.add(self->consumer.context, part);
        (void)pthread_mutex_lock(&relay->mutex);
        self->done++;
        (void)pthread_cond_signal(&relay->done_more);
    }
    (void)pthread_mutex_unlock(&relay->mutex);
    return NULL;
}

rk_err *rk_relay_begin(const rk_relay_consumer *consumers, size_t count, uint64_t len,
                       bool is_threaded, rk_relay **out_relay) {
    is_threaded = is_threaded && len > RK_RELAY_PART_BYTES;
    rk_relay *self = rk_calloc(1, sizeof *self);
    if (!self)
        return rk_err_no_memory();
    self->buffer_count = is_threaded ? RK_RELAY_PARTS : 1;
    size_t part_bytes = len > RK_RELAY_PART_BYTES ? RK_RELAY_PART_BYTES : (size_t)len;
    self->buffers = rk_malloc(self->buffer_count * part_bytes + 1);
    if (!self->buffers) {
        rk_free(self);
        return rk_err_no_memory();
    }
    (void)pthread_mutex_init(&self->mutex, NULL);
    (void)pthread_cond_init(&self->passed_more, NULL);
    (void)pthread_cond_init(&self->done_more, NULL);
    self->count = count;
    for (size_t i = 0; i < count; i++) {
        worker *one = &self->workers[i];
        one->relay = self;
        one->consumer = consumers[i];
        one->is_started = is_threaded && rk_thread_start(work, one, &one->thread) == 0;
    }
    *out_relay = self;
    return NULL;
}

// True if a consumer still uses the buffer of the next part.
static bool is_in_use(const rk_relay *self) {
    for (size_t i = 0; i < self->count; i++)
        if (self->workers[i].is_started &&
            self->passed - self->workers[i].done >= self->buffer_count)
            return true;
    return false;
}

uint8_t *rk_relay_buffer(rk_relay *relay) {
    (void)pthread_mutex_lock(&relay->mutex);
    while (is_in_use(relay))
        (void)pthread_cond_wait(&relay->done_more, &relay->mutex);
    uint8_t *buffer = buffer_of(relay, relay->passed);
    (void)pthread_mutex_unlock(&relay->mutex);
    return buffer;
}

void rk_relay_pass(rk_relay *relay, size_t len) {
    rk_span part = rk_span_of(buffer_of(relay, relay->passed), len);
    for (size_t i = 0; i < relay->count; i++)
        if (!relay->workers[i].is_started)
            relay->workers[i].consumer.add(relay->workers[i].consumer.context, part);
    (void)pthread_mutex_lock(&relay->mutex);
    relay->lengths[relay->passed % relay->buffer_count] = len;
    relay->passed++;
    (void)pthread_cond_broadcast(&relay->passed_more);
    (void)pthread_mutex_unlock(&relay->mutex);
}

void rk_relay_end(rk_relay *relay) {
    if (!relay)
        return;
    (void)pthread_mutex_lock(&relay->mutex);
    relay->is_ended = true;
    (void)pthread_cond_broadcast(&relay->passed_more);
    (void)pthread_mutex_unlock(&relay->mutex);
    for (size_t i = 0; i < relay->count; i++)
        if (relay->workers[i].is_started)
            (void)pthread_join(relay->workers[i].thread, NULL);
    (void)pthread_cond_destroy(&relay->passed_more);
    (void)pthread_cond_destroy(&relay->done_more);
    (void)pthread_mutex_destroy(&relay->mutex);
    rk_free(relay->buffers);
    rk_free(relay);
}
