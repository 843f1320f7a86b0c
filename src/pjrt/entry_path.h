// The entry path through which rekindle entered this process. The core library links
// entry_path_preload.c, the plugin library entry_path_plugin.c.
#pragma once

#include "base/macros.h"

RK_HIDDEN extern const char rk_entry_path[]; // "preload" or "plugin"
