// Loading ahead (cache/prefetcher.h) with a plugin: the job's manifest says what the last runs
// asked this client for, and with which compile options; that is loaded from the moment the client
// is there, and handed to the request for the same key. The key covers program, options and
// environment, as for any hit; what REKINDLE_KEY_IGNORE or the canonical form leave out of the
// options is as the last run sent it. Inside src/pjrt only.
#pragma once

#include <stdatomic.h>

#include "cache/prefetcher.h"
#include "pjrt/compile_internal.h"

// Makes what the runtime needs for it, where the settings want it; once, as it starts.
RK_HIDDEN void rk_prefetch_start(rk_runtime *runtime);

// A client was made: begins to load what its job asked one like it for.
RK_HIDDEN void rk_prefetch_begin(const rk_runtime *runtime, rk_plugin *plugin,
                                 const rk_client *client);

// Answers a request with what was loaded ahead, or with what spoke against the entry then. False:
// look it up. May block for as long as one load takes.
RK_NODISCARD RK_HIDDEN bool rk_prefetch_take(rk_request *r, rk_answer *out_answer);

// A request was answered: the run may be another than the last one.
RK_HIDDEN void rk_prefetch_answered(const rk_request *r);

// A client is destroyed, or, for NULL, the process ends: nothing is loaded for it any more, and
// what was is destroyed. False if the plugin is still loading when the time that ends may take is
// over; that is waited for once.
RK_NODISCARD RK_HIDDEN bool rk_prefetch_end(const rk_runtime *runtime, const PJRT_Client *handle);

// What has that key was found to be wrong: what was loaded of it ahead is destroyed, unless a
// request waits for it.
RK_HIDDEN void rk_prefetch_distrust(const rk_runtime *runtime, const rk_key *key);

// How many executables were destroyed that nobody had asked for.
RK_HIDDEN extern atomic_uint_fast64_t rk_prefetch_destroyed;

// Destroys what was loaded and nobody has asked for yet, and waits for what is being loaded so.
// True if something was destroyed, whoever did it, since there were `before`: then a call that
// began with so many should be made again.
RK_NODISCARD RK_HIDDEN bool rk_prefetch_free_memory(uint64_t before);

// The framework has asked how much of a device's memory is in use: the same, for all clients. An
// engine that sizes a cache by the answer must not find less room than it does without rekindle.
// True if the figures may be others now.
RK_NODISCARD RK_HIDDEN bool rk_prefetch_clear(void);

// As rk_prefetch_free_memory, where the plugin answered a call with that error, if it says that
// memory is short.
RK_NODISCARD RK_HIDDEN bool rk_prefetch_relieve(const rk_plugin *plugin, const PJRT_Error *error,
                                                uint64_t before);

// The better of two answers to the same call; the other error is destroyed.
RK_NODISCARD RK_HIDDEN PJRT_Error *rk_prefetch_choose(const rk_plugin *plugin, PJRT_Error *first,
                                                      PJRT_Error *second);

// Makes a call, and makes it again, once, where memory was short and is not any more.
#define RK_PREFETCH_CALL(plugin, call)                                                             \
    (__extension__({                                                                               \
        uint64_t rk_before_ = atomic_load_explicit(&rk_prefetch_destroyed, memory_order_relaxed);  \
        PJRT_Error *rk_first_ = (call);                                                            \
        if (RK_UNLIKELY(rk_first_ != NULL) &&                                                      \
            rk_prefetch_relieve((plugin), rk_first_, rk_before_))                                  \
            rk_first_ = rk_prefetch_choose((plugin), rk_first_, (call));                           \
        rk_first_;                                                                                 \
    }))
