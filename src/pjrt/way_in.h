// The entry path through which rekindle entered this process. The core library links
// way_in_preload.c, the plugin library way_in_plugin.c.
#pragma once

#include "base/macros.h"

RK_HIDDEN extern const char rk_way_in[]; // "preload" or "plugin"
