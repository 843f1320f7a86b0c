// librekindle_core.so: rekindle itself on the LD_PRELOAD entry path. The stub (ld_preload.c) opens
// it.
#include "pjrt/core.h"

#include <pthread.h>

#include "base/macros.h"
#include "pjrt/plugin.h"
#include "pjrt/wrap.h"

typedef const PJRT_Api *get_api_fn(void);

// GetPjrtApi takes no argument, so each plugin's GetPjrtApi has its own substitute.
static get_api_fn *real_get_api[RK_PLUGIN_SLOTS];

#define SUBSTITUTE(n)                                                                              \
    static const PJRT_Api *get_api_##n(void) {                                                     \
        return rk_wrap_table(real_get_api[n]());                                                   \
    }
RK_FOR_EACH_SLOT(SUBSTITUTE)
#define SUBSTITUTE_NAME(n) get_api_##n,
static get_api_fn *const substitutes[RK_PLUGIN_SLOTS] = {RK_FOR_EACH_SLOT(SUBSTITUTE_NAME)};

// Returns the substitute for `real`; NULL if none is left.
static get_api_fn *substitute_for(get_api_fn *real) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static int used;
    get_api_fn *answer = NULL;
    (void)pthread_mutex_lock(&mutex);
    for (int i = 0; i < used && !answer; i++)
        if (real_get_api[i] == real || substitutes[i] == real)
            answer = substitutes[i];
    if (!answer && used < RK_PLUGIN_SLOTS) {
        real_get_api[used] = real;
        answer = substitutes[used++];
    }
    (void)pthread_mutex_unlock(&mutex);
    return answer;
}

RK_EXPORT void *rekindle_core_substitute(void *get_api) {
    get_api_fn *real, *instead;
    memcpy(&real, &get_api, sizeof real);
    instead = substitute_for(real);
    void *answer = NULL;
    if (instead)
        memcpy(&answer, &instead, sizeof instead);
    else
        rk_wrap_warn_too_many(get_api);
    return answer;
}
