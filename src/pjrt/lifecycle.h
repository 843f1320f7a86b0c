// Begins and ends rekindle's work in a process, in the right order: the runtime, its clients,
// forks, and the end of the process.
//
// The runtime starts with the first client, the first AOT compilation, or the first plugin that
// cannot be watched, never before. In a forked child rekindle is inert: every hook only calls the
// plugin. If the parent had neither a client nor a compilation, the child starts anew instead.
#pragma once

#include "pjrt/plugin.h"
#include "pjrt/runtime.h"

// Starts the runtime, if it has not started before. NULL if rekindle is off or inert, or the
// process is ending. Thread-safe.
const rk_runtime *rk_lifecycle_start(void);

// Writes into the journal that a plugin has no watched client, and why. Starts the runtime if
// necessary; such a start does not make a forked child inert. `address`: any address in the
// plugin's library.
void rk_lifecycle_note_unwatched(const void *address, const char *reason);

// Called after the plugin has created a client. Starts the runtime with the first client.
void rk_lifecycle_add_client(rk_plugin *plugin, const PJRT_Client_Create_Args *args);

// Called before the plugin destroys a client. Waits for background work that needs the client, up
// to REKINDLE_DRAIN_SECONDS for each kind. False if a rekindle thread is still inside the plugin
// with the client; the client must then not be destroyed.
bool rk_lifecycle_remove_client(rk_plugin *plugin, PJRT_Client *handle);
