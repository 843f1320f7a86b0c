#include "pjrt/origin.h"

#include <pthread.h>

#include "base/alloc.h"
#include "pjrt/error.h"
#include "pjrt/runtime.h"

typedef enum handle_kind { LOADED, EXECUTABLE } handle_kind;

// One live handle of the framework.
struct rk_origin {
    rk_origin *next; // in its bucket
    const void *handle;
    handle_kind kind; // a plugin may use one address for both
    unsigned users;   // how often the plugin has given out this handle
    rk_key key;
};

enum { BUCKETS = 1024, RESERVED = 64 }; // the first is a power of two

static struct {
    pthread_mutex_t mutex;
    rk_origin *buckets[BUCKETS];
    atomic_size_t count;          // also read without the mutex, as a hint
    rk_origin reserved[RESERVED]; // for when memory is short; free if `users` is 0
    atomic_bool lost;             // a handle exists without the record that it should have
} all = {.mutex = PTHREAD_MUTEX_INITIALIZER};

// A forked child has the parent's executables and may serialize them. So the mutex must be free in
// the child.

static void before_fork(void) {
    (void)pthread_mutex_lock(&all.mutex);
}

static void after_fork(void) {
    (void)pthread_mutex_unlock(&all.mutex);
}

static void watch_forks(void) {
    (void)pthread_atfork(before_fork, after_fork, after_fork);
}

// The functions up to is_empty are called with the mutex held.

static rk_origin *take_reserved(void) {
    for (size_t i = 0; i < RESERVED; i++)
        if (all.reserved[i].users == 0)
            return &all.reserved[i];
    return NULL;
}

static void release(rk_origin *one) {
    bool reserved = one >= all.reserved && one < all.reserved + RESERVED;
    if (reserved)
        one->users = 0;
    else
        rk_free(one);
}

static rk_origin **find(const void *handle, handle_kind kind) {
    uint64_t mixed = (uint64_t)(uintptr_t)handle * 0x9e3779b97f4a7c15u;
    rk_origin **link = &all.buckets[mixed >> 54 & (BUCKETS - 1)];
    while (*link && ((*link)->handle != handle || (*link)->kind != kind))
        link = &(*link)->next;
    return link;
}

static void remove_at(rk_origin **link) {
    rk_origin *one = *link;
    *link = one->next;
    release(one);
    (void)atomic_fetch_sub_explicit(&all.count, 1, memory_order_relaxed);
}

static void add(rk_origin *one) {
    rk_origin **link = find(one->handle, one->kind);
    if (*link)
        remove_at(link);
    one->next = *link;
    *link = one;
    (void)atomic_fetch_add_explicit(&all.count, 1, memory_order_relaxed);
}

static bool is_empty(void) {
    return atomic_load_explicit(&all.count, memory_order_relaxed) == 0;
}

static void forget(const void *handle, handle_kind kind) {
    if (is_empty())
        return;
    (void)pthread_mutex_lock(&all.mutex);
    rk_origin **link = find(handle, kind);
    if (*link && --(*link)->users == 0)
        remove_at(link);
    (void)pthread_mutex_unlock(&all.mutex);
}

static bool find_key(const void *handle, handle_kind kind, rk_key *out_key) {
    if (is_empty())
        return false;
    (void)pthread_mutex_lock(&all.mutex);
    const rk_origin *one = *find(handle, kind);
    if (one)
        *out_key = one->key;
    (void)pthread_mutex_unlock(&all.mutex);
    return one != NULL;
}

rk_origin *rk_origin_new(const rk_key *key) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, watch_forks);
    rk_origin *allocated = rk_calloc(1, sizeof *allocated);
    (void)pthread_mutex_lock(&all.mutex);
    rk_origin *origin = allocated ? allocated : take_reserved();
    if (origin)
        *origin = (rk_origin){.users = 1, .key = *key};
    (void)pthread_mutex_unlock(&all.mutex);
    return origin;
}

void rk_origin_free(rk_origin *origin) {
    if (!origin)
        return;
    (void)pthread_mutex_lock(&all.mutex);
    release(origin);
    (void)pthread_mutex_unlock(&all.mutex);
}

void rk_origin_set(rk_origin *origin, const PJRT_LoadedExecutable *loaded) {
    origin->handle = loaded;
    origin->kind = LOADED;
    (void)pthread_mutex_lock(&all.mutex);
    add(origin);
    (void)pthread_mutex_unlock(&all.mutex);
}

// Counts a handle that the plugin has given out. A plugin may give the same handle to several
// callers, also at the same time; the record stays until each of them has destroyed it. Consumes
// `fresh`, which may be NULL. False if a new record was necessary and `fresh` was NULL.
static bool give_out(const PJRT_Executable *executable, const rk_key *key, rk_origin *fresh) {
    (void)pthread_mutex_lock(&all.mutex);
    rk_origin *known = *find(executable, EXECUTABLE);
    bool same = known && rk_digest_equal(&known->key.digest, &key->digest);
    if (same) {
        known->users++;
        if (fresh)
            release(fresh);
    } else if (fresh) {
        fresh->handle = executable;
        fresh->kind = EXECUTABLE;
        add(fresh);
    }
    (void)pthread_mutex_unlock(&all.mutex);
    return same || fresh;
}

