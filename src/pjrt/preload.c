// The preload way in: librekindle_preload.so replaces dlsym for the whole process and hands back a
// wrapped table to whoever looks up GetPjrtApi. Everything else goes to the real dlsym (dlsym_*.S).
#include <dlfcn.h>
#include <pthread.h>

#include "base/macros.h"
#include "pjrt/plugin.h"
#include "pjrt/way_in.h"

const char rk_way_in[] = "preload";

typedef const PJRT_Api *get_api_fn(void);
typedef void *dlsym_fn(void *handle, const char *name);

// What the assembly gets back, in two registers.
typedef struct dlsym_answer {
    void *found;    // the answer itself; if NULL: jump to `real`
    dlsym_fn *real; // NULL if there is none
} dlsym_answer;

// Called by dlsym_*.S only.
RK_HIDDEN dlsym_answer rk_preload_dlsym(void *handle, const char *name);

static dlsym_fn *find_real_dlsym(void) {
    // In the order of likelihood: glibc since 2.34; before it on x86-64; before it on aarch64.
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
    for (size_t i = 0; i < RK_ARRAY_LEN(versions); i++) {
        void *found = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
        if (found) {
            dlsym_fn *function;
            memcpy(&function, &found, sizeof function);
            return function;
        }
    }
    return NULL;
}

static dlsym_fn *real_dlsym(void) {
    // Not pthread_once: an allocator that looks symbols up while it starts may come back to here.
    static _Atomic(dlsym_fn *) known;
    dlsym_fn *real = atomic_load_explicit(&known, memory_order_relaxed);
    if (!real) {
        real = find_real_dlsym();
        atomic_store_explicit(&known, real, memory_order_relaxed);
    }
    return real;
}

// GetPjrtApi takes no argument, so each plugin's has a stand-in of its own.
static get_api_fn *real_get_api[RK_PLUGIN_SLOTS];

#define STAND_IN(n)                                                                                \
    static const PJRT_Api *get_api_##n(void) {                                                     \
        return rk_plugin_wrap(real_get_api[n]());                                                  \
    }
RK_FOR_EACH_SLOT(STAND_IN)
#define STAND_IN_NAME(n) get_api_##n,
static get_api_fn *const stand_ins[RK_PLUGIN_SLOTS] = {RK_FOR_EACH_SLOT(STAND_IN_NAME)};

// The stand-in for `real`; NULL when there are no more.
static get_api_fn *stand_in_for(get_api_fn *real) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static int used;
    get_api_fn *answer = NULL;
    (void)pthread_mutex_lock(&mutex);
    for (int i = 0; i < used && !answer; i++)
        if (real_get_api[i] == real || stand_ins[i] == real)
            answer = stand_ins[i];
    if (!answer && used < RK_PLUGIN_SLOTS) {
        real_get_api[used] = real;
        answer = stand_ins[used++];
    }
    (void)pthread_mutex_unlock(&mutex);
    return answer;
}

dlsym_answer rk_preload_dlsym(void *handle, const char *name) {
    dlsym_answer answer = {NULL, real_dlsym()};
    // RTLD_NEXT depends on the caller, which only a jump preserves.
    if (!answer.real || handle == RTLD_NEXT || !name || strcmp(name, "GetPjrtApi") != 0)
        return answer;
    void *found = answer.real(handle, name);
    if (!found)
        return answer; // asked again by the jump, so that dlerror speaks of the caller's look-up
    get_api_fn *real, *instead;
    memcpy(&real, &found, sizeof real);
    instead = stand_in_for(real);
    if (instead)
        memcpy(&answer.found, &instead, sizeof instead);
    else
        rk_plugin_tell_too_many();
    return answer;
}
