// Prefetch (cache/prefetcher.h) with a PJRT plugin. The job's manifest lists what the last runs
// requested from this client, with which compile options. Loading starts when the client is
// created, and a request with the same key gets the loaded executable. As for any hit, the key
// covers program, options and environment. Options that are not in the key (because of
// REKINDLE_KEY_IGNORE or the canonical form) have the values that the last run sent. Used only
// inside src/pjrt.
#pragma once

#include <stdatomic.h>

#include "cache/prefetcher.h"
#include "pjrt/request_internal.h"

// Creates the runtime's prefetcher if the settings allow it. Called once, as the runtime starts.
RK_HIDDEN void rk_prefetch_start(rk_runtime *runtime);

// Called after a client was created. Starts to load the executables that earlier runs of the job
// requested from this client.
RK_HIDDEN void rk_prefetch_begin(const rk_runtime *runtime, rk_plugin *plugin,
                                 const rk_client *client);

// Answers a request with the prefetched executable, or with a miss if the prefetch found that the
// entry is not usable. False: no answer, and the caller has to look the key up. May block for the
// duration of one load.
RK_NODISCARD RK_HIDDEN bool rk_prefetch_take(rk_request *r, rk_answer *out_answer);

// Called after a request was answered. Requests that are not in the manifest show that this run
// differs from the last one; after many of them, the prefetch stops.
RK_HIDDEN void rk_prefetch_answered(const rk_request *r);

// Called before a client is destroyed, or, with NULL, before the process ends. Stops loading for
// the client and destroys its unclaimed executables. Blocks up to REKINDLE_DRAIN_SECONDS. False if
// the plugin is still loading after that; the next call does not wait for this load again.
RK_NODISCARD RK_HIDDEN bool rk_prefetch_end(const rk_runtime *runtime, const PJRT_Client *handle);

// Called when verification found the entry of `key` to be wrong. Destroys the executables that were
// prefetched from this entry, except one that a request waits for.
RK_HIDDEN void rk_prefetch_discard_key(const rk_runtime *runtime, const rk_key *key);

// Number of prefetched executables that were destroyed without being requested.
RK_HIDDEN extern atomic_uint_fast64_t rk_prefetch_destroyed;

// Destroys all prefetched executables that no request has claimed, and waits for unclaimed loads in
// progress to end, up to 60 s. True if any thread has destroyed an executable since the counter was
// `before`: a call that began at `before` should then be repeated.
RK_NODISCARD RK_HIDDEN bool rk_prefetch_free_memory(uint64_t before);

// Called when the framework queries how much of a device's memory is in use. Destroys prefetched
// executables like rk_prefetch_free_memory: an inference engine that sizes its cache by the answer
// must see as much free memory as without rekindle. Does nothing if an earlier load has shown that
// the plugin's figures do not count executables. True if the figures may have changed.
RK_NODISCARD RK_HIDDEN bool rk_prefetch_clear(const rk_plugin *plugin);

// Like rk_prefetch_free_memory, after the plugin answered a call with `error`. Does nothing and
// returns false if the error is not RESOURCE_EXHAUSTED.
RK_NODISCARD RK_HIDDEN bool rk_prefetch_free_after_error(const rk_plugin *plugin,
                                                         const PJRT_Error *error, uint64_t before);

// Chooses between `first`, the error of a call, and `second`, the result of its repetition;
// destroys the other error. Returns `first` if the repetition failed for another reason than short
// memory, because the first call may have consumed the inputs of the second. Otherwise returns
// `second`.
RK_NODISCARD RK_HIDDEN PJRT_Error *rk_prefetch_choose(const rk_plugin *plugin, PJRT_Error *first,
                                                      PJRT_Error *second);

// Makes a call, and repeats it once if memory was short and prefetched executables have been
// destroyed since the call began.
#define RK_PREFETCH_CALL(plugin, call)                                                             \
    (__extension__({                                                                               \
        uint64_t rk_before_ = atomic_load_explicit(&rk_prefetch_destroyed, memory_order_relaxed);  \
        PJRT_Error *rk_first_ = (call);                                                            \
        if (RK_UNLIKELY(rk_first_ != NULL) &&                                                      \
            rk_prefetch_free_after_error((plugin), rk_first_, rk_before_))                         \
            rk_first_ = rk_prefetch_choose((plugin), rk_first_, (call));                           \
        rk_first_;                                                                                 \
    }))
