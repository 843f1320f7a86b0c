// librekindle_core.so: rekindle itself in the preload way in, as the stub opens it (preload.c).
#include "pjrt/core.h"

#include <pthread.h>

#include "base/macros.h"
#include "pjrt/plugin.h"
#include "pjrt/way_in.h"

const char rk_way_in[] = "preload";

typedef const PJRT_Api *get_api_fn(void);

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

RK_EXPORT void *rekindle_core_stand_in(void *get_api) {
    get_api_fn *real, *instead;
    memcpy(&real, &get_api, sizeof real);
    instead = stand_in_for(real);
    void *answer = NULL;
    if (instead)
        memcpy(&answer, &instead, sizeof instead);
    else
        rk_plugin_warn_too_many(get_api);
    return answer;
}
