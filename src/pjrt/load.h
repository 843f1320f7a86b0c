// Loading an executable from its bytes: what PJRT offers for it, best first, and what a plugin has
// shown not to offer is not asked for again.
//
// There are two ways, both by PJRT_Executable_DeserializeAndLoad: with the framework's own compile
// options in place of those that the executable was made with (0.71), and with those. Both are
// equal in all that matters, since they are in the key; but the framework's may name another
// folder to dump into. PJRT_Client_Load (0.95) takes an executable that the plugin has made in this
// process, not bytes.
#pragma once

#include "base/span.h"
#include "pjrt/plugin.h"

// True unless the plugin is known to load nothing. Told once, where that is clear from its table.
bool rk_load_is_possible(rk_plugin *plugin);

// And no compiler pass of the framework's own is registered with it, whose work no key knows.
bool rk_load_is_wanted(rk_plugin *plugin);

// `*out_loaded` is the caller's. Errors: the plugin's; RK_UNIMPLEMENTED of a plugin that has never
// loaded one means that it can load no executable at all, now or later. Thread-safe.
RK_NODISCARD rk_err *rk_load(rk_plugin *plugin, PJRT_Client *client, rk_span executable,
                             rk_span options, PJRT_LoadedExecutable **out_loaded);

// The same before anybody has asked for it. What the framework registers with the plugin after it
// made its client, custom calls for one, may be missing still: RK_UNIMPLEMENTED says nothing of
// later then, and is not told.
RK_NODISCARD rk_err *rk_load_prefetch(rk_plugin *plugin, PJRT_Client *client, rk_span executable,
                                      rk_span options, PJRT_LoadedExecutable **out_loaded);
