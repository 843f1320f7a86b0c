// The hooks for compilation (docs/architecture.md): make the key, look it up in the store, and load
// the executable. If the store does not have the executable, compile and publish it.
#pragma once

#include "pjrt/plugin.h"

// The hook for PJRT_Client_Compile. Returns the plugin's error unchanged, rekindle's refusal in
// strict mode (pjrt/strict.h), or an error of the bridge.
PJRT_Error *rk_compile_hook(rk_plugin *plugin, PJRT_Client_Compile_Args *args);

// The hook for PJRT_Compile, which compiles for a topology, without a client.
PJRT_Error *rk_compile_aot_hook(rk_plugin *plugin, PJRT_Compile_Args *args);
