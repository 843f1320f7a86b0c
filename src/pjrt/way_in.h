// The entry path through which rekindle entered this process. Each library defines it.
#pragma once

#include "base/macros.h"

RK_HIDDEN extern const char rk_way_in[]; // "preload" or "plugin"
