// What a compiler that makes code for this host can know of it. Internal to this room.
#pragma once

#include "identity/components.h"

// Adds host.cpu (vendor, family, model), host.cpu_features (sorted) and host.cpus (how many this
// thread may run on: XLA's CPU compiler splits loops by it).
RK_NODISCARD rk_err *rk_host_cpu_add(rk_components *out);

// The first two from the text of /proc/cpuinfo: its first processor counts.
RK_NODISCARD rk_err *rk_host_cpu_add_info(rk_span cpuinfo, rk_components *out);
