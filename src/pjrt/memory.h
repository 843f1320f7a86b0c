// Records the memory use of each device of this process in the journal, as the plugin reports it:
// when a client is created, while it works, and before it is destroyed. Uses no thread of its own:
// framework threads that are inside a hook anyway query the plugin.
#pragma once

#include "pjrt/plugin.h"

// Called after a client was created. May call the plugin.
void rk_memory_begin(rk_plugin *plugin, PJRT_Client *client, uint64_t number);

// Called from time to time while a client works. Samples all clients of the plugin if a sample is
// due: one second after the first sample, then after two, four, … up to REKINDLE_MEMORY_SECONDS. If
// no sample is due, a call costs two atomic loads and a clock read; if no sample is scheduled, it
// costs only the loads. Thread-safe; never waits for another thread.
void rk_memory_look(rk_plugin *plugin);

// Called before a client is destroyed, while it is still intact. May call the plugin.
void rk_memory_end(rk_plugin *plugin, PJRT_Client *client, uint64_t number);

// Waits until no thread is sampling. After this, a client that is not in the list of clients may be
// destroyed.
void rk_memory_quiesce(void);
