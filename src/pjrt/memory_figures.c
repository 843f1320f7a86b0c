#include "pjrt/memory_figures.h"

#include <string.h>

#include "base/alloc.h"
#include "pjrt/error.h"

enum { FULL_PERCENT = 90 };

void rk_memory_figures_cleanup(rk_memory_figures *figures) {
    rk_free(figures->devices);
    *figures = (rk_memory_figures){0};
}

rk_err *rk_memory_figures_ask(rk_plugin *plugin, PJRT_Device *device,
                              PJRT_Device_MemoryStats_Args *out_args) {
    if (!RK_PJRT_HAS(plugin->real, PJRT_Device_MemoryStats))
        return rk_error(RK_UNIMPLEMENTED, "its table has no PJRT_Device_MemoryStats");
    // The memory is compared later, so its padding must be zero.
    memset(out_args, 0, sizeof *out_args);
    out_args->struct_size = PJRT_Device_MemoryStats_Args_STRUCT_SIZE;
    out_args->device = device;
    return rk_pjrt_error_take(plugin->real, RK_BRIDGE(plugin, RK_STRUCT_DEVICE_MEMORY_STATS,
                                                      PJRT_Device_MemoryStats, out_args));
}

static rk_err *read_all(rk_plugin *plugin, PJRT_Client *client, rk_memory_figures *out_figures) {
    PJRT_Client_AddressableDevices_Args ours = {
        .struct_size = PJRT_Client_AddressableDevices_Args_STRUCT_SIZE, .client = client};
    RK_TRY(rk_pjrt_error_take(plugin->real, plugin->real->PJRT_Client_AddressableDevices(&ours)));
    out_figures->devices =
        rk_calloc(ours.num_addressable_devices + 1, sizeof *out_figures->devices);
    if (!out_figures->devices)
        return rk_err_no_memory();
    for (size_t i = 0; i < ours.num_addressable_devices; i++)
        RK_TRY(rk_memory_figures_ask(plugin, ours.addressable_devices[i],
                                     &out_figures->devices[out_figures->count++]));
    return NULL;
}

rk_err *rk_memory_figures_read(rk_plugin *plugin, PJRT_Client *client,
                               rk_memory_figures *out_figures) {
    *out_figures = (rk_memory_figures){0};
    rk_err *err = read_all(plugin, client, out_figures);
    if (err)
        rk_memory_figures_cleanup(out_figures);
    return err;
}

static bool fits(const PJRT_Device_MemoryStats_Args *device, uint64_t bytes) {
    if (!device->bytes_limit_is_set || device->bytes_in_use < 0 ||
        device->bytes_limit < device->bytes_in_use) // invalid figures
        return true;
    return (uint64_t)device->bytes_in_use + bytes <
           (uint64_t)device->bytes_limit / 100 * FULL_PERCENT;
}

bool rk_memory_figures_fit(const rk_memory_figures *figures, uint64_t bytes) {
    for (size_t i = 0; i < figures->count; i++)
        if (!fits(&figures->devices[i], bytes))
            return false;
    return true;
}

bool rk_memory_figures_equal(const rk_memory_figures *a, const rk_memory_figures *b) {
    for (size_t i = 0; i < a->count; i++)
        if (!a->devices[i].num_allocs_is_set)
            return false;
    return a->count > 0 && a->count == b->count &&
           memcmp(a->devices, b->devices, a->count * sizeof *a->devices) == 0;
}
