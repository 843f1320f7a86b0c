// The entry path through which rekindle entered this process. Each library
// links one of way_in_preload.c and way_in_plugin.c.
#pragma once

#include "base/macros.h"

RK_HIDDEN extern const char rk_way_in[]; // "preload" or "plugin"
