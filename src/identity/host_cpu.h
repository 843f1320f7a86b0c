// Adds to the key the properties of the host's CPU that change generated code.
#pragma once

#include "identity/components.h"

// Adds host.cpu (vendor, family, model), host.cpu_features (sorted) and host.cpus (the number of
// CPUs that this thread may run on; XLA's CPU compiler splits loops by this number).
RK_NODISCARD rk_err *rk_host_cpu_add(rk_components *out);

// Adds host.cpu and host.cpu_features from the text of /proc/cpuinfo, for its first processor.
RK_NODISCARD rk_err *rk_host_cpu_add_info(rk_span cpuinfo, rk_components *out);
