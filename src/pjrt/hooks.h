// The hooks: rekindle's functions for the watched entries, one set per slot.
#pragma once

#include "pjrt/plugin.h"

// Puts the hooks of `plugin->slot` into `plugin->wrapped`, for each watched entry that the plugin
// has.
void rk_hooks_install(rk_plugin *plugin);
