#include "pjrt/counts.h"

#include "base/sys.h"
#include "pjrt/plugin.h"
#include "pjrt/runtime.h"
#include "pjrt/steps.h"

static atomic_uint_fast64_t last_write_ns;

static void sum_counts(rk_journal_counts *out_counts) {
    *out_counts = (rk_journal_counts){0};
    for (int i = 0; i < RK_PLUGIN_SLOTS; i++) {
        const rk_plugin *plugin = rk_plugin_at(i);
        if (!plugin)
            break;
        const rk_plugin_counts *counts = &plugin->counts;
        out_counts->host_to_device += atomic_load(&counts->host_to_device);
        out_counts->host_to_device_bytes += atomic_load(&counts->host_to_device_bytes);
        out_counts->device_to_host += atomic_load(&counts->device_to_host);
        out_counts->device_to_host_bytes += atomic_load(&counts->device_to_host_bytes);
    }
    out_counts->executions =
        rk_steps_count_executions(out_counts->host_to_device + out_counts->device_to_host);
}

void rk_counts_write(bool now) {
    const rk_runtime *runtime = rk_runtime_get();
    if (!runtime)
        return;
    enum { NS_BETWEEN_WRITES = 1000000000 };
    uint64_t at_ns = rk_monotonic_ns(), last_ns = atomic_load(&last_write_ns);
    if (!now && at_ns - last_ns < NS_BETWEEN_WRITES)
        return;
    if (!atomic_compare_exchange_strong(&last_write_ns, &last_ns, at_ns) && !now)
        return; // another thread writes them
    rk_journal_counts counts;
    sum_counts(&counts);
    rk_journal_add_counts(runtime->journal, &counts);
    if (now)
        rk_steps_write();
}
