// Loading ahead (cache/prefetch.h) with a plugin: the job's manifest says what the last runs asked
// this client for, and with which compile options; that is loaded from the moment the client is
// there, and handed to the request for the same key. The key covers program, options and
// environment, as for any hit; what REKINDLE_KEY_IGNORE or the canonical form leave out of the
// options is as the last run sent it. Inside src/pjrt only.
#pragma once

#include "cache/prefetch.h"
#include "pjrt/compile_inside.h"

// Makes what the runtime needs for it, where the settings want it; once, as it starts.
RK_HIDDEN void rk_preload_start(rk_runtime *runtime);

// A client was made: begins to load what its job asked one like it for.
RK_HIDDEN void rk_preload_begin(const rk_runtime *runtime, rk_plugin *plugin,
                                const rk_client *client);

// Answers a request with what was loaded ahead, or with what spoke against the entry then. False:
// look it up. May block for as long as one load takes.
RK_NODISCARD RK_HIDDEN bool rk_preload_take(rk_request *r, rk_answer *out_answer);

// Destroys what was loaded and nobody has asked for yet; false if there was nothing.
RK_NODISCARD RK_HIDDEN bool rk_preload_make_room(void);

// The plugin answered a call with that error: where memory was short, and something was loaded that
// nobody has asked for yet, it is destroyed, and true says that the call should be made again.
RK_NODISCARD RK_HIDDEN bool rk_preload_relieve(const rk_plugin *plugin, const PJRT_Error *error);

// Makes a call again that was answered with `first`, once, if that may help. The better of the two
// answers; the other error is destroyed.
#define RK_PRELOAD_AGAIN(plugin, first, call)                                                      \
    (RK_UNLIKELY((first) != NULL) && rk_preload_relieve((plugin), (first))                         \
         ? rk_preload_choose((plugin), (first), (call))                                            \
         : (first))
RK_NODISCARD RK_HIDDEN PJRT_Error *rk_preload_choose(const rk_plugin *plugin, PJRT_Error *first,
                                                     PJRT_Error *second);