void rk_origin_get(const PJRT_LoadedExecutable_GetExecutable_Args *args) {
    rk_key key;
    if (!args->executable || !find_key(args->loaded_executable, LOADED, &key))
        return;
    if (!give_out(args->executable, &key, rk_origin_new(&key)))
        atomic_store(&all.lost, true);
}

void rk_origin_forget_loaded(const PJRT_LoadedExecutable *loaded) {
    forget(loaded, LOADED);
}

void rk_origin_forget(const PJRT_Executable *executable) {
    forget(executable, EXECUTABLE);
}

// Serializing.

// rekindle's own PJRT_SerializedExecutable.
typedef struct serialized {
    rk_store_lookup lookup; // owns the bytes
} serialized;

static void delete_serialized(PJRT_SerializedExecutable *handle) {
    serialized *self = (serialized *)(void *)handle;
    if (self)
        rk_store_lookup_cleanup(&self->lookup);
    rk_free(self);
}

// In a forked child and at the end of the process there is no runtime, and other threads may have
// been inside its store. Then the store is opened again, read-only.
static rk_err *look_up(const rk_key *key, rk_store_lookup *out_lookup) {
    const rk_runtime *runtime = rk_runtime_get();
    if (runtime && runtime->store)
        return rk_store_get(runtime->store, key, out_lookup);
    const rk_settings_values *settings = rk_runtime_settings();
    if (!settings)
        return rk_error(RK_INTERNAL, "the settings are gone");
    rk_store *store = NULL;
    RK_TRY(rk_store_open(settings->dir, true, &store));
    rk_err *err = rk_store_get(store, key, out_lookup);
    rk_store_free(store);
    return err;
}

// Consumes `err`.
static rk_err *explain(const rk_key *key, rk_err *err, const rk_store_lookup *lookup) {
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_digest_to_hex(&key->digest, hex);
    const char *what = "the entry was damaged since";
    rk_code code = RK_DATA_LOSS;
    if (err) {
        what = rk_err_message(err);
        code = rk_err_code(err);
    } else if (lookup->fault == RK_ENTRY_OK) {
        what = "the entry was removed since";
        code = RK_NOT_FOUND;
    }
    rk_err *explained =
        rk_error(code,
                 "rekindle: cannot serialize an executable that was loaded from the store. Its "
                 "bytes were in the entry %s: %s. The plugin is not asked, because what a plugin "
                 "serializes from a loaded executable may fail to run. Start the job again: it "
                 "compiles the program, which can be serialized then",
                 hex, what);
    rk_err_drop(err, "it is in the message");
    return explained;
}

static rk_err *read_entry(const rk_key *key, serialized **out_self) {
    serialized *self = rk_calloc(1, sizeof *self);
    if (!self)
        return rk_err_no_memory();
    rk_err *err = look_up(key, &self->lookup);
    if (!err && self->lookup.found) {
        *out_self = self;
        return NULL;
    }
    err = explain(key, err, &self->lookup);
    delete_serialized((PJRT_SerializedExecutable *)(void *)self);
    return err;
}

static PJRT_Error *answer(const rk_key *key, PJRT_Executable_Serialize_Args *args) {
    if (args->struct_size < PJRT_Executable_Serialize_Args_STRUCT_SIZE)
        return rk_pjrt_error_give(
            rk_error(RK_INVALID_ARGUMENT,
                     "Unexpected PJRT_Executable_Serialize_Args size: expected %zu, got %zu",
                     (size_t)PJRT_Executable_Serialize_Args_STRUCT_SIZE, args->struct_size));
    serialized *self = NULL;
    rk_err *err = read_entry(key, &self);
    if (err)
        return rk_pjrt_error_give(err);
    args->serialized_bytes = (const char *)self->lookup.view.entry.payload.data;
    args->serialized_bytes_size = self->lookup.view.entry.payload.len;
    args->serialized_executable = (PJRT_SerializedExecutable *)(void *)self;
    args->serialized_executable_deleter = delete_serialized;
    return NULL;
}

PJRT_Error *rk_origin_serialize_hook(rk_plugin *plugin, PJRT_Executable_Serialize_Args *args) {
    rk_key key;
    if (!find_key(args->executable, EXECUTABLE, &key)) {
        if (!atomic_load_explicit(&all.lost, memory_order_relaxed))
            return plugin->real->PJRT_Executable_Serialize(args);
        return rk_pjrt_error_give(rk_error(
            RK_RESOURCE_EXHAUSTED,
            "rekindle: there was not enough memory to record that an executable was loaded from "
            "the store, so executables without a record cannot be serialized any more. Start the "
            "job again"));
    }
    int cancel_state;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    PJRT_Error *error = answer(&key, args);
    (void)pthread_setcancelstate(cancel_state, NULL);
    return error;
}
