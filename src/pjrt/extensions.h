// Extensions by which a framework registers code that takes part in compilation. What it registers
// is in no program and no option, so what is compiled with it must not be kept.
//
// The chain stays the plugin's own. Only where the plugin offers the XLA transform extension are
// the nodes up to it copied, with the function that registers replaced by one that takes note; the
// rest of the chain, and every function of every other node, are the plugin's.
#pragma once

#include "pjrt/plugin.h"

// Sets `plugin->wrapped->extension_start`.
void rk_extensions_watch(rk_plugin *plugin);
