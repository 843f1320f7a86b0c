// Executables that came from the store, and how they are serialized.
//
// A plugin need not be able to serialize an executable that it has loaded from bytes: XLA's CPU
// plugin answers with bytes that lack the code, and does not say so. JAX's own cache and
// jax.experimental.serialize_executable would keep those. So PJRT_Executable_Serialize of an
// executable from the store hands out the bytes in its entry, which are what the plugin made when
// it compiled the program. Where the entry is gone or damaged, that is an error; the plugin is not
// asked.
//
// The bytes are not kept in memory: each call reads the entry. An entry that was replaced meanwhile
// by another one of the same key serves as well. This also works in a forked child and after the
// exit handler, where nothing else of rekindle does. Thread-safe.
#pragma once

#include "identity/key.h"
#include "pjrt/plugin.h"

typedef struct rk_origin rk_origin;

// A record for an executable that is about to be loaded from the entry of `key`. Owned:
// rk_origin_free, or rk_origin_set. A few are reserved for when memory is short. NULL if there is
// none of those either: then it must not be loaded.
rk_origin *rk_origin_new(const rk_key *key);
void rk_origin_free(rk_origin *origin); // NULL is fine

// The framework is handed `loaded`. Consumes `origin`.
void rk_origin_set(rk_origin *origin, const PJRT_LoadedExecutable *loaded);

// The plugin has answered PJRT_LoadedExecutable_GetExecutable: the new handle has the same origin.
// Where there is no record for it, no executable whose origin is not known can be serialized from
// then on: it may be this one.
void rk_origin_get(const PJRT_LoadedExecutable_GetExecutable_Args *args);

// The handle is about to be destroyed. Cheap where nothing came from the store.
void rk_origin_forget_loaded(const PJRT_LoadedExecutable *loaded);
void rk_origin_forget(const PJRT_Executable *executable);

// PJRT_Executable_Serialize, watched.
PJRT_Error *rk_origin_serialize_hook(rk_plugin *plugin, PJRT_Executable_Serialize_Args *args);
