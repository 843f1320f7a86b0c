// The registry of live objects, which checks every incoming handle.
#include "fake.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 4096 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static fake_object *buckets[BUCKETS];
static uint64_t last_number[FAKE_KIND_COUNT];
static uint64_t live_count[FAKE_KIND_COUNT], made_count[FAKE_KIND_COUNT];
static fake_object *dead[FAKE_KIND_COUNT]; // for FAKE_PJRT_REUSE, the last destroyed first

static const char *const kind_names[FAKE_KIND_COUNT] = {
    "error",    "event",      "client", "device",     "description", "memory",
    "topology", "executable", "loaded", "serialized", "buffer",      "context",
};

// A forked child must not inherit a registry that another thread has locked.
static void lock_for_fork(void) {
    pthread_mutex_lock(&lock);
}

static void unlock_after_fork(void) {
    pthread_mutex_unlock(&lock);
}

// The other threads and their calls exist only in the parent.
static void begin_as_child(void) {
    for (size_t i = 0; i < BUCKETS; i++) {
        for (fake_object *object = buckets[i]; object; object = object->next)
            object->users = 0;
    }
    fake_trace_begin_as_child();
    pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void watch_forks(void) {
    if (pthread_atfork(lock_for_fork, unlock_after_fork, begin_as_child) != 0)
        abort();
}

uint64_t fake_object_count(fake_kind kind) {
    pthread_mutex_lock(&lock);
    uint64_t count = live_count[kind];
    pthread_mutex_unlock(&lock);
    return count;
}

uint64_t fake_object_made(fake_kind kind) {
    pthread_mutex_lock(&lock);
    uint64_t count = made_count[kind];
    pthread_mutex_unlock(&lock);
    return count;
}

static size_t bucket_of(const void *handle) {
    return ((uintptr_t)handle >> 4) % BUCKETS;
}

// Reuses the memory of the last destroyed object of the kind. Called with the lock held.
static fake_object *reuse_locked(fake_kind kind, size_t size) {
    fake_object *object = dead[kind];
    if (!object || object->users > 0)
        return NULL;
    dead[kind] = object->next_dead;
    fake_object *next = object->next;
    memset(object, 0, size);
    object->next = next;
    return object;
}

// Called with the lock held.
static fake_object *allocate_locked(size_t size) {
    fake_object *object = calloc(1, size);
    if (!object)
        abort();
    fake_object **bucket = &buckets[bucket_of(object)];
    object->next = *bucket;
    *bucket = object;
    return object;
}

void *fake_object_new(fake_kind kind, size_t size, PJRT_Client *client) {
    pthread_mutex_lock(&lock);
    fake_object *object = reuse_locked(kind, size);
    if (!object)
        object = allocate_locked(size);
    object->kind = kind;
    object->client = client;
    object->number = ++last_number[kind];
    live_count[kind]++;
    made_count[kind]++;
    pthread_mutex_unlock(&lock);
    return object;
}

// Finds the object of a handle. Aborts if the handle is wrong. Called with the lock held.
// fake_misuse never returns, so the lock may stay locked.
static fake_object *find_locked(fake_kind kind, const void *handle) {
    fake_object *object = buckets[bucket_of(handle)];
    while (object && (const void *)object != handle)
        object = object->next;
    if (!object)
        fake_misuse("%s handle %p was never given out", kind_names[kind], handle);
    if (object->kind != kind)
        fake_misuse("%s %" PRIu64 " was passed as %s", kind_names[object->kind], object->number,
                    kind_names[kind]);
    if (object->dead)
        fake_misuse("%s %" PRIu64 " was used after its destruction", kind_names[kind],
                    object->number);
    const fake_object *client = (const fake_object *)object->client;
    if (client && client->dead)
        fake_misuse("%s %" PRIu64 " was used after its client was destroyed", kind_names[kind],
                    object->number);
    return object;
}

void fake_object_check(fake_kind kind, const void *handle) {
    pthread_mutex_lock(&lock);
    (void)find_locked(kind, handle);
    pthread_mutex_unlock(&lock);
}

static void add_users_locked(fake_object *object, int users) {
    object->users += users;
    if (object->client)
        ((fake_object *)object->client)->users += users;
}

void fake_object_enter(fake_kind kind, const void *handle) {
    pthread_mutex_lock(&lock);
    add_users_locked(find_locked(kind, handle), 1);
    pthread_mutex_unlock(&lock);
}

void fake_object_leave(const void *handle) {
    pthread_mutex_lock(&lock);
    fake_object *object = buckets[bucket_of(handle)];
    while (object && (const void *)object != handle)
        object = object->next;
    if (object)
        add_users_locked(object, -1);
    pthread_mutex_unlock(&lock);
}

void fake_object_kill(fake_kind kind, const void *handle) {
    pthread_mutex_lock(&lock);
    fake_object *object = find_locked(kind, handle);
    if (object->users > 0)
        fake_misuse("%s %" PRIu64 " was destroyed while %d calls were working on it",
                    kind_names[kind], object->number, object->users);
    object->dead = true;
    bool is_executable = kind == FAKE_EXECUTABLE || kind == FAKE_LOADED;
    if (is_executable && *fake_setting("FAKE_PJRT_REUSE", "")) {
        object->next_dead = dead[kind];
        dead[kind] = object;
    }
    live_count[kind]--;
    pthread_mutex_unlock(&lock);
}

static uint64_t count_of_client_locked(size_t kind, const PJRT_Client *client) {
    uint64_t count = 0;
    for (size_t i = 0; i < BUCKETS; i++) {
        for (const fake_object *object = buckets[i]; object; object = object->next)
            count += object->kind == kind && !object->dead && object->client == client;
    }
    return count;
}

void fake_object_census(const PJRT_Client *client, char *out_text, size_t size) {
    size_t used = 0;
    pthread_mutex_lock(&lock);
    for (size_t kind = 0; kind < FAKE_KIND_COUNT && used < size; kind++) {
        uint64_t count = client ? count_of_client_locked(kind, client) : live_count[kind];
        int written = snprintf(out_text + used, size - used, "%s%s=%" PRIu64, kind ? " " : "",
                               kind_names[kind], count);
        used += written > 0 ? (size_t)written : 0;
    }
    pthread_mutex_unlock(&lock);
}
