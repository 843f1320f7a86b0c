// The watched entries, a set for each slot.
#pragma once

#include "pjrt/plugin.h"

// Puts the hooks of `plugin->slot` into `plugin->wrapped`, where the plugin has the entry.
void rk_hooks_install(rk_plugin *plugin);

// True if `function` is one of our hooks, in this library or another copy of it in the process.
bool rk_hooks_contain(const void *function);
