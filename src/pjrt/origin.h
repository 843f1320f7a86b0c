// Records which executables came from the store, and serializes them from their entries.
//
// A plugin may be unable to serialize an executable that it has loaded from bytes: XLA's CPU plugin
// returns bytes that lack the code, and reports no error. JAX's own cache and
// jax.experimental.serialize_executable would store these bytes. So for an executable from the
// store, PJRT_Executable_Serialize returns the bytes of its entry, which the plugin made when it
// compiled the program. If the entry is gone or damaged, it returns an error and does not call the
// plugin.
//
// The bytes are not kept in memory: each call reads the entry. If a new entry has replaced it under
// the same key, the bytes of the new entry are returned. This module also works in a forked child
// and after the exit handler, unlike the rest of rekindle. Thread-safe.
#pragma once

#include "identity/key.h"
#include "pjrt/plugin.h"

typedef struct rk_origin rk_origin;

// Makes a record for an executable that is about to be loaded from the entry of `key`. Owned:
// rk_origin_free, or rk_origin_set. If memory is short, one of a few reserved records is used. NULL
// if there is none left; then the executable must not be loaded.
rk_origin *rk_origin_new(const rk_key *key);
void rk_origin_free(rk_origin *origin); // NULL is fine

// Called before the framework gets `loaded`. Consumes `origin`.
void rk_origin_set(rk_origin *origin, const PJRT_LoadedExecutable *loaded);

// Called after the plugin answered PJRT_LoadedExecutable_GetExecutable: gives the new handle the
// same origin. If no record can be made for the new handle, all later serializations of executables
// without a record fail, because this handle might be one of them.
void rk_origin_get(const PJRT_LoadedExecutable_GetExecutable_Args *args);

// Called before the handle is destroyed. Cheap if no executable came from the store.
void rk_origin_forget_loaded(const PJRT_LoadedExecutable *loaded);
void rk_origin_forget(const PJRT_Executable *executable);

// The hook for PJRT_Executable_Serialize.
PJRT_Error *rk_origin_serialize_hook(rk_plugin *plugin, PJRT_Executable_Serialize_Args *args);
