// Detects extensions through which a framework takes part in compilation: extensions of the
// plugin's table, with which the framework registers code, and extensions of a single call.
// Programs and options do not contain these extensions, so executables that were compiled with them
// must not be stored.
//
// The extension chain stays the plugin's own, with one exception. If the plugin offers the XLA
// transform extension, rekindle copies the chain up to and including this extension. In the copy, a
// function of rekindle replaces the registering function and also records the registration. The
// rest of the chain, and all other functions, are the plugin's.
#pragma once

#include "pjrt/plugin.h"

// Sets `plugin->wrapped->extension_start` if the plugin offers the XLA transform extension.
void rk_extensions_watch(rk_plugin *plugin);

// Returns the first extension of a call that may change the result of the compilation, or NULL.
// Only the profiler's extension is known to be harmless: it names the trace that the call belongs
// to. Borrowed from the caller.
const PJRT_Extension_Base *rk_extensions_unknown(const PJRT_Extension_Base *start);
