// The memory figures of a client's devices, as the plugin reports them (PJRT_Device_MemoryStats).
#pragma once

#include "base/status.h"
#include "pjrt/plugin.h"

typedef struct rk_memory_figures {
    PJRT_Device_MemoryStats_Args *devices; // owned; one per addressable device, in their order
    size_t count;
} rk_memory_figures;
void rk_memory_figures_cleanup(rk_memory_figures *figures);

// Asks for the figures of one device. Errors: RK_UNIMPLEMENTED if the plugin has no figures;
// otherwise the plugin's.
RK_NODISCARD rk_err *rk_memory_figures_ask(rk_plugin *plugin, PJRT_Device *device,
                                           PJRT_Device_MemoryStats_Args *out_args);

// Asks for the figures of all addressable devices of the client. After an error, `out_figures` is
// empty.
RK_NODISCARD rk_err *rk_memory_figures_read(rk_plugin *plugin, PJRT_Client *client,
                                            rk_memory_figures *out_figures);

// True if no device that reports a plausible limit would be more than 90 % full with `bytes` more.
RK_NODISCARD bool rk_memory_figures_fit(const rk_memory_figures *figures, uint64_t bytes);

// True if both were read, no figure differs, and every device counts its allocations. Then nothing
// was allocated on a device between the two.
RK_NODISCARD bool rk_memory_figures_equal(const rk_memory_figures *a, const rk_memory_figures *b);
