// The memory of each device of this process, as the plugin tells it, written into the journal: when
// a client is made, while it works, and before it is destroyed. No thread of ours does it: the
// plugin is asked on threads of the framework's, which are in a hook anyway.
#pragma once

#include "pjrt/plugin.h"

// A client was made. May call the plugin.
void rk_memory_begin(rk_plugin *plugin, PJRT_Client *client, uint64_t number);

// Called now and then while a client works: asks for all clients of the plugin, if it is time to:
// a second after the first, then after two, four, … up to REKINDLE_MEMORY_SECONDS. Cheap where it
// is not: two loads and a look at the clock, or one where there is nothing to ask. Thread-safe;
// never waits for another thread.
void rk_memory_look(rk_plugin *plugin);

// The client is about to be destroyed, and still whole. May call the plugin.
void rk_memory_end(rk_plugin *plugin, PJRT_Client *client, uint64_t number);

// Returns when no thread is asking any more: after it, a client that is not on the list of clients
// may be destroyed.
void rk_memory_quiesce(void);
