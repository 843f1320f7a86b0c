// Extensions by which a framework takes part in compilation: those of the plugin's table, with
// which it registers code, and those that it adds to a call. Neither is in a program or an option,
// so what is compiled with them must not be kept.
//
// The chain stays the plugin's own. Only where the plugin offers the XLA transform extension are
// the nodes up to it copied, with the function that registers replaced by one that takes note; the
// rest of the chain, and every function of every other node, are the plugin's.
#pragma once

#include "pjrt/plugin.h"

// Sets `plugin->wrapped->extension_start`.
void rk_extensions_watch(rk_plugin *plugin);

// The first extension of a call that may change what is compiled, or NULL. Only the profiler's is
// known not to: it tells which trace the call belongs to. Borrowed from the caller.
const PJRT_Extension_Base *rk_extensions_unknown(const PJRT_Extension_Base *start);
