// The way of a compilation (docs/architecture.md): key → store → load, else compile and publish.
#pragma once

#include "pjrt/plugin.h"

// PJRT_Client_Compile, watched. The plugin's own error, if any, unchanged.
PJRT_Error *rk_compile_hook(rk_plugin *plugin, PJRT_Client_Compile_Args *args);

// PJRT_Compile, watched: the same for a topology, without a client.
PJRT_Error *rk_compile_aot_hook(rk_plugin *plugin, PJRT_Compile_Args *args);
